package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	rowlock "github.com/rowlock/rowlock/clients/go"
)

// handle is a lock by the name that the runner gave it: asked for, held in a scope or without one.
type handle struct {
	asking context.Context
	giveUp context.CancelFunc
	lock   *rowlock.Lock
	// leaving is closed to end the scope, and left has how it ended.
	leaving chan struct{}
	left    chan error
}

func (d *driver) newHandle(name string) *handle {
	own := &handle{leaving: make(chan struct{}), left: make(chan error, 1)}
	own.asking, own.giveUp = context.WithCancel(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handles[name] = own
	return own
}

func (d *driver) acquire(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	own, options := asked.handle, d.optionsOf(asked)
	if asked.Scope {
		err := client.WithLock(own.asking, asked.name(), func(_ context.Context, lock *rowlock.Lock) error {
			d.granted(asked, lock)
			<-own.leaving
			return nil
		}, options...)
		own.left <- err
		return nil, err
	}
	lock, refusal, err := client.Acquire(own.asking, asked.name(), options...)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return object{"refused": refusedOf(refusal)}, nil
	}
	d.granted(asked, lock)
	return nil, nil
}

// granted answers, and tells when the lock is lost.
func (d *driver) granted(asked *command, lock *rowlock.Lock) {
	d.mu.Lock()
	asked.handle.lock = lock
	d.mu.Unlock()
	d.answer(asked, object{"granted": object{
		"token":   strconv.FormatUint(lock.Token(), 10),
		"leaseId": lock.LeaseID(),
		"mode":    lock.Mode(),
		"permits": lock.Permits(),
	}}, nil)
	go func() {
		<-lock.Done()
		if errors.Is(lock.Err(), rowlock.ErrLeaseLost) {
			d.say(object{"event": "state", "lock": asked.Lock, "state": "lost"})
		}
	}()
}

func (d *driver) optionsOf(asked *command) []rowlock.LockOption {
	var options []rowlock.LockOption
	if asked.WaitMs != nil {
		options = append(options, rowlock.Wait(asked.WaitMs.Duration))
	}
	if asked.TTLMs != nil {
		options = append(options, rowlock.TTL(asked.TTLMs.Duration))
	}
	if asked.MarginMs != nil {
		options = append(options, rowlock.Margin(durationOf(*asked.MarginMs)))
	}
	if asked.Permits != nil {
		options = append(options, rowlock.Permits(*asked.Permits))
	}
	if asked.Mode != nil {
		options = append(options, rowlock.As(rowlock.Mode(*asked.Mode)))
	}
	if asked.Positions {
		options = append(options, rowlock.OnPosition(func(place rowlock.Place) {
			d.say(object{
				"event": "position", "lock": asked.Lock, "ahead": place.Ahead, "permitsAhead": place.PermitsAhead,
				"queueLength": place.QueueLength, "waitedMs": msOf(place.Waited),
			})
		}))
	}
	if asked.PositionIntervalMs != nil {
		options = append(options, rowlock.PositionInterval(durationOf(*asked.PositionIntervalMs)))
	}
	return append(options,
		rowlock.Owner(asked.Owner), rowlock.Labels(asked.Labels), rowlock.RequestID(asked.RequestID))
}

func (d *driver) find(asked *command) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.handles[asked.Lock]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no lock %s", asked.Lock)
}

func (d *driver) held(asked *command) (*rowlock.Lock, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.handles[asked.Lock]; found != nil && found.lock != nil {
		return found.lock, nil
	}
	return nil, fmt.Errorf("the lock %s was not granted", asked.Lock)
}

func (d *driver) giveUp(asked *command) (any, error) {
	own, err := d.find(asked)
	if err == nil {
		own.giveUp()
	}
	return object{}, err
}

func (d *driver) leave(asked *command) (any, error) {
	own, err := d.find(asked)
	if err != nil {
		return nil, err
	}
	close(own.leaving)
	return object{"released": true}, <-own.left
}

func (d *driver) state(asked *command) (any, error) {
	lock, err := d.held(asked)
	if err != nil {
		return nil, err
	}
	state := object{"state": lock.State(), "remainingMs": nil}
	if remaining := lock.Remaining(); remaining != rowlock.Forever {
		state["remainingMs"] = msOf(remaining)
	}
	return state, nil
}

func (d *driver) release(asked *command) (any, error) {
	lock, err := d.held(asked)
	if err != nil {
		return nil, err
	}
	released, err := lock.Release(context.Background())
	return object{"released": released}, err
}

func (d *driver) handOver(asked *command) (any, error) {
	lock, err := d.held(asked)
	if err != nil {
		return nil, err
	}
	err = lock.HandOver(context.Background(), ttlOf(asked))
	return object{"leaseId": lock.LeaseID(), "token": strconv.FormatUint(lock.Token(), 10)}, err
}

func refusedOf(refusal *rowlock.Refusal) object {
	refused := object{"reason": refusal.Reason, "message": refusal.Message}
	if refusal.RetryAfter != 0 {
		refused["retryAfterMs"] = msOf(refusal.RetryAfter)
	}
	holders := []object{}
	for _, holder := range refusal.Holders {
		holders = append(holders, object{"owner": holder.Owner, "token": strconv.FormatUint(holder.Token, 10)})
	}
	refused["holders"] = holders
	return refused
}

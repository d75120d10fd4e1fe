// Commands that run until they are stopped: watches and workers.

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// loop is a watch or a worker.
type loop struct {
	stop context.CancelFunc
	// ended receives how it ended.
	ended chan error
	// handlers are those of a worker that run, by the names of their locks.
	handlers map[string]chan error
}

func (d *driver) begin(name string, run func(ctx context.Context, own *loop) error) {
	own := &loop{ended: make(chan error, 1), handlers: map[string]chan error{}}
	ctx, stop := context.WithCancel(background)
	own.stop = stop
	d.mu.Lock()
	d.loops[name] = own
	d.mu.Unlock()
	go func() { own.ended <- run(ctx, own) }()
}

func (d *driver) end(name string) (any, error) {
	own, err := d.loopOf(name)
	if err != nil {
		return nil, err
	}
	own.stop()
	return object{}, <-own.ended
}

func (d *driver) loopOf(name string) (*loop, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.loops[name]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no watch or worker %s", name)
}

func (d *driver) watch(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	d.begin(asked.Watch, func(ctx context.Context, _ *loop) error {
		for update, err := range client.Watch(ctx, asked.prefix()) {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if err != nil {
				d.say(object{"event": "watch failed", "watch": asked.Watch, "error": err.Error()})
				return err
			}
			locks, deleted := []object{}, append([]string{}, update.Deleted...)
			for _, lock := range update.Locks {
				locks = append(locks, object{
					"name": lock.Name, "holderCount": lock.HolderCount, "waiterCount": lock.WaiterCount,
					"lastToken": strconv.FormatUint(lock.LastToken, 10),
				})
			}
			d.say(object{
				"event": "watched", "watch": asked.Watch, "beganAnew": update.BeganAnew, "complete": update.Complete,
				"locks": locks, "deleted": deleted,
			})
		}
		return nil
	})
	return object{}, nil
}

func (d *driver) unwatch(asked *command) (any, error) {
	return d.end(asked.Watch)
}

func (d *driver) work(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	options := []rowlock.WorkOption{rowlock.Concurrency(asked.Concurrency)}
	for _, option := range claimOptionsOf(asked) {
		options = append(options, option)
	}
	if asked.StatusWhenDone != nil {
		options = append(options, rowlock.StatusWhenDone(*asked.StatusWhenDone))
	}
	d.begin(asked.Worker, func(ctx context.Context, own *loop) error {
		return client.Work(ctx, asked.prefix(), func(_ context.Context, lock *rowlock.Lock) error {
			finished := make(chan error, 1)
			d.mu.Lock()
			own.handlers[lock.Name()] = finished
			d.mu.Unlock()
			d.say(object{
				"event": "working", "worker": asked.Worker, "name": lock.Name(), "token": strconv.FormatUint(lock.Token(), 10),
			})
			return <-finished
		}, options...)
	})
	return object{}, nil
}

func (d *driver) finish(asked *command) (any, error) {
	own, err := d.loopOf(asked.Worker)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	finished := own.handlers[asked.name()]
	d.mu.Unlock()
	if finished == nil {
		return nil, fmt.Errorf("no handler runs with %s", asked.name())
	}
	if asked.Fails {
		finished <- errors.New("it was told to fail")
	} else {
		finished <- nil
	}
	return object{}, nil
}

func (d *driver) stopWorking(asked *command) (any, error) {
	return d.end(asked.Worker)
}

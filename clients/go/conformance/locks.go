// Commands that take, inspect and release locks.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// handle is a lock under the name that the runner gave it: asked for, or held with or without a scope.
type handle struct {
	asking context.Context
	giveUp context.CancelFunc
	lock   *rowlock.Lock
	// leaving is closed to end the scope; left receives how the scope ended.
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

// holding is a context that shows what this driver holds of these locks, as that of work under them does.
func (d *driver) holding(ctx context.Context, names []string) context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.handles {
		if one.lock != nil && slices.ContainsFunc(names, func(name string) bool { return hasLock(one.lock, name) }) {
			// Not of ctx: it would be asked twice for each value, and twice again by the next one.
			held, cancel := one.lock.Context(context.Background())
			// The values stay; the end of the lock is not to end the request.
			cancel()
			ctx = valuesOf{ctx, held}
		}
	}
	return ctx
}

func hasLock(lock *rowlock.Lock, name string) bool {
	_, has := lock.Tokens()[name]
	return has
}

// tokensOf are the fencing tokens of a lock by name, as texts.
func tokensOf(tokens map[string]uint64) map[string]string {
	shown := map[string]string{}
	for name, token := range tokens {
		shown[name] = strconv.FormatUint(token, 10)
	}
	return shown
}

// valuesOf is a context with the values of another one.
type valuesOf struct {
	context.Context
	values context.Context
}

func (v valuesOf) Value(key any) any {
	// The context itself keeps its end in a value, too.
	if own := v.Context.Value(key); own != nil {
		return own
	}
	return v.values.Value(key)
}

func (d *driver) acquire(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	own, options := asked.handle, d.lockOptionsOf(asked)
	if asked.Scope {
		err := client.WithLock(own.asking, asked.name(), func(_ context.Context, lock *rowlock.Lock) error {
			d.granted(asked, lock)
			<-own.leaving
			return nil
		}, options...)
		own.left <- err
		return nil, err
	}
	lock, refusal, err := client.Acquire(d.holding(own.asking, asked.names()), asked.name(), options...)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return object{"refused": refusedOf(refusal)}, nil
	}
	d.granted(asked, lock)
	return nil, nil
}

// spend has a handle, too, by which the runner gives it up.
func (d *driver) spend(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	options := d.lockOptionsOf(asked)
	spent, err := client.Spend(d.holding(asked.handle.asking, asked.names()), asked.name(), options...)
	var failed *rowlock.Error
	if errors.As(err, &failed) && failed.Refusal != nil {
		return object{"refused": refusedOf(failed.Refusal)}, nil
	}
	return object{"spent": object{
		"name": spent.Name, "token": strconv.FormatUint(spent.Token, 10), "permits": spent.Permits,
		"spentAtMs": spent.SpentAt.UnixMilli(), "requestId": spent.RequestID,
	}}, err
}

// capture answers with a handle for each lock that was taken.
func (d *driver) capture(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	taken, err := client.Capture(asked.handle.asking, captureOptionsOf(asked)...)
	if err != nil {
		return nil, err
	}
	captured := []object{}
	for number, lock := range taken.Locks {
		name := fmt.Sprint(asked.Lock, number)
		d.holds(d.newHandle(name), lock)
		captured = append(captured, object{
			"lock": name, "name": lock.Name(), "token": strconv.FormatUint(lock.Token(), 10), "leaseId": lock.LeaseID(),
		})
	}
	result := object{"captured": captured}
	if taken.RetryAfter != 0 {
		result["retryAfterMs"] = msOf(taken.RetryAfter)
	}
	d.answer(asked, result, nil)
	for number, lock := range taken.Locks {
		d.tellLoss(fmt.Sprint(asked.Lock, number), lock)
	}
	return nil, nil
}

func (d *driver) holds(own *handle, lock *rowlock.Lock) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own.lock = lock
}

// granted answers the command, and sends an event when the lock is lost.
func (d *driver) granted(asked *command, lock *rowlock.Lock) {
	d.holds(asked.handle, lock)
	d.answer(asked, object{"granted": object{
		"token":   strconv.FormatUint(lock.Token(), 10),
		"tokens":  tokensOf(lock.Tokens()),
		"leaseId": lock.LeaseID(),
		"mode":    lock.Mode(),
		"permits": lock.Permits(),
	}}, nil)
	d.tellLoss(asked.Lock, lock)
}

func (d *driver) tellLoss(name string, lock *rowlock.Lock) {
	go func() {
		<-lock.Done()
		if errors.Is(lock.Err(), rowlock.ErrLeaseLost) {
			d.say(object{"event": "state", "lock": name, "state": "lost", "atMs": monotonicMs()})
		}
	}()
}

// monotonicMs reads the clock that all processes of the machine share.
func monotonicMs() float64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return float64(now.Nano()) / 1e6
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
	released, err := lock.Release(context.Background(), releaseOptionsOf(asked)...)
	return object{"released": released}, err
}

func (d *driver) handOver(asked *command) (any, error) {
	lock, err := d.held(asked)
	if err != nil {
		return nil, err
	}
	err = lock.HandOver(context.Background(), ttlOf(asked))
	return object{
		"leaseId": lock.LeaseID(), "token": strconv.FormatUint(lock.Token(), 10), "tokens": tokensOf(lock.Tokens()),
	}, err
}

func refusedOf(refusal *rowlock.Refusal) object {
	refused := object{"reason": refusal.Reason, "message": refusal.Message}
	if refusal.RetryAfter != 0 {
		refused["retryAfterMs"] = msOf(refusal.RetryAfter)
	}
	if refusal.Reason == rowlock.ErrStatusMismatch {
		refused["status"] = refusal.Status
	}
	if refusal.Rate != nil {
		refused["rate"] = rateViewOf(refusal.Rate)
	}
	if refusal.QueueRules != nil {
		refused["queueRules"] = queueRulesViewOf(refusal.QueueRules)
	}
	if limit := refusal.Limit; limit != nil {
		refused["limit"] = object{
			"permits": limit.Permits, "source": limit.Source, "pattern": limit.Pattern, "reason": limit.Reason,
		}
	}
	if refusal.LockName != "" {
		refused["lockName"] = refusal.LockName
	}
	if refusal.HeldByYou {
		refused["heldByYou"] = true
	}
	holders := []object{}
	for _, holder := range refusal.Holders {
		holders = append(holders, object{"owner": holder.Owner, "token": strconv.FormatUint(holder.Token, 10)})
	}
	refused["holders"] = holders
	return refused
}

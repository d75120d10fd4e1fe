package main

import (
	"context"
	"errors"
	"sync"
	"time"

	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// leavingAtOnce is how many waiters leave at a time at the end: few enough that the server does not refuse them.
const leavingAtOnce = 64

// gatherMax bounds how long queueing all waiters may take.
const gatherMax = 10 * time.Minute

// crowd measures the hand-overs of a lock while o.callers streams wait for it, each of which receives its place, and the
// age of a place when the next one arrives. A caller that was granted the lock releases it and waits again, so the
// queue keeps its length.
func crowd(ctx context.Context, o options) ([]Figures, error) {
	ends, err := waitingEnds(o)
	if err != nil {
		return nil, err
	}
	held, err := ends[0].AcquireFor(ctx, o.name(0), gatherMax)
	if err != nil {
		return nil, err
	}
	c := &crowded{name: o.name(0), over: make(chan struct{}), leaving: make(chan struct{}, leavingAtOnce)}
	waits, err := c.gather(ctx, ends, o.callers)
	if err != nil {
		return nil, err
	}
	c.from = time.Now().Add(o.warmUp)
	c.end = c.from.Add(o.measured)
	if err := ends[0].Release(ctx, held); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, wait := range waits {
		running.Go(func() {
			if err := c.queueAgainAndAgain(ctx, wait); err != nil {
				cancel(err)
			}
		})
	}
	time.Sleep(time.Until(c.end))
	close(c.over)
	for _, wait := range waits {
		running.Go(func() {
			if err := c.leave(ctx, wait); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	figures := []Figures{figuresOf("", c.took, o)}
	// There are no ages if all the initial waiters had their turn before the measured time.
	if len(c.ages) > 0 {
		figures = append(figures, figuresOf("age of a told place", c.ages, o))
	}
	return figures, nil
}

type crowded struct {
	name      string
	from, end time.Time
	over      chan struct{}
	leaving   chan struct{}

	mutex sync.Mutex
	// When each hand-over was seen, from the first one on.
	turns      []time.Time
	took, ages []time.Duration
}

// crowdedWait is one caller's wait in the crowd.
type crowdedWait struct {
	caller *rowlockCaller
	mutex  sync.Mutex
	stream *queueStream
	// How many hand-overs come before its own; set only for the initial waiters.
	place int64
}

// gather queues all waiters while the lock is held, so that the first place each one receives is its number.
func (c *crowded) gather(ctx context.Context, ends []*rowlockCaller, count int) ([]*crowdedWait, error) {
	waits := make([]*crowdedWait, count)
	failures := make([]error, len(ends))
	var queueing sync.WaitGroup
	for number, end := range ends {
		queueing.Go(func() {
			for index := number; index < count && failures[number] == nil; index += len(ends) {
				wait := &crowdedWait{caller: &rowlockCaller{service: end.service}}
				wait.stream, failures[number] = wait.caller.wait(ctx, c.name)
				if failures[number] == nil {
					wait.place = int64(wait.stream.first.Ahead)
				}
				waits[index] = wait
			}
		})
	}
	queueing.Wait()
	return waits, errors.Join(failures...)
}

// queueAgainAndAgain returns when the wait has ended, or with a lease if time is up, which leave then releases.
func (c *crowded) queueAgainAndAgain(ctx context.Context, wait *crowdedWait) error {
	isFirst := true
	for {
		lease, err := c.granted(wait, isFirst)
		if err != nil || lease == nil {
			return err
		}
		isFirst = false
		if isOver, err := c.again(ctx, wait, lease); isOver || err != nil {
			return err
		}
	}
}

func (c *crowded) again(ctx context.Context, wait *crowdedWait, lease *rowlockv1.Lease) (isOver bool, err error) {
	wait.mutex.Lock()
	defer wait.mutex.Unlock()
	select {
	case <-c.over:
		return true, nil
	default:
	}
	if err := wait.caller.Release(ctx, lease.LeaseId); err != nil {
		return false, err
	}
	wait.stream, err = wait.caller.wait(ctx, c.name)
	return false, err
}

func (c *crowded) leave(ctx context.Context, wait *crowdedWait) error {
	c.leaving <- struct{}{}
	defer func() { <-c.leaving }()
	wait.mutex.Lock()
	defer wait.mutex.Unlock()
	// A ticket has the same id as its lease.
	return wait.caller.Release(ctx, wait.stream.first.TicketId)
}

// granted returns nil if the caller has left the queue.
func (c *crowded) granted(wait *crowdedWait, isFirst bool) (*rowlockv1.Lease, error) {
	ahead := wait.place
	for {
		update, err := wait.stream.stream.Recv()
		if err != nil {
			return nil, err
		}
		if isFirst {
			c.toldAnew(wait.place - ahead)
		}
		switch {
		case update.GetGranted() != nil:
			c.turned()
			return update.GetGranted(), nil
		case update.GetRefusal() != nil, update.GetEnded() != nil:
			return nil, nil
		}
		ahead = int64(update.GetPosition().Ahead)
	}
}

// turned records a hand-over.
func (c *crowded) turned() {
	now := time.Now()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if count := len(c.turns); count > 0 && now.After(c.from) && now.Before(c.end) {
		c.took = append(c.took, now.Sub(c.turns[count-1]))
	}
	c.turns = append(c.turns, now)
}

// toldAnew records the age of a place that was right after that many hand-overs: it is outdated since the next one.
func (c *crowded) toldAnew(after int64) {
	now := time.Now()
	if now.After(c.end) {
		now = c.end
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if after < int64(len(c.turns)) && now.After(c.from) {
		c.ages = append(c.ages, max(0, now.Sub(c.turns[after])))
	}
}

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// renewBesideWaits measures the Renew of one lease, then queues the waits on another lock and measures it again.
func renewBesideWaits(ctx context.Context, o options) ([]Figures, error) {
	o.connections = 1
	system, err := openSessions(ctx, o)
	if err != nil {
		return nil, err
	}
	caller := &sessionCaller{session: system.(sessions)[0]}
	held, err := caller.Acquire(ctx, o.name(0))
	if err != nil {
		return nil, err
	}
	renewed, err := caller.Acquire(ctx, o.name(0)+"/renewed")
	if err != nil {
		return nil, err
	}
	idle, err := caller.renewFor(renewed, o)
	if err != nil {
		return nil, err
	}
	tickets, err := caller.queue(o.name(0), o.callers)
	if err != nil {
		return nil, err
	}
	beside, err := caller.renewFor(renewed, o)
	if err != nil {
		return nil, err
	}
	// The last waiter leaves first, so that no other waiter's place changes and no waiter is granted the lock.
	slices.Reverse(tickets)
	for _, id := range append(tickets, held, renewed) {
		if err := caller.Release(ctx, id); err != nil {
			return nil, err
		}
	}
	return []Figures{
		figuresOf("a Renew before them", idle, o), figuresOf("a Renew beside them", beside, o),
	}, nil
}

// renewFor returns the duration of each Renew that was answered within the measured time.
func (c *sessionCaller) renewFor(leaseID string, o options) ([]time.Duration, error) {
	from := time.Now().Add(o.warmUp)
	end := from.Add(o.measured)
	var took []time.Duration
	for {
		asked := time.Now()
		if asked.After(end) {
			return took, nil
		}
		if _, err := c.session.do(&rowlockv1.SessionCommand{
			Command: &rowlockv1.SessionCommand_Renew{Renew: &rowlockv1.RenewRequest{LeaseId: leaseID}},
		}); err != nil {
			return nil, err
		}
		if answered := time.Now(); answered.After(from) && answered.Before(end) {
			took = append(took, answered.Sub(asked))
		}
	}
}

// queue takes that many places, and returns their ticket ids when all are known.
func (c *sessionCaller) queue(name string, waits int) ([]string, error) {
	results := make(chan *rowlockv1.SessionResult, waits)
	for range waits {
		first := true
		wait := waitRequest(name, newRequestID())
		wait.MinUpdateInterval = durationpb.New(time.Hour)
		c.session.begin(&rowlockv1.SessionCommand{
			Command: &rowlockv1.SessionCommand_WaitInQueue{WaitInQueue: wait},
		}, func(result *rowlockv1.SessionResult) {
			if first {
				first = false
				results <- result
			}
		})
	}
	tickets := make([]string, waits)
	for index := range tickets {
		select {
		case result := <-results:
			position := result.GetWaitInQueue().GetPosition()
			if position == nil {
				return nil, fmt.Errorf("no place in the queue but %v", result)
			}
			tickets[index] = position.TicketId
		case <-c.session.failed:
			return nil, c.session.err
		}
	}
	return tickets, nil
}

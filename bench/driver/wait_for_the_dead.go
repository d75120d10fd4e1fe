package main

import (
	"context"
	"sync"
	"time"
)

// shortestTTL is the shortest time to live that the server accepts.
const shortestTTL = time.Second

// waitForTheDead measures from the end of a lease that is not renewed until its waiter hears of the grant, on another
// connection and, with several servers, on another server. In each round one holder per caller dies, spread over time.
// The server's clock is this machine's.
func waitForTheDead(ctx context.Context, o options) ([]Figures, error) {
	o.connections = 2
	ends, err := waitingEnds(o)
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for until := time.Now().Add(o.measured); len(took) == 0 || time.Now().Before(until); {
		round, err := letDie(ctx, ends, o)
		if err != nil {
			return nil, err
		}
		took = append(took, round...)
	}
	return []Figures{figuresOf("", took, o)}, nil
}

func letDie(ctx context.Context, ends []*rowlockCaller, o options) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([]time.Duration, o.callers)
	var waiting sync.WaitGroup
	for index := range o.callers {
		holder, next := ends[index%2], ends[(index+1)%2]
		time.Sleep(shortestTTL / time.Duration(o.callers))
		request := acquireRequestFor(o.name(index), newRequestID(), shortestTTL)
		response, err := holder.service.Acquire(ctx, request)
		if err != nil {
			return nil, err
		}
		if _, err := leaseIDOf(response); err != nil {
			return nil, err
		}
		wait, err := next.wait(ctx, o.name(index))
		if err != nil {
			return nil, err
		}
		ended := response.GetLease().ExpiresAt.AsTime()
		waiting.Go(func() {
			lease, err := wait.granted()
			if err != nil {
				cancel(err)
				return
			}
			took[index] = time.Since(ended)
			if err := next.Release(ctx, lease.LeaseId); err != nil {
				cancel(err)
			}
		})
	}
	waiting.Wait()
	return took, context.Cause(ctx)
}

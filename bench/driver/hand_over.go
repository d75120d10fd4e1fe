package main

import (
	"context"
	"time"

	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// handOver measures from a lock's release on one connection until a stream that waits on another connection hears of
// its grant. With several servers, the connections go to two of them.
func handOver(ctx context.Context, o options) ([]Figures, error) {
	o.connections = 2
	ends, err := waitingEnds(o)
	if err != nil {
		return nil, err
	}
	from := time.Now().Add(o.warmUp)
	end := from.Add(o.measured)
	held, err := ends[0].Acquire(ctx, o.name(0))
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for turn := 1; ; turn++ {
		holder, next := ends[(turn+1)%2], ends[turn%2]
		wait, err := next.wait(ctx, o.name(0))
		if err != nil {
			return nil, err
		}
		released := time.Now()
		if err := holder.Release(ctx, held); err != nil {
			return nil, err
		}
		lease, err := wait.granted()
		if err != nil {
			return nil, err
		}
		if released.After(end) {
			return []Figures{figuresOf("", took, o)}, next.Release(ctx, lease.LeaseId)
		}
		if granted := time.Now(); granted.After(from) && granted.Before(end) {
			took = append(took, granted.Sub(released))
		}
		held = lease.LeaseId
	}
}

// waitingEnds returns callers that can wait on a stream, one for each connection.
func waitingEnds(o options) ([]*rowlockCaller, error) {
	connections, err := grpcConnections(o)
	if err != nil {
		return nil, err
	}
	ends := make([]*rowlockCaller, len(connections))
	for index, connection := range connections {
		ends[index] = &rowlockCaller{service: rowlockv1.NewLockServiceClient(connection)}
	}
	return ends, nil
}

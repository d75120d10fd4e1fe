package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Turns is what came of one work. A pair counts when its Acquire was answered within the measured time.
type Turns struct {
	PairsPerSecond float64 `json:"pairsPerSecond"`
	P50Ms          float64 `json:"p50Ms"`
	P99Ms          float64 `json:"p99Ms"`
}

// takeTurns is a closed loop: each caller has one call under way at a time.
func takeTurns(ctx context.Context, system System, o options) (*Turns, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	callers := make([]Locks, o.callers)
	for index := range callers {
		locks, err := system.Caller(ctx, index)
		if err != nil {
			return nil, err
		}
		callers[index] = locks
	}
	from := time.Now().Add(o.warmUp)
	end := from.Add(o.measured)
	took := make([][]time.Duration, o.callers)
	var running sync.WaitGroup
	for index, locks := range callers {
		running.Go(func() {
			var err error
			if took[index], err = takeTurnsAlone(ctx, locks, o.name(index), from, end); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return &Turns{float64(len(all)) / o.measured.Seconds(), quantileMs(all, 0.5), quantileMs(all, 0.99)}, nil
}

// takeTurnsAlone answers how long each Acquire took that was answered between from and end.
func takeTurnsAlone(ctx context.Context, locks Locks, name string, from, end time.Time) ([]time.Duration, error) {
	var took []time.Duration
	for {
		asked := time.Now()
		if asked.After(end) {
			return took, nil
		}
		held, err := locks.Acquire(ctx, name)
		if err != nil {
			return nil, err
		}
		if granted := time.Now(); granted.After(from) && granted.Before(end) {
			took = append(took, granted.Sub(asked))
		}
		if err := locks.Release(ctx, held); err != nil {
			return nil, err
		}
	}
}

// quantileMs is of sorted durations; 0 where there are none.
func quantileMs(sorted []time.Duration, quantile float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(float64(len(sorted))*quantile)].Seconds() * 1_000
}

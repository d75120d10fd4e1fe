package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Figures are what came of one work, or of one part of it.
type Figures struct {
	Part      string  `json:"part,omitempty"`
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
}

// figuresOf calls that took so long, all of them answered within the measured time.
func figuresOf(part string, took []time.Duration, o options) Figures {
	slices.Sort(took)
	return Figures{part, float64(len(took)) / o.measured.Seconds(), quantileMs(took, 0.5), quantileMs(took, 0.99)}
}

// takeTurns is a closed loop: each caller has one call under way at a time. A pair counts when its Acquire was answered
// within the measured time.
func takeTurns(ctx context.Context, system System, o options) ([]Figures, error) {
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
	return []Figures{figuresOf("", slices.Concat(took...), o)}, nil
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

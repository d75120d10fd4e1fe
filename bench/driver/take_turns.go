package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Figures are the results of one work, or of one part of it.
type Figures struct {
	Part      string  `json:"part,omitempty"`
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
}

// figuresOf computes the figures from the durations of the calls answered within the measured time.
func figuresOf(part string, took []time.Duration, o options) Figures {
	slices.Sort(took)
	return Figures{part, float64(len(took)) / o.measured.Seconds(), quantileMs(took, 0.5), quantileMs(took, 0.99)}
}

// takeTurns is a closed loop: each caller has one call running at a time. A pair counts if its Acquire was answered
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
			if took[index], err = takeTurnsAlone(ctx, locks, o.names(index), from, end); err != nil {
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

// names are the locks that a caller takes one after the other: always the same, or its share of those of "rounds".
func (o options) names(caller int) func() string {
	own := o.name(caller)
	if o.work != "rounds" {
		return func() string { return own }
	}
	next := caller - o.callers
	return func() string {
		if next += o.callers; next >= o.locks {
			next = caller
		}
		return o.name(next)
	}
}

// takeTurnsAlone returns the duration of each Acquire that was answered between from and end.
func takeTurnsAlone(
	ctx context.Context, locks Locks, names func() string, from, end time.Time,
) ([]time.Duration, error) {
	var took []time.Duration
	for {
		name, asked := names(), time.Now()
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

// quantileMs takes sorted durations; it returns 0 if there are none.
func quantileMs(sorted []time.Duration, quantile float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(float64(len(sorted))*quantile)].Seconds() * 1_000
}

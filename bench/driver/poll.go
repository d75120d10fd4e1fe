package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// poll calls try until it succeeds or fails. The pause between tries is 0.5 to 1.5 times every, so that the callers do
// not all try at once.
func poll(ctx context.Context, every time.Duration, try func() (bool, error)) error {
	for {
		done, err := try()
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(every/2 + rand.N(every)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

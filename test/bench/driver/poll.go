package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// poll tries until it succeeds or fails, with a pause of half to one and a half times every between tries, so that the
// callers do not come all at once.
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

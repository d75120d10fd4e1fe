package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

const (
	keptTTL = 5 * time.Second
	// keptAgain is how soon a renewal that failed is repeated.
	keptAgain = 200 * time.Millisecond
	// quietEvery is how often the quiet client takes its lock and gives it back.
	quietEvery = 100 * time.Millisecond
	// quietNames are its locks, so that a pair that takes long does not hold up the next one.
	quietNames = 100
)

// Kept is what holders of leases and a quiet client saw.
type Kept struct {
	Leases int `json:"leases"`
	// Lost counts leases that the server ended, or of which no renewal was answered in time for the client to believe
	// in its lease.
	Lost         int      `json:"lost"`
	Renewals     int      `json:"renewals"`
	RenewP99Ms   float64  `json:"renewP99Ms"`
	RenewMaxMs   float64  `json:"renewMaxMs"`
	Refusals     refusals `json:"refusals"`
	QuietCalls   Figures  `json:"quietCalls"`
	QuietSession Figures  `json:"quietSession"`
	CPUSeconds   float64  `json:"cpuSeconds"`
}

type keeper struct {
	mu   sync.Mutex
	out  *Kept
	took []time.Duration
}

// keep holds leases, half by calls and half by sessions, and renews each at a third of its ttl. Beside them, a quiet
// client by calls and one by a session take and release a lock of their own.
func keep(ctx context.Context, o options) (*Kept, error) {
	k := &keeper{out: &Kept{Leases: o.callers, Refusals: refusals{}}}
	byCalls, err := connectRowlock(o)
	if err != nil {
		return nil, err
	}
	bySessions, err := openSessions(ctx, o)
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(o.warmUp + o.measured)
	var running sync.WaitGroup
	failures := make(chan error, o.callers+2)
	for index := range o.callers {
		system := byCalls
		if index%2 == 1 {
			system = bySessions
		}
		locks, err := system.Caller(ctx, index)
		if err != nil {
			return nil, err
		}
		running.Go(func() {
			// Spread evenly, like the timers of programs that started at different times.
			time.Sleep(keptTTL / 3 * time.Duration(index) / time.Duration(o.callers))
			if err := k.hold(ctx, locks.(renewing), fmt.Sprintf("%s/%d", o.name(0), index), end); err != nil {
				failures <- err
			}
		})
	}
	quiet := func(connect func() (System, error), figures *Figures, name string) error {
		own := o
		own.connections = 1
		system, err := connect()
		if err != nil {
			return err
		}
		locks, err := system.Caller(ctx, 0)
		if err != nil {
			return err
		}
		running.Go(func() {
			took, err := k.quiet(ctx, locks, name, end, o)
			if err != nil {
				failures <- err
			}
			*figures = figuresOf("", took, own)
		})
		return nil
	}
	alone := o
	alone.connections = 1
	if err := quiet(func() (System, error) { return connectRowlock(alone) }, &k.out.QuietCalls, "quiet/calls"); err != nil {
		return nil, err
	}
	if err := quiet(func() (System, error) { return openSessions(ctx, alone) }, &k.out.QuietSession, "quiet/session"); err != nil {
		return nil, err
	}
	running.Wait()
	if err := firstOf(failures); err != nil {
		return nil, err
	}
	slices.Sort(k.took)
	k.out.RenewP99Ms = quantileMs(k.took, 0.99)
	if len(k.took) > 0 {
		k.out.RenewMaxMs = k.took[len(k.took)-1].Seconds() * 1_000
	}
	k.out.CPUSeconds = cpuSeconds()
	return k.out, nil
}

// renewing is a caller that can renew. Its first grant has a short ttl.
type renewing interface {
	Locks
	AcquireFor(ctx context.Context, name string, ttl time.Duration) (string, error)
	Renew(ctx context.Context, held string) error
}

// hold keeps one lease until the end, and takes it anew when it is lost.
func (k *keeper) hold(ctx context.Context, locks renewing, name string, end time.Time) error {
	for time.Now().Before(end) {
		asked := time.Now()
		held, err := locks.AcquireFor(ctx, name, keptTTL)
		if err != nil {
			k.refused(err)
			if !isTransient(err) {
				return err
			}
			time.Sleep(keptAgain)
			continue
		}
		lost, err := k.renew(ctx, locks, held, asked.Add(keptTTL), end)
		if err != nil {
			return err
		}
		if lost {
			k.mu.Lock()
			k.out.Lost++
			k.mu.Unlock()
			continue
		}
		for err = locks.Release(ctx, held); isTransient(err); err = locks.Release(ctx, held) {
			k.refused(err)
			time.Sleep(keptAgain)
		}
		return err
	}
	return nil
}

// renew returns true when the lease is lost: the server says so, or the client cannot believe in it any more.
func (k *keeper) renew(ctx context.Context, locks renewing, held string, until, end time.Time) (bool, error) {
	for next := time.Now().Add(keptTTL / 3); next.Before(end); {
		time.Sleep(time.Until(next))
		asked := time.Now()
		err := locks.Renew(ctx, held)
		now := time.Now()
		k.mu.Lock()
		k.out.Renewals++
		k.took = append(k.took, now.Sub(asked))
		k.mu.Unlock()
		if now.After(until) {
			return true, nil
		}
		switch {
		case err == nil:
			until, next = asked.Add(keptTTL), next.Add(keptTTL/3)
		case status.Code(err) == codes.FailedPrecondition || status.Code(err) == codes.NotFound:
			k.refused(err)
			return true, nil
		case isTransient(err):
			k.refused(err)
			next = now.Add(keptAgain)
		default:
			return false, err
		}
	}
	return false, nil
}

func (k *keeper) refused(err error) {
	kind, pause := refusalOf(err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.out.Refusals.add(kind, pause)
}

// quiet begins a pair every so often, whatever became of those before: a client that is held up must not hide that by
// asking less. Returns the duration of each Acquire and each Release after the warm-up.
func (k *keeper) quiet(ctx context.Context, locks Locks, name string, end time.Time, o options) ([]time.Duration, error) {
	var took []time.Duration
	var running sync.WaitGroup
	failures := make(chan error, int(time.Until(end)/quietEvery)+2)
	from := end.Add(-o.measured)
	for turn, next := 0, time.Now(); next.Before(end); turn, next = turn+1, next.Add(quietEvery) {
		time.Sleep(time.Until(next))
		running.Go(func() {
			held, err := locks.Acquire(ctx, fmt.Sprintf("%s/%d", name, turn%quietNames))
			acquired := time.Now()
			if err != nil {
				k.refused(err)
				if !isTransient(err) {
					failures <- err
				}
				return
			}
			for err := locks.Release(ctx, held); err != nil; err = locks.Release(ctx, held) {
				k.refused(err)
				if !isTransient(err) {
					failures <- fmt.Errorf("the quiet client: %w", err)
					return
				}
				time.Sleep(keptAgain)
			}
			if next.After(from) {
				k.mu.Lock()
				took = append(took, acquired.Sub(next), time.Since(acquired))
				k.mu.Unlock()
			}
		})
	}
	running.Wait()
	if err := firstOf(failures); err != nil {
		return nil, err
	}
	return took, nil
}

func (c *rowlockCaller) AcquireFor(ctx context.Context, name string, ttl time.Duration) (string, error) {
	return c.acquire(ctx, acquireRequestFor(name, newRequestID(), ttl))
}

func (c *rowlockCaller) Renew(ctx context.Context, held string) error {
	_, err := c.service.Renew(ctx, &rowlockv1.RenewRequest{LeaseId: held})
	return err
}

func (c *sessionCaller) AcquireFor(_ context.Context, name string, ttl time.Duration) (string, error) {
	return c.acquire(acquireRequestFor(name, newRequestID(), ttl))
}

func (c *sessionCaller) Renew(_ context.Context, held string) error {
	_, err := c.session.do(&rowlockv1.SessionCommand{
		Command: &rowlockv1.SessionCommand_Renew{Renew: &rowlockv1.RenewRequest{LeaseId: held}},
	})
	return err
}

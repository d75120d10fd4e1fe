package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

const (
	manyTTL        = 30 * time.Second
	manyRenewEvery = manyTTL / 3
	// manyAtOnce are the Acquires of one session at once.
	manyAtOnce = 10
	// manyRenewedAtOnce is the bound of one command.
	manyRenewedAtOnce = 1_000
	// manyTaken bounds how long it may take until all leases are there.
	manyTaken = 15 * time.Minute
)

// Many is what the holders of many leases saw.
type Many struct {
	Leases int `json:"leases"`
	// Late counts renewals that were answered after the next one was due, or refused.
	Late int64 `json:"late"`
	// Lost counts leases that could not be renewed any more.
	Lost       int64   `json:"lost"`
	Commands   int     `json:"commands"`
	Renewals   int64   `json:"renewals"`
	P50Ms      float64 `json:"p50Ms"`
	P99Ms      float64 `json:"p99Ms"`
	MaxMs      float64 `json:"maxMs"`
	CPUSeconds float64 `json:"cpuSeconds"`
}

type many struct {
	out      Many
	late     atomic.Int64
	lost     atomic.Int64
	renewals atomic.Int64
	// isMeasured is set when all leases are there and the warm-up is over.
	isMeasured atomic.Bool
	mu         sync.Mutex
	took       []time.Duration
}

// manyLeases holds leases in sessions and renews those of a session together, as the clients do. All begin at other
// times. announce is called when what is measured begins.
func manyLeases(ctx context.Context, o options, announce func()) (*Many, error) {
	all, err := openSessions(ctx, o)
	if err != nil {
		return nil, err
	}
	m := &many{}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var taking, renewing sync.WaitGroup
	for index, s := range all.(sessions) {
		held := &heldLeases{}
		count := o.callers / o.connections
		taking.Go(func() {
			time.Sleep(manyRenewEvery * time.Duration(index) / time.Duration(o.connections))
			renewing.Go(func() { m.renew(ctx, s, held) })
			if err := held.take(ctx, s, fmt.Sprintf("%s/%d", o.name(0), index), count); err != nil {
				cancel(err)
			}
		})
	}
	taking.Wait()
	time.Sleep(o.warmUp)
	spent := cpuSeconds()
	announce()
	m.isMeasured.Store(true)
	select {
	case <-time.After(o.measured):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	m.isMeasured.Store(false)
	m.out.CPUSeconds = cpuSeconds() - spent
	cancel(nil)
	renewing.Wait()
	slices.Sort(m.took)
	m.out.Leases = o.callers / o.connections * o.connections
	m.out.Late, m.out.Lost, m.out.Renewals = m.late.Load(), m.lost.Load(), m.renewals.Load()
	m.out.Commands = len(m.took)
	m.out.P50Ms, m.out.P99Ms = quantileMs(m.took, 0.5), quantileMs(m.took, 0.99)
	if len(m.took) > 0 {
		m.out.MaxMs = m.took[len(m.took)-1].Seconds() * 1_000
	}
	return &m.out, nil
}

// heldLeases are those of one session.
type heldLeases struct {
	mu  sync.Mutex
	ids []string
}

func (h *heldLeases) take(ctx context.Context, s *session, name string, count int) error {
	caller := &sessionCaller{session: s}
	var next atomic.Int64
	var running sync.WaitGroup
	failures := make(chan error, manyAtOnce)
	for range manyAtOnce {
		running.Go(func() {
			for nth := next.Add(1); nth <= int64(count) && ctx.Err() == nil; nth = next.Add(1) {
				id, err := caller.AcquireFor(ctx, fmt.Sprintf("%s/%d", name, nth), manyTTL)
				for ; isTransient(err); id, err = caller.AcquireFor(ctx, fmt.Sprintf("%s/%d", name, nth), manyTTL) {
					time.Sleep(time.Second)
				}
				if err != nil {
					failures <- err
					return
				}
				h.mu.Lock()
				h.ids = append(h.ids, id)
				h.mu.Unlock()
			}
		})
	}
	running.Wait()
	return firstOf(failures)
}

func (h *heldLeases) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ids)
}

func (m *many) renew(ctx context.Context, s *session, held *heldLeases) {
	tick := time.NewTicker(manyRenewEvery)
	defer tick.Stop()
	for {
		select {
		case due := <-tick.C:
			var running sync.WaitGroup
			for part := range slices.Chunk(held.all(), manyRenewedAtOnce) {
				running.Go(func() { m.renewPart(s, part, due) })
			}
			running.Wait()
		case <-ctx.Done():
			return
		}
	}
}

func (m *many) renewPart(s *session, ids []string, due time.Time) {
	requests := make([]*rowlockv1.RenewRequest, len(ids))
	for index, id := range ids {
		requests[index] = &rowlockv1.RenewRequest{LeaseId: id, Ttl: durationpb.New(manyTTL)}
	}
	result, err := s.do(&rowlockv1.SessionCommand{
		Command: &rowlockv1.SessionCommand_RenewLeases{RenewLeases: &rowlockv1.RenewLeases{Leases: requests}},
	})
	took := time.Since(due)
	if !m.isMeasured.Load() {
		return
	}
	m.mu.Lock()
	m.took = append(m.took, took)
	m.mu.Unlock()
	m.renewals.Add(int64(len(ids)))
	if err != nil || took > manyRenewEvery {
		m.late.Add(int64(len(ids)))
		return
	}
	for _, each := range result.GetRenewLeases().Leases {
		if each.GetLease() == nil {
			m.late.Add(1)
			if !isTransient(&sessionError{each.GetError()}) {
				m.lost.Add(1)
			}
		}
	}
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// floodTick is how often an open loop begins the pairs that are due.
	floodTick = 5 * time.Millisecond
	// makersAtOnce make the locks.
	makersAtOnce = 128
)

// Flood is what an open loop saw.
type Flood struct {
	Begun    int64 `json:"begun"`
	NotBegun int64 `json:"notBegun"`
	// PerSecond counts pairs whose Release was answered in time.
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
	// RefusedP99Ms tells how early a refusal comes.
	RefusedP99Ms float64  `json:"refusedP99Ms"`
	Refusals     refusals `json:"refusals"`
	// Left are some of the calls that have no answer long after the flood.
	Left       []string `json:"left"`
	CPUSeconds float64  `json:"cpuSeconds"`
}

// refusals by kind.
type refusals map[string]*refusalCount

type refusalCount struct {
	Count int64 `json:"count"`
	// WithoutRetryInfo counts those that do not say when to come back.
	WithoutRetryInfo int64 `json:"withoutRetryInfo"`
}

func (r refusals) add(kind string, pause time.Duration) {
	if r[kind] == nil {
		r[kind] = &refusalCount{}
	}
	r[kind].Count++
	if pause == 0 {
		r[kind].WithoutRetryInfo++
	}
}

// flooding is a flood that goes on. Each of its locks, which are made before, has one pair at most at a time.
type flooding struct {
	options
	ends      []Locks
	from, end time.Time
	open      atomic.Int64
	pairs     atomic.Int64
	doing     sync.Map

	mu               sync.Mutex
	out              Flood
	granted, refused []time.Duration
}

// flood asks for pairs at an even rate, by callers that heed refusals or by callers that do not.
func flood(ctx context.Context, system System, o options) (*Flood, error) {
	ends, err := floodEnds(ctx, system, o)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	f := &flooding{
		options: o, ends: ends, from: began.Add(o.warmUp), end: began.Add(o.warmUp + o.measured),
		out: Flood{Refusals: refusals{}},
	}
	spent := cpuSeconds()
	if o.work == "heeding" {
		f.heed(ctx)
	} else {
		f.pour(ctx, began)
	}
	// What is still open has drainMax to end, and counts for nothing.
	for ends := time.Now().Add(drainMax); f.open.Load() > 0 && time.Now().Before(ends); {
		time.Sleep(100 * time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.granted)
	slices.Sort(f.refused)
	f.out.PerSecond = float64(f.pairs.Load()) / o.measured.Seconds()
	f.out.P50Ms, f.out.P99Ms = quantileMs(f.granted, 0.5), quantileMs(f.granted, 0.99)
	f.out.RefusedP99Ms = quantileMs(f.refused, 0.99)
	f.out.CPUSeconds = cpuSeconds() - spent
	f.doing.Range(func(_, what any) bool {
		f.out.Left = append(f.out.Left, what.(string))
		return len(f.out.Left) < 20
	})
	return &f.out, nil
}

// pour is an open loop: it begins pairs at f.rate, also while those before are open. A pair whose Acquire is refused is
// given up.
func (f *flooding) pour(ctx context.Context, began time.Time) {
	free := make(chan int, f.locks)
	for index := range f.locks {
		free <- index
	}
	tick := time.NewTicker(floodTick)
	defer tick.Stop()
	var begun int64
	for now := began; now.Before(f.end); now = <-tick.C {
		due := int64(now.Sub(began).Seconds() * f.rate)
		for ; begun < due; begun++ {
			select {
			case index := <-free:
				f.open.Add(1)
				go func() {
					f.pair(ctx, index)
					f.open.Add(-1)
					free <- index
				}()
			default:
				f.out.NotBegun++
			}
		}
	}
	f.out.Begun = begun - f.out.NotBegun
}

// heed runs one caller for each lock, which takes it, releases it and then thinks. All of them would begin f.rate pairs a
// second if each call was answered at once. A caller that is refused waits for as long as the refusal says, and asks again.
func (f *flooding) heed(ctx context.Context) {
	thinks := float64(f.locks) / f.rate * float64(time.Second)
	var begun atomic.Int64
	for index := range f.locks {
		f.open.Add(1)
		go func() {
			defer f.open.Add(-1)
			for {
				time.Sleep(time.Duration(2 * rand.Float64() * thinks))
				if time.Now().After(f.end) {
					return
				}
				begun.Add(1)
				for {
					pause := f.pair(ctx, index)
					if pause == 0 || time.Now().Add(pause).After(f.end) {
						break
					}
					time.Sleep(pause)
				}
			}
		}()
	}
	time.Sleep(time.Until(f.end))
	f.out.Begun = begun.Load()
}

// pair returns after how long to come back if the Acquire was refused. A Release is repeated until it is answered.
func (f *flooding) pair(ctx context.Context, index int) time.Duration {
	locks, name := f.ends[index], f.name(index)
	f.doing.Store(index, "acquires "+name)
	defer f.doing.Delete(index)
	asked := time.Now()
	held, err := locks.Acquire(ctx, name)
	isMeasured := asked.After(f.from) && asked.Before(f.end)
	took := time.Since(asked)
	if err != nil {
		return f.refuse(err, took, isMeasured)
	}
	if isMeasured {
		f.mu.Lock()
		f.granted = append(f.granted, took)
		f.mu.Unlock()
	}
	f.doing.Store(index, "releases "+name)
	for {
		err := locks.Release(ctx, held)
		if err == nil {
			break
		}
		kind, _ := refusalOf(err)
		if ctx.Err() != nil || !isTransient(err) {
			f.refuse(fmt.Errorf("release: %s", kind), 0, true)
			return 0
		}
		time.Sleep(250 * time.Millisecond)
	}
	if now := time.Now(); now.After(f.from) && now.Before(f.end) {
		f.pairs.Add(1)
	}
	return 0
}

func (f *flooding) refuse(err error, took time.Duration, isMeasured bool) time.Duration {
	kind, pause := refusalOf(err)
	if !isMeasured {
		return pause
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Refusals.add(kind, pause)
	f.refused = append(f.refused, took)
	return pause
}

func floodEnds(ctx context.Context, system System, o options) ([]Locks, error) {
	ends := make([]Locks, o.locks)
	for index := range ends {
		locks, err := system.Caller(ctx, index)
		if err != nil {
			return nil, err
		}
		ends[index] = locks
	}
	return ends, nil
}

// makeNames takes and releases each lock of the flood once, so that the flood makes none.
func makeNames(ctx context.Context, system System, o options) error {
	ends, err := floodEnds(ctx, system, o)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var running sync.WaitGroup
	failures := make(chan error, makersAtOnce)
	for range makersAtOnce {
		running.Go(func() {
			for index := next.Add(1) - 1; int(index) < o.locks; index = next.Add(1) - 1 {
				held, err := ends[index].Acquire(ctx, o.name(int(index)))
				if err == nil {
					err = ends[index].Release(ctx, held)
				}
				if isTransient(err) {
					time.Sleep(time.Second)
				} else if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	running.Wait()
	return firstOf(failures)
}

// firstOf is the first of the failures so far, or nil.
func firstOf(failures <-chan error) error {
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// cpuSeconds is the processor time of this process.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// sessionError is an error of a command in a session.
type sessionError struct{ status *spb.Status }

func (e *sessionError) Error() string              { return e.status.String() }
func (e *sessionError) GRPCStatus() *status.Status { return status.FromProto(e.status) }

// refusalOf names the error by its code, its reason and the bound that was reached, and returns after how long to come
// back, if it says that.
func refusalOf(err error) (kind string, pause time.Duration) {
	found, ok := status.FromError(err)
	if !ok {
		return err.Error(), 0
	}
	kind = found.Code().String()
	if len(found.Details()) == 0 {
		kind += " " + found.Message()
	}
	for _, detail := range found.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			kind += " " + detail.Reason
			if bound := detail.Metadata["bound"]; bound != "" {
				kind += " " + bound
			}
		case *errdetails.RetryInfo:
			pause = detail.RetryDelay.AsDuration()
		}
	}
	return kind, pause
}

func isTransient(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Unknown:
		return true
	}
	return false
}

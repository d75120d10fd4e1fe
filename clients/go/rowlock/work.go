// A worker loop: captures locks under a prefix, runs a handler with each of them, and releases each with a status.

package rowlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"
)

const (
	// A lock whose handler has failed, or whose worker has died, rests from restFirst up to restMax, twice as long each time, if
	// nothing else is asked. So does one whose release the server refuses.
	restFirst = time.Second
	restMax   = time.Minute
	// refusedLocksMax: of so many such locks the loop knows how often that was.
	refusedLocksMax = 1_000
	// captureMax is the most locks of one capture.
	captureMax = 100
)

// WorkOption is an option of [Client.Work]. Options of a lease are, too, except for [Wait] and [RequestID].
type WorkOption interface {
	ofWork(*workOptions)
}

type workOption func(*workOptions)

func (set workOption) ofWork(o *workOptions) { set(o) }

type workOptions struct {
	captureOptions
	concurrency                      int
	statusWhenDone, statusWhenFailed *string
}

// Concurrency is how many handlers run at once at most. Default: 1.
func Concurrency(atMost int) WorkOption {
	return workOption(func(o *workOptions) { o.concurrency = atMost })
}

// StatusWhenDone is the lock's status after its handler has returned nil. Default: the status stays as it is.
func StatusWhenDone(status string) WorkOption {
	return workOption(func(o *workOptions) { o.statusWhenDone = &status })
}

// StatusWhenFailed is the lock's status after its handler has returned an error. Default: that of [StatusIfLost].
func StatusWhenFailed(status string) WorkOption {
	return workOption(func(o *workOptions) { o.statusWhenFailed = &status })
}

// work is a worker loop that runs.
type work struct {
	client   *Client
	ctx      context.Context
	handler  func(ctx context.Context, lock *Lock) error
	asked    *workOptions
	running  sync.WaitGroup
	free     chan struct{}
	failures int
	refusals refusals
}

// refusals counts how often in a row the server has refused what the release of a lock said.
type refusals struct {
	mu     sync.Mutex
	counts map[string]int
}

// rest is how long a lock rests if the server refuses its release now.
func (r *refusals) rest(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := restFirst
	for range r.counts[name] {
		rest = min(restMax, 2*rest)
	}
	return rest
}

func (r *refusals) refused(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil || len(r.counts) >= refusedLocksMax {
		r.counts = map[string]int{}
	}
	r.counts[name]++
}

func (r *refusals) accepted(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.counts, name)
}

// Work captures locks under the prefix as they become free and due, with [Client.Capture], runs the handler with each of
// them, and releases it, with the status of [StatusWhenDone] or [StatusWhenFailed]. It logs what handlers return as
// errors, releases their locks as [Failed], and goes on. It outlives outages of servers. An error that no other try heals,
// such as a missing right, ends it.
//
// A lock whose handler has failed, or which was lost, rests: for 1 s, and twice as long each time in a row, up to a minute,
// unless [Backoff] or [MinInterval] says otherwise.
//
// When ctx is done or the client is closed, Work takes no more locks, waits for the handlers that run, and returns nil.
// The context of a handler is cancelled only when its lock is lost or the client is closed, so that a handler can finish.
func (c *Client) Work(
	ctx context.Context, prefix string, handler func(ctx context.Context, lock *Lock) error, options ...WorkOption,
) error {
	asked, err := workOptionsOf(prefix, options)
	if err != nil {
		return err
	}
	w := &work{client: c, ctx: ctx, handler: handler, asked: asked, free: make(chan struct{}, asked.concurrency)}
	for range asked.concurrency {
		w.free <- struct{}{}
	}
	defer w.running.Wait()
	for {
		count := w.awaitFree()
		if count == 0 {
			return nil
		}
		taken, err := w.take(count)
		for range count - taken {
			w.free <- struct{}{}
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return nil
			}
			return err
		}
	}
}

// workOptionsOf applies the options to the defaults. It fails for options that cannot work.
func workOptionsOf(prefix string, options []WorkOption) (*workOptions, error) {
	o := &workOptions{concurrency: 1}
	o.ttl, o.count, o.prefix = ttlDefault, 1, &prefix
	for _, option := range options {
		option.ofWork(o)
	}
	var wrong faults
	if o.wait != 0 {
		wrong.add("Wait", "a worker waits for as long as it runs")
	}
	if o.requestID != "" {
		wrong.add("RequestID", "a worker makes many requests")
	}
	if o.concurrency < 1 || o.concurrency > math.MaxInt32 {
		wrong.add("Concurrency", fmt.Sprintf("%d is not above 0", o.concurrency))
	}
	if o.ttl == Forever {
		wrong.add("TTL", "must not be Forever for a worker")
	}
	o.wait = Forever
	wrong = append(wrong, o.check()...)
	if o.statusWhenFailed == nil {
		o.statusWhenFailed = o.terms.statusIfLost
	}
	// With a MinInterval, a lock rests in any case.
	if o.terms.backoff == nil && o.terms.minInterval == nil {
		Backoff(restFirst, restMax)(&o.leaseOptions)
	}
	return o, wrong.err()
}

// awaitFree waits until a handler may begin, and returns how many may; 0 when the loop is stopped.
func (w *work) awaitFree() int {
	select {
	case <-w.free:
	case <-w.ctx.Done():
		return 0
	case <-w.client.closed:
		return 0
	}
	count := 1
	for ; count < captureMax; count++ {
		select {
		case <-w.free:
		default:
			return count
		}
	}
	return count
}

// take waits for up to count locks, begins with them, and returns how many they are.
func (w *work) take(count int) (taken int, err error) {
	asked := w.asked.captureOptions
	asked.count = count
	captured, err := w.client.captureWith(w.ctx, &asked)
	if err != nil {
		return 0, w.goesOn(err)
	}
	w.failures = 0
	for _, lock := range captured.Locks {
		w.running.Add(1)
		go w.handle(lock)
	}
	return len(captured.Locks), nil
}

// goesOn waits before the next try after a failed capture. It returns the error if no other try can help.
func (w *work) goesOn(err error) error {
	var failed *Error
	if !errors.As(err, &failed) || !failed.isTransient() || failed.isHopeless() ||
		failed.isOfCredentials() && !w.client.config.mayGetCredentials() {
		return err
	}
	if w.failures++; w.failures == 1 {
		w.log("rowlock: the worker gets no locks", slog.String("prefix", *w.asked.prefix),
			slog.String("reason", string(failed.Reason)), slog.String("error", failed.Message))
	}
	select {
	case <-time.After(backoff(w.failures, failed.RetryAfter)):
	case <-w.ctx.Done():
	case <-w.client.closed:
	}
	return nil
}

// handle runs the handler and releases its lock.
func (w *work) handle(lock *Lock) {
	defer w.running.Done()
	defer func() { w.free <- struct{}{} }()
	ctx, hold := w.client.observer.startHold(context.WithoutCancel(w.ctx), lock)
	defer hold.end()
	working, cancel := lock.Context(ctx)
	defer cancel()
	defer context.AfterFunc(working, hold.endIfLost)()
	// Without its new status, the lock could be taken again at once. With a MinInterval it rests in any case.
	if w.asked.terms.minInterval == nil {
		lock.restIfRefused(w.refusals.rest(lock.Name()))
	}
	if err := w.handler(working, lock); err != nil {
		w.log("rowlock: the handler of a lock failed", slog.String("lock", lock.Name()), slog.String("error", err.Error()))
		options := []ReleaseOption{Failed()}
		if w.asked.statusWhenFailed != nil {
			options = append(options, Status(*w.asked.statusWhenFailed))
		}
		w.release(ctx, lock, options)
		return
	}
	var options []ReleaseOption
	if w.asked.statusWhenDone != nil {
		options = append(options, Status(*w.asked.statusWhenDone))
	}
	w.release(ctx, lock, options)
}

func (w *work) release(ctx context.Context, lock *Lock, options []ReleaseOption) {
	wasHeld := lock.State() != Lost
	_, err := lock.Release(ctx, options...)
	switch {
	case (errors.Is(err, ErrBadRequest) || errors.Is(err, ErrMessageTooLarge)) && w.asked.terms.minInterval == nil:
		w.log("rowlock: the server refused what a release said, so the lock rests", slog.String("lock", lock.Name()),
			slog.String("error", err.Error()), slog.Duration("rest", w.refusals.rest(lock.Name())))
		w.refusals.refused(lock.Name())
		return
	case err != nil:
		w.log("rowlock: a lock was not released", slog.String("lock", lock.Name()), slog.String("error", err.Error()))
	case wasHeld && lock.hadEnded():
		// A loss that the client has noticed itself is in the log already.
		w.log("rowlock: a lease had ended before its release", slog.String("lock", lock.Name()))
	}
	w.refusals.accepted(lock.Name())
}

func (w *work) log(message string, attributes ...slog.Attr) {
	w.client.turns.take(func() { w.client.observer.log(slog.LevelWarn, message, attributes...) })
}

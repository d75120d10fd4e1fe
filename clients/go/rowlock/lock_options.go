// The options of one lock, with their defaults and checks.

package rowlock

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const positionInterval = time.Second

// LockOption is an option of one lock.
type LockOption interface {
	ofLock(*lockOptions)
}

type lockOption func(*lockOptions)

func (set lockOption) ofLock(o *lockOptions) { set(o) }

type lockOptions struct {
	leaseOptions
	holding
	// also are the further locks of the claim.
	also             []wantedLock
	headStart        time.Duration
	onPosition       func(Place)
	onWaiting        func(Waiting)
	positionInterval time.Duration
	// isSpend: the request only takes of the rate, and gets no lease.
	isSpend bool
}

// Place is a place in the queue.
type Place struct {
	// Ahead is how many claims wait before this one, at the same pool if it waits at one.
	Ahead int `json:"ahead"`
	// PermitsAhead is how many permits these claims ask for.
	PermitsAhead uint64 `json:"permitsAhead,string"`
	// QueueLength is how many claims wait in total, or at the pool.
	QueueLength int `json:"queueLength"`
	// Waited is how long this claim has waited.
	Waited time.Duration `json:"waitedNs"`
	// RateWait is how long the lock's rate alone keeps this claim waiting; 0: not at all, or the server does not say.
	RateWait time.Duration `json:"rateWaitNs"`
	// Pool is the pattern of the pool at which this claim waits, as it has its own lock; empty: it waits at none that the caller
	// may see.
	Pool string `json:"pool"`
	// WaitsFor is, of a claim for several locks, the one at which most claims wait before it, of which all this is. Empty: it is
	// for one lock.
	WaitsFor string `json:"waitsFor"`
}

// Permits is how many permits to take, all or none, at most 1,000,000. Default: 1. [Shared] and [Exclusive] take one.
func Permits(permits int) HoldOption {
	return func(h *holding) { h.permits = permits }
}

// As is how to hold the lock: [Permit], [Shared] or [Exclusive]. Default: [Permit].
func As(mode Mode) HoldOption {
	return func(h *holding) { h.mode = mode }
}

// HeadStart queues the request as if it had come so much earlier, as far as the lock's queue rules allow: see
// [QueueRules.HeadStartMax]. It takes the right head_start. Default: 0. It does not go with [Also].
func HeadStart(by time.Duration) LockOption {
	return lockOption(func(o *lockOptions) { o.headStart = by })
}

// OnPosition calls tell for each new place in the queue, in the goroutine that waits. If tell is slow, it gets only the
// latest place.
func OnPosition(tell func(Place)) LockOption {
	return lockOption(func(o *lockOptions) { o.onPosition = tell })
}

// PositionInterval is the minimum time between two places, 0 to 1 hour. Default: 1 s.
func PositionInterval(interval time.Duration) LockOption {
	return lockOption(func(o *lockOptions) { o.positionInterval = interval })
}

// lockOptionsOf applies the options to the defaults. It fails for options that cannot work, and leaves all other checks
// to the server.
func lockOptionsOf(options []LockOption) (*lockOptions, error) {
	o := &lockOptions{holding: holding{1, Permit}, positionInterval: positionInterval}
	o.wait, o.ttl = Forever, ttlDefault
	for _, option := range options {
		option.ofLock(o)
	}
	wrong := o.check()
	o.holding.eachFault(wrong.add)
	for _, lock := range o.also {
		lock.eachFault(func(option, problem string) {
			wrong.add("Also", fmt.Sprintf("%q: %s: %s", lock.name, option, problem))
		})
	}
	return o, wrong.err()
}

// shared is the key in [requests], if the caller has chosen a request id; otherwise "".
func (o *lockOptions) shared() string {
	if o.requestID == "" {
		return ""
	}
	return "lock " + o.requestID
}

// claimTerms is what the caller asks of the claim, as a new message. A spend has no lease that could last.
func (o *lockOptions) claimTerms() *rowlockv1.LeaseTerms {
	terms := o.leaseTerms()
	if o.isSpend {
		terms.Lasting = nil
	}
	return terms
}

// butTry are these options without a wait.
func butTry(options []LockOption) []LockOption {
	return append(options[:len(options):len(options)], Wait(0))
}

// request is the request under this id that does not wait.
func (o *lockOptions) request(name, id string) *rowlockv1.AcquireRequest {
	return &rowlockv1.AcquireRequest{
		Name:      name,
		Mode:      o.mode.proto(),
		Permits:   uint32(o.permits),
		Terms:     o.claimTerms(),
		RequestId: id,
		SpendOnly: o.isSpend,
		Also:      o.wantedLocks(),
		HeadStart: protoOf(o.headStart),
	}
}

// queueRequest is the request under this id that waits for at most maxWait.
func (o *lockOptions) queueRequest(name, id string, maxWait time.Duration) *rowlockv1.QueueRequest {
	request := &rowlockv1.QueueRequest{
		Name:      name,
		Mode:      o.mode.proto(),
		Permits:   uint32(o.permits),
		Terms:     o.claimTerms(),
		RequestId: id,
		SpendOnly: o.isSpend,
		Also:      o.wantedLocks(),
		HeadStart: protoOf(o.headStart),
	}
	if maxWait != Forever {
		request.MaxWait = durationpb.New(maxWait)
	}
	return request
}

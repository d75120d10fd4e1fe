package rowlock

import (
	"fmt"
	"maps"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	ttlDefault = 30 * time.Second
	// marginShare and marginMax: a tenth of the ttl, 2 s at the most.
	marginShare      = 10
	marginMax        = 2 * time.Second
	positionInterval = time.Second
)

// LockOption is something that is chosen for one lock.
type LockOption func(*lockOptions)

type lockOptions struct {
	wait             time.Duration
	ttl              time.Duration
	margin           time.Duration
	hasMargin        bool
	permits          int
	mode             Mode
	onPosition       func(Place)
	positionInterval time.Duration
	owner            string
	labels           map[string]string
	requestID        string
}

// Place is a place in the queue.
type Place struct {
	// Ahead is how many wait before this one.
	Ahead int
	// PermitsAhead is how many permits they ask for.
	PermitsAhead uint64
	// QueueLength is how many wait in all.
	QueueLength int
	// Waited is for how long this one has waited.
	Waited time.Duration
}

// Wait is how long to wait at the most; 0: not at all. Unless told otherwise, as long as it takes.
func Wait(atMost time.Duration) LockOption {
	return func(o *lockOptions) { o.wait = atMost }
}

// TTL is the time to live of the lease, which is renewed at every third of it: 30 s unless told otherwise. A lease with
// [Forever] lasts until it is released.
func TTL(ttl time.Duration) LockOption {
	return func(o *lockOptions) { o.ttl = ttl }
}

// Margin is how long before the lease may end it is given up for lost: the time that the work has to stop. A tenth of the ttl,
// and 2 s at the most, unless told otherwise; less than half of the ttl.
func Margin(margin time.Duration) LockOption {
	return func(o *lockOptions) { o.margin, o.hasMargin = margin, true }
}

// Permits is how many permits to take, all or none: 1 unless told otherwise.
func Permits(permits int) LockOption {
	return func(o *lockOptions) { o.permits = permits }
}

// As is how to hold the lock: [Permit] unless told otherwise, or [Shared], or [Exclusive].
func As(mode Mode) LockOption {
	return func(o *lockOptions) { o.mode = mode }
}

// OnPosition has each new place in the queue told, in the goroutine that waits. Where the function is slow, it is told the
// latest place alone.
func OnPosition(tell func(Place)) LockOption {
	return func(o *lockOptions) { o.onPosition = tell }
}

// PositionInterval is how often at the most a place is told: once in a second unless told otherwise.
func PositionInterval(interval time.Duration) LockOption {
	return func(o *lockOptions) { o.positionInterval = interval }
}

// Owner is who asks, in place of the owner of the client.
func Owner(owner string) LockOption {
	return func(o *lockOptions) { o.owner = owner }
}

// Labels are what else people see who look at the lock, beside those of the client.
func Labels(labels map[string]string) LockOption {
	return func(o *lockOptions) { o.labels = maps.Clone(labels) }
}

// RequestID stands for the claim: who asks again under the same id comes back to the same lease or place. Unless told
// otherwise, each call has an id of its own.
func RequestID(id string) LockOption {
	return func(o *lockOptions) { o.requestID = id }
}

// lockOptionsOf are the options with all defaults, or what cannot work. What the server checks is left to it.
func lockOptionsOf(options []LockOption) (*lockOptions, error) {
	o := &lockOptions{wait: Forever, ttl: ttlDefault, permits: 1, mode: Permit, positionInterval: positionInterval}
	for _, option := range options {
		option(o)
	}
	if o.wait < 0 {
		return nil, mistake("Wait", "must not be below 0")
	}
	if o.permits < 0 || o.permits > math.MaxUint32 {
		return nil, mistake("Permits", fmt.Sprintf("%d cannot be a number of permits", o.permits))
	}
	if o.mode != Permit && o.mode != Shared && o.mode != Exclusive {
		return nil, mistake("As", fmt.Sprintf("there is no mode %q", o.mode))
	}
	switch {
	case o.ttl == Forever:
		o.margin = 0
	case !o.hasMargin:
		o.margin = min(o.ttl/marginShare, marginMax)
	case o.margin < 0 || o.margin >= o.ttl/2:
		return nil, mistake("Margin", fmt.Sprintf("%v must be less than half of the ttl of %v", o.margin, o.ttl))
	}
	return o, nil
}

// request is what is asked for, under this id.
func (o *lockOptions) request(name, id string, whenBusy rowlockv1.WhenBusy) *rowlockv1.AcquireRequest {
	request := &rowlockv1.AcquireRequest{
		Name:      name,
		Mode:      o.mode.proto(),
		Permits:   uint32(o.permits),
		RequestId: id,
		Owner:     o.owner,
		Labels:    o.labels,
		WhenBusy:  whenBusy,
	}
	if o.ttl == Forever {
		request.NoExpiry = true
	} else {
		request.Ttl = durationpb.New(o.ttl)
	}
	return request
}

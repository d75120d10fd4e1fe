package rowlock

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const positionInterval = time.Second

// LockOption is something that is chosen for one lock.
type LockOption interface {
	ofLock(*lockOptions)
}

type lockOption func(*lockOptions)

func (set lockOption) ofLock(o *lockOptions) { set(o) }

type lockOptions struct {
	claimOptions
	permits          int
	mode             Mode
	onPosition       func(Place)
	positionInterval time.Duration
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

// Permits is how many permits to take, all or none: 1 unless told otherwise.
func Permits(permits int) LockOption {
	return lockOption(func(o *lockOptions) { o.permits = permits })
}

// As is how to hold the lock: [Permit] unless told otherwise, or [Shared], or [Exclusive].
func As(mode Mode) LockOption {
	return lockOption(func(o *lockOptions) { o.mode = mode })
}

// OnPosition has each new place in the queue told, in the goroutine that waits. Where the function is slow, it is told the
// latest place alone.
func OnPosition(tell func(Place)) LockOption {
	return lockOption(func(o *lockOptions) { o.onPosition = tell })
}

// PositionInterval is how often at the most a place is told: once in a second unless told otherwise.
func PositionInterval(interval time.Duration) LockOption {
	return lockOption(func(o *lockOptions) { o.positionInterval = interval })
}

// lockOptionsOf are the options with all defaults, or what cannot work. What the server checks is left to it.
func lockOptionsOf(options []LockOption) (*lockOptions, error) {
	o := &lockOptions{permits: 1, mode: Permit, positionInterval: positionInterval}
	o.wait, o.ttl = Forever, ttlDefault
	for _, option := range options {
		option.ofLock(o)
	}
	if o.permits < 0 || o.permits > math.MaxUint32 {
		return nil, mistake("Permits", fmt.Sprintf("%d cannot be a number of permits", o.permits))
	}
	if o.mode != Permit && o.mode != Shared && o.mode != Exclusive {
		return nil, mistake("As", fmt.Sprintf("there is no mode %q", o.mode))
	}
	return o, o.check()
}

// shared is the request id among [requests], where the caller has chosen one.
func (o *lockOptions) shared() string {
	if o.requestID == "" {
		return ""
	}
	return "lock " + o.requestID
}

// request is what is asked for, under this id.
func (o *lockOptions) request(name, id string, whenBusy rowlockv1.WhenBusy) *rowlockv1.AcquireRequest {
	request := &rowlockv1.AcquireRequest{
		Name:         name,
		Mode:         o.mode.proto(),
		Permits:      uint32(o.permits),
		RequestId:    id,
		Owner:        o.owner,
		Labels:       o.labels,
		WhenBusy:     whenBusy,
		MinInterval:  o.terms.minInterval,
		LockDelay:    o.terms.lockDelay,
		StatusIfLost: o.terms.statusIfLost,
		IfStatus:     o.terms.ifStatus,
	}
	if o.ttl == Forever {
		request.NoExpiry = true
	} else {
		request.Ttl = durationpb.New(o.ttl)
	}
	return request
}

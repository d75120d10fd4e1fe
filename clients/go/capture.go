package rowlock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// CaptureOption is something that is chosen for one capture. One of [Prefix] and [Names] has to be.
type CaptureOption interface {
	ofCapture(*captureOptions)
}

type captureOption func(*captureOptions)

func (set captureOption) ofCapture(o *captureOptions) { set(o) }

type captureOptions struct {
	claimOptions
	prefix *string
	names  []string
	count  int
}

// Captured is what was taken of many locks.
type Captured struct {
	// Locks are those that were taken, the one that is due for the longest time first. Each is renewed until it is released or
	// lost, like any other.
	Locks []*Lock
	// RetryAfter is when another try may be worth while, where there are none: a hint; 0 where there is none.
	RetryAfter time.Duration
}

// Prefix captures locks whose names begin so, and that remember something; the empty one: all of them.
func Prefix(prefix string) CaptureOption {
	return captureOption(func(o *captureOptions) { o.prefix = &prefix })
}

// Names captures some of these locks, 1,000 at the most; also of those that nobody has named before.
func Names(names ...string) CaptureOption {
	names = slices.Clone(names)
	return captureOption(func(o *captureOptions) { o.names = names })
}

// Count is how many locks to capture at the most, 1 to 100: 1 unless told otherwise.
func Count(atMost int) CaptureOption {
	return captureOption(func(o *captureOptions) { o.count = atMost })
}

// Capture takes some of many locks: of those that are free and due, have attempts left and one of the statuses of [IfStatus],
// the ones that are due for the longest time. Two captures never get the same lock. That there is none is an answer, too; with
// [Wait] it comes when there was none for so long. When the context is done, the capture is given up, and what it was granted by
// then is given back.
func (c *Client) Capture(ctx context.Context, options ...CaptureOption) (Captured, error) {
	asked, err := captureOptionsOf(options)
	if err != nil {
		return Captured{}, err
	}
	capturing := newCapturing(c, asked)
	if err := c.begin(ctx, capturing); err != nil {
		return Captured{}, err
	}
	defer c.turns.take(func() { delete(c.asking, capturing) })
	return capturing.run(ctx)
}

// captureOptionsOf are the options with all defaults, or what cannot work. What the server checks is left to it.
func captureOptionsOf(options []CaptureOption) (*captureOptions, error) {
	o := &captureOptions{count: 1}
	o.ttl = ttlDefault
	for _, option := range options {
		option.ofCapture(o)
	}
	if o.count < 0 || o.count > math.MaxUint32 {
		return nil, mistake("Count", fmt.Sprintf("%d cannot be a number of locks", o.count))
	}
	if o.ttl == Forever {
		return nil, mistake("TTL", "a lease that was captured has an end")
	}
	return o, o.check()
}

// shared is the request id among [requests], where the caller has chosen one.
func (o *captureOptions) shared() string {
	if o.requestID == "" {
		return ""
	}
	return "capture " + o.requestID
}

// request is what is asked for, under this id. A wait of 0 is none.
func (o *captureOptions) request(id string, wait time.Duration) *rowlockv1.CaptureRequest {
	request := &rowlockv1.CaptureRequest{
		Prefix:       o.prefix,
		Names:        o.names,
		MaxLeases:    uint32(o.count),
		IfStatus:     o.terms.ifStatus,
		Ttl:          durationpb.New(o.ttl),
		RequestId:    id,
		Owner:        o.owner,
		Labels:       o.labels,
		MinInterval:  o.terms.minInterval,
		LockDelay:    o.terms.lockDelay,
		StatusIfLost: o.terms.statusIfLost,
	}
	if wait != 0 {
		request.MaxWait = durationpb.New(wait)
	}
	return request
}

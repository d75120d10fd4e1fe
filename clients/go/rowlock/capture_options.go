// The public side of captures: the options and the result. See capture.go for how the client asks.

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

// CaptureOption is an option of [Client.Capture]. Exactly one of [Prefix] and [Names] is required.
type CaptureOption interface {
	ofCapture(*captureOptions)
}

type captureOption func(*captureOptions)

func (set captureOption) ofCapture(o *captureOptions) { set(o) }

type captureOptions struct {
	leaseOptions
	prefix *string
	names  *rowlockv1.LockNames
	count  int
}

// Captured is the result of [Client.Capture].
type Captured struct {
	// Locks are the captured locks, the one that is due for the longest time first. The client renews each until it is
	// released or lost, like any other lock.
	Locks []*Lock
	// RetryAfter is a hint when to try again if Locks is empty; 0: no hint.
	RetryAfter time.Duration
}

// Prefix captures locks whose names begin with prefix (at most 255 bytes) and that have a record. The empty prefix
// matches all of them.
func Prefix(prefix string) CaptureOption {
	return captureOption(func(o *captureOptions) { o.prefix = &prefix })
}

// Names captures some of these locks, at most 1,000 names. A lock that nobody has named before can be captured, too.
func Names(names ...string) CaptureOption {
	names = slices.Clone(names)
	return captureOption(func(o *captureOptions) { o.names = &rowlockv1.LockNames{Names: names} })
}

// Count is how many locks to capture at most, 1 to 100. Default: 1.
func Count(atMost int) CaptureOption {
	return captureOption(func(o *captureOptions) { o.count = atMost })
}

// Capture takes up to [Count] of many locks. Candidates are the locks that are free and due, have attempts left, and
// have one of the statuses of [IfStatus]; those that are due for the longest time come first. Two captures never get
// the same lock.
//
// If there is no candidate, the result is empty, which is no error. With [Wait], Capture first waits for a candidate
// for that long. When ctx is done, Capture fails with [ErrCancelled], and the client gives back what the server has
// granted by then. Calling Capture again after an error is safe.
func (c *Client) Capture(ctx context.Context, options ...CaptureOption) (Captured, error) {
	asked, err := captureOptionsOf(options)
	if err != nil {
		return Captured{}, err
	}
	return c.captureWith(ctx, asked)
}

func (c *Client) captureWith(ctx context.Context, asked *captureOptions) (captured Captured, err error) {
	if wrong := wrongText(asked.request(asked.requestID, 0)); wrong != nil {
		return Captured{}, wrong
	}
	ctx, span := c.observer.startCapture(ctx)
	defer func() { endCapture(span, len(captured.Locks), err) }()
	capture := newCapture(c, asked, c.observer.telemetry.Traceparent(ctx))
	if err := c.begin(ctx, capture); err != nil {
		return Captured{}, err
	}
	defer c.turns.take(func() { delete(c.asking, capture) })
	return capture.run(ctx)
}

// captureOptionsOf applies the options to the defaults. It fails for options that cannot work, and leaves all other
// checks to the server.
func captureOptionsOf(options []CaptureOption) (*captureOptions, error) {
	o := &captureOptions{count: 1}
	o.ttl = ttlDefault
	for _, option := range options {
		option.ofCapture(o)
	}
	wrong := o.check()
	if o.count < 0 || o.count > math.MaxUint32 {
		wrong.add("Count", fmt.Sprintf("%d is not between 0 and 4294967295", o.count))
	}
	if o.prefix != nil && o.names != nil {
		// The request has room for one of them, and would lose the other.
		wrong.add("Prefix and Names", "set one of them")
	}
	if o.ttl == Forever {
		wrong.add("TTL", "must not be Forever for a capture")
	}
	return o, wrong.err()
}

// shared is the key in [requests], if the caller has chosen a request id; otherwise "".
func (o *captureOptions) shared() string {
	if o.requestID == "" {
		return ""
	}
	return "capture " + o.requestID
}

// request is the request under this id. A wait of 0 means not to wait.
func (o *captureOptions) request(id string, wait time.Duration) *rowlockv1.CaptureRequest {
	request := &rowlockv1.CaptureRequest{
		MaxLeases: uint32(o.count),
		Terms:     o.leaseTerms(),
		RequestId: id,
	}
	switch {
	case o.names != nil:
		request.From = &rowlockv1.CaptureRequest_Names{Names: o.names}
	case o.prefix != nil:
		request.From = &rowlockv1.CaptureRequest_Prefix{Prefix: *o.prefix}
	}
	if wait != 0 {
		request.MaxWait = durationpb.New(wait)
	}
	return request
}

package rowlock

import (
	"fmt"
	"maps"
	"time"
)

const (
	ttlDefault = 30 * time.Second
	// marginShare and marginMax: a tenth of the ttl, 2 s at the most.
	marginShare = 10
	marginMax   = 2 * time.Second
)

// ClaimOption is something that is chosen for one lock, or for all that one capture takes: it is a [LockOption] and a
// [CaptureOption].
type ClaimOption func(*claimOptions)

func (set ClaimOption) ofLock(o *lockOptions) { set(&o.claimOptions) }

func (set ClaimOption) ofCapture(o *captureOptions) { set(&o.claimOptions) }

// claimOptions are what locks and captures have in common.
type claimOptions struct {
	wait      time.Duration
	ttl       time.Duration
	margin    time.Duration
	hasMargin bool
	owner     string
	labels    map[string]string
	requestID string
	terms     terms
}

// Wait is how long to wait at the most; 0: not at all. Unless told otherwise, for a lock as long as it takes, and for a capture
// not at all.
func Wait(atMost time.Duration) ClaimOption {
	return func(o *claimOptions) { o.wait = atMost }
}

// TTL is the time to live of the lease, which is renewed at every third of it: 30 s unless told otherwise. A lease with
// [Forever] lasts until it is released; there is none of a capture.
func TTL(ttl time.Duration) ClaimOption {
	return func(o *claimOptions) { o.ttl = ttl }
}

// Margin is how long before the lease may end it is given up for lost: the time that the work has to stop. A tenth of the ttl,
// and 2 s at the most, unless told otherwise; less than half of the ttl.
func Margin(margin time.Duration) ClaimOption {
	return func(o *claimOptions) { o.margin, o.hasMargin = margin, true }
}

// Owner is who asks, in place of the owner of the client.
func Owner(owner string) ClaimOption {
	return func(o *claimOptions) { o.owner = owner }
}

// Labels are what else people see who look at the lock, beside those of the client.
func Labels(labels map[string]string) ClaimOption {
	labels = maps.Clone(labels)
	return func(o *claimOptions) { o.labels = labels }
}

// RequestID stands for the claim: who asks again under the same id comes back to the same lease or place, or to what was
// captured. Unless told otherwise, each call has an id of its own.
func RequestID(id string) ClaimOption {
	return func(o *claimOptions) { o.requestID = id }
}

// check adds the margin where none was chosen, and finds what cannot work. What the server checks is left to it.
func (o *claimOptions) check() error {
	if o.wait < 0 {
		return mistake("Wait", "must not be below 0")
	}
	switch {
	case o.ttl == Forever:
		o.margin = 0
	case !o.hasMargin:
		o.margin = min(o.ttl/marginShare, marginMax)
	case o.margin < 0 || o.margin >= o.ttl/2:
		return mistake("Margin", fmt.Sprintf("%v must be less than half of the ttl of %v", o.margin, o.ttl))
	}
	return nil
}

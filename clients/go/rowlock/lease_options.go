// The options that locks and captures have in common, with their defaults and checks.

package rowlock

import (
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	ttlDefault = 30 * time.Second
	// The default margin is a tenth of the ttl, at most 2 s.
	marginShare = 10
	marginMax   = 2 * time.Second
)

// LeaseOption is an option of a lock, or of all locks of one capture: it is a [LockOption], a [CaptureOption]
// and a [WorkOption].
type LeaseOption func(*leaseOptions)

func (set LeaseOption) ofLock(o *lockOptions) { set(&o.leaseOptions) }

func (set LeaseOption) ofCapture(o *captureOptions) { set(&o.leaseOptions) }

func (set LeaseOption) ofWork(o *workOptions) { set(&o.leaseOptions) }

// leaseOptions are the options that locks and captures have in common.
type leaseOptions struct {
	wait      time.Duration
	ttl       time.Duration
	hasTTL    bool
	margin    time.Duration
	hasMargin bool
	owner     string
	labels    map[string]string
	requestID string
	terms     terms
}

// Wait is how long to wait at most; 0: do not wait. Default: [Forever] for a lock, 0 for a capture. A negative wait is
// an [OptionError].
func Wait(atMost time.Duration) LeaseOption {
	return func(o *leaseOptions) { o.wait = atMost }
}

// TTL is the time to live of the lease, 1 s to 24 days, which the client renews at every third of it. Default: 30 s. A
// lease with [Forever] lasts until it is released or force-released; a capture does not accept it.
func TTL(ttl time.Duration) LeaseOption {
	return func(o *leaseOptions) { o.ttl, o.hasTTL = ttl, true }
}

// Margin is how long before the end of the lease the client gives the lock up for lost: the time that the work has to
// stop. It must be at least 0 and less than half of the ttl, or the call fails with an [OptionError]. Default: a tenth
// of the ttl, at most 2 s. A lease without end has no margin.
func Margin(margin time.Duration) LeaseOption {
	return func(o *leaseOptions) { o.margin, o.hasMargin = margin, true }
}

// Owner names who asks, at most 255 bytes, instead of [Config.Owner].
func Owner(owner string) LeaseOption {
	return func(o *leaseOptions) { o.owner = owner }
}

// Labels are further information for people who look at the lock, at most 16 with those of [Config.Labels], whose
// values they replace. A key has 1 to 63 bytes, a value at most 255.
func Labels(labels map[string]string) LeaseOption {
	labels = maps.Clone(labels)
	return func(o *leaseOptions) { o.labels = labels }
}

// RequestID stands for the claim: a call that asks again under the same id gets the same lease or place, or what that
// id captured. It has at most 100 bytes. Default: a UUID for each call.
func RequestID(id string) LeaseOption {
	return func(o *leaseOptions) { o.requestID = id }
}

// leaseTerms is what the caller asks of the lease, as a new message.
func (o *leaseOptions) leaseTerms() *rowlockv1.LeaseTerms {
	asked := &rowlockv1.LeaseTerms{
		Lasting:      &rowlockv1.LeaseTerms_NoExpiry{NoExpiry: &emptypb.Empty{}},
		Owner:        o.owner,
		Labels:       o.labels,
		MinInterval:  o.terms.minInterval,
		LockDelay:    o.terms.lockDelay,
		StatusIfLost: o.terms.statusIfLost,
		IfStatus:     o.terms.ifStatus,
		Backoff:      o.terms.backoff,
	}
	if o.ttl != Forever {
		asked.Lasting = &rowlockv1.LeaseTerms_Ttl{Ttl: durationpb.New(o.ttl)}
	}
	return asked
}

// check sets the default margin, and finds options that cannot work. It leaves all other checks to the server.
func (o *leaseOptions) check() (wrong faults) {
	if o.wait < 0 {
		wrong.add("Wait", "must not be below 0")
	}
	switch {
	case o.ttl == Forever:
		o.margin = 0
	case !o.hasMargin:
		o.margin = min(o.ttl/marginShare, marginMax)
	case o.margin < 0 || o.margin >= o.ttl/2:
		wrong.add("Margin", fmt.Sprintf("%v must be less than half of the ttl of %v", o.margin, o.ttl))
	}
	return wrong
}

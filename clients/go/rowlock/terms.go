package rowlock

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// terms are the options of a lease that concern the lock's record.
type terms struct {
	minInterval, lockDelay *durationpb.Duration
	statusIfLost           *string
	ifStatus               []string
	backoff                *rowlockv1.Backoff
}

// tellsLossApart reports whether the lock's record must show a loss differently from a release.
func (t *terms) tellsLossApart() bool {
	return t.minInterval != nil || t.lockDelay != nil || t.statusIfLost != nil || t.backoff != nil
}

// areSet reports whether the end of a confirmed lease leaves a mark in the lock's record.
func (t *terms) areSet() bool {
	return t.tellsLossApart() || len(t.ifStatus) > 0
}

// MinInterval forbids grants until this long after the grant, 0 to 10 years, once the lease is released: at most one
// run in that time. A lost lease does not set it, so that another holder may take over at once.
func MinInterval(interval time.Duration) LeaseOption {
	return func(o *leaseOptions) { o.terms.minInterval = durationpb.New(interval) }
}

// LockDelay forbids grants for this long after the lease is lost, 0 to 10 years, for the sake of work that is still
// under way.
func LockDelay(delay time.Duration) LeaseOption {
	return func(o *leaseOptions) { o.terms.lockDelay = durationpb.New(delay) }
}

// Backoff forbids grants for a time after a run that has [Failed] or was lost, so that what fails is not tried again at
// once, whoever tries it: for first after the first failure, 1 µs to 10 years. Each further failure in a row doubles the
// time, up to atMost. With an atMost of 0 the time is the same after each. It comes instead of [MinInterval], and
// [CoolDown] replaces it; of [LockDelay] and it, the later time counts.
func Backoff(first, atMost time.Duration) LeaseOption {
	asked := &rowlockv1.Backoff{First: durationpb.New(first)}
	if atMost != 0 {
		asked.Max = durationpb.New(atMost)
	}
	return func(o *leaseOptions) { o.terms.backoff = asked }
}

// StatusIfLost is the lock's status after the lease is lost, at most 63 bytes. Default: the status stays as it is.
func StatusIfLost(status string) LeaseOption {
	return func(o *leaseOptions) { o.terms.statusIfLost = &status }
}

// IfStatus grants the lock only if it has one of these statuses at the moment of the grant; at most 16, of at most 63
// bytes each. The empty status also matches a lock without a record. Otherwise the lock is refused as
// [ErrStatusMismatch], or not captured.
func IfStatus(statuses ...string) LeaseOption {
	statuses = slices.Clone(statuses)
	return func(o *leaseOptions) { o.terms.ifStatus = statuses }
}

package rowlock

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
)

// terms are what a lease asks of what the lock remembers.
type terms struct {
	minInterval, lockDelay *durationpb.Duration
	statusIfLost           *string
	ifStatus               []string
}

// tellsLossApart says whether the lock shall remember a lease that is lost otherwise than one that is released.
func (t *terms) tellsLossApart() bool {
	return t.minInterval != nil || t.lockDelay != nil || t.statusIfLost != nil
}

// areSet says whether the end of a lease leaves a mark in the lock's record, if the lease was confirmed before.
func (t *terms) areSet() bool {
	return t.tellsLossApart() || t.ifStatus != nil
}

// MinInterval has nothing granted until so long after the grant, once the lease is released: one run in that time at the most. A
// lease that is lost does not set it, so that another may take over at once.
func MinInterval(interval time.Duration) ClaimOption {
	return func(o *claimOptions) { o.terms.minInterval = durationpb.New(interval) }
}

// LockDelay has nothing granted for so long once the lease is lost, for the sake of work that is still under way.
func LockDelay(delay time.Duration) ClaimOption {
	return func(o *claimOptions) { o.terms.lockDelay = durationpb.New(delay) }
}

// StatusIfLost is the status that the lock has once the lease is lost. Unless told otherwise, it stays as it is.
func StatusIfLost(status string) ClaimOption {
	return func(o *claimOptions) { o.terms.statusIfLost = &status }
}

// IfStatus has the lock granted only where it has one of these statuses, at the grant itself; the empty one is that of a lock
// without a record, too. Otherwise the lock is refused as [ErrStatusMismatch], and not captured.
func IfStatus(statuses ...string) ClaimOption {
	statuses = slices.Clone(statuses)
	return func(o *claimOptions) { o.terms.ifStatus = statuses }
}

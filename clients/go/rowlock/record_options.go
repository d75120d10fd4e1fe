// What users can set in a lock's record when they release or update it.

package rowlock

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// RecordOption sets what a lock remembers: it is a [ReleaseOption] and an [UpdateOption].
type RecordOption func(*recordChanges)

func (set RecordOption) ofRelease(o *releaseOptions) { set(&o.recordChanges) }

func (set RecordOption) ofUpdate(o *updateOptions) { set(&o.recordChanges) }

type recordChanges struct {
	status       *string
	attemptsLeft *int
}

// Status sets the lock's status, at most 63 bytes. Default: the status stays as it is.
func Status(status string) RecordOption {
	return func(o *recordChanges) { o.status = &status }
}

// AttemptsLeft sets how many more times the lock may be granted, 0 to 1,000,000. [Unlimited] removes the bound; only
// [Client.UpdateRecord] accepts it.
func AttemptsLeft(attempts int) RecordOption {
	return func(o *recordChanges) { o.attemptsLeft = &attempts }
}

// attempts is the number to set; nil if none is set or if attempts become unlimited. It fails for a number that cannot
// work.
func (o *recordChanges) attempts() (left *uint32, areUnlimited bool, wrong faults) {
	switch {
	case o.attemptsLeft == nil:
		return nil, false, nil
	case *o.attemptsLeft == Unlimited:
		return nil, true, nil
	case *o.attemptsLeft < 0 || *o.attemptsLeft > math.MaxUint32:
		wrong.add("AttemptsLeft", fmt.Sprintf("%d is not between 0 and 4294967295", *o.attemptsLeft))
		return nil, false, wrong
	default:
		number := uint32(*o.attemptsLeft)
		return &number, false, nil
	}
}

// ReleaseOption sets what the lock remembers when a lease is released.
type ReleaseOption interface {
	ofRelease(*releaseOptions)
}

type releaseOption func(*releaseOptions)

func (set releaseOption) ofRelease(o *releaseOptions) { set(o) }

type releaseOptions struct {
	recordChanges
	coolDown *durationpb.Duration
	failed   bool
}

// CoolDown forbids grants for this long from the release on, 0 to 10 years, instead of the lease's [MinInterval] or
// [Backoff]. 0: the lock may be granted at once.
func CoolDown(pause time.Duration) ReleaseOption {
	return releaseOption(func(o *releaseOptions) { o.coolDown = durationpb.New(pause) })
}

// Failed says that the work has failed: the lease ends as [ErrFailed], and the lease's [Backoff] applies. Alone it makes no
// record; a record counts the failures, and keeps the last run that was a success.
func Failed() ReleaseOption {
	return releaseOption(func(o *releaseOptions) { o.failed = true })
}

// releaseRequestOf builds the request. It fails for options that cannot work.
func releaseRequestOf(leaseID string, options []ReleaseOption) (*rowlockv1.ReleaseRequest, error) {
	o := &releaseOptions{}
	for _, option := range options {
		option.ofRelease(o)
	}
	attempts, areUnlimited, wrong := o.attempts()
	if areUnlimited {
		wrong.add("AttemptsLeft", "a release can only set a number; use UpdateRecord to remove the bound")
	}
	return &rowlockv1.ReleaseRequest{
		LeaseId: leaseID, CoolDown: o.coolDown, Status: o.status, AttemptsLeft: attempts, Failed: o.failed,
	}, wrong.err()
}

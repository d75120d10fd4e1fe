package rowlock

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// RecordOption is what a lock remembers from now on: it is a [ReleaseOption] and an [UpdateOption].
type RecordOption func(*recordChanges)

func (set RecordOption) ofRelease(o *releaseOptions) { set(&o.recordChanges) }

func (set RecordOption) ofUpdate(o *updateOptions) { set(&o.recordChanges) }

type recordChanges struct {
	status       *string
	attemptsLeft *int
}

// Status is the lock's status from now on. Unless told otherwise, it stays as it is.
func Status(status string) RecordOption {
	return func(o *recordChanges) { o.status = &status }
}

// AttemptsLeft is how many more times the lock may be granted; [Unlimited], in [Client.UpdateLock] alone: any number of times.
func AttemptsLeft(attempts int) RecordOption {
	return func(o *recordChanges) { o.attemptsLeft = &attempts }
}

// attempts are nil where nothing is said of them, or they have no end; or it is what cannot work.
func (o *recordChanges) attempts() (left *uint32, areUnlimited bool, err error) {
	switch {
	case o.attemptsLeft == nil:
		return nil, false, nil
	case *o.attemptsLeft == Unlimited:
		return nil, true, nil
	case *o.attemptsLeft < 0 || *o.attemptsLeft > math.MaxUint32:
		return nil, false, mistake("AttemptsLeft", fmt.Sprintf("%d cannot be a number of attempts", *o.attemptsLeft))
	default:
		return new(uint32(*o.attemptsLeft)), false, nil
	}
}

// ReleaseOption is something that the lock remembers when a lease is given back.
type ReleaseOption interface {
	ofRelease(*releaseOptions)
}

type releaseOption func(*releaseOptions)

func (set releaseOption) ofRelease(o *releaseOptions) { set(o) }

type releaseOptions struct {
	recordChanges
	coolDown *durationpb.Duration
}

// CoolDown has nothing granted for so long from now on, instead of until the [MinInterval] is over; 0: it may be granted at once.
func CoolDown(pause time.Duration) ReleaseOption {
	return releaseOption(func(o *releaseOptions) { o.coolDown = durationpb.New(pause) })
}

// releaseRequestOf is what to ask for, or what cannot work.
func releaseRequestOf(leaseID string, options []ReleaseOption) (*rowlockv1.ReleaseRequest, error) {
	o := &releaseOptions{}
	for _, option := range options {
		option.ofRelease(o)
	}
	attempts, areUnlimited, err := o.attempts()
	if areUnlimited {
		err = mistake("AttemptsLeft", "a release can only set a number; UpdateLock sets that there is no end to them")
	}
	return &rowlockv1.ReleaseRequest{
		LeaseId: leaseID, CoolDown: o.coolDown, Status: o.status, AttemptsLeft: attempts,
	}, err
}

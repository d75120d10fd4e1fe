package rowlock

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Lock is a lock that is held. The client renews it until it is released or lost. All methods can be called from any
// goroutine.
type Lock struct {
	client *Client
	lease  *heldLease
	asked  *leaseOptions
	// shared is the key in [requests]; "" if the request id is the client's own.
	shared string
	// grants counts the calls that were granted the lock under one request id and have not given it up.
	grants int
	// coolDownIfRefused rests the lock if the server refuses what its release says; nil: it does not.
	coolDownIfRefused *durationpb.Duration
	// released is the state of the release; nil until that is asked for.
	released *release
}

// Name returns the name of the lock.
func (l *Lock) Name() string {
	return l.lease.lockName
}

// Token returns the fencing token, which rises strictly with each grant of the lock. Send it with every write to what
// the lock protects. If one holder writes at a time, refuse tokens there that are lower than the highest one seen. Several
// holders need one fence for each thing written, or a check of the lease: "Fence what you write" in docs/clients.md.
func (l *Lock) Token() uint64 {
	return l.lease.token
}

// LeaseID returns the lease id. It is secret: anyone who knows it can renew and release the lease.
func (l *Lock) LeaseID() string {
	return l.lease.id
}

// Mode returns how the lock is held.
func (l *Lock) Mode() Mode {
	return l.lease.mode
}

// Permits returns how many permits are held.
func (l *Lock) Permits() int {
	return int(l.lease.permits)
}

// State returns how far the lock can be relied on. It checks the clock.
func (l *Lock) State() (state LockState) {
	l.client.turns.take(func() {
		state = l.lease.state()
		if state == Lost && l.lease.err.Reason == ErrReleased {
			state = Released
		}
	})
	return state
}

// Remaining returns how long the lock can be relied on if no further answer comes; [Forever] for a lease without end.
// It checks the clock.
func (l *Lock) Remaining() (remaining time.Duration) {
	l.client.turns.take(func() {
		l.lease.look()
		remaining = l.lease.remaining()
	})
	return remaining
}

// Done returns a channel that is closed when the lock is released, or is or may be lost: before others can have it.
// Done checks the clock.
func (l *Lock) Done() <-chan struct{} {
	l.client.turns.take(l.lease.look)
	return l.lease.over
}

// Err is nil while the lock is held. Afterwards it is an error with the reason [ErrLeaseLost] or [ErrReleased]. It
// checks the clock.
func (l *Lock) Err() (err error) {
	l.client.turns.take(func() {
		l.lease.look()
		if l.lease.err != nil {
			err = l.lease.err
		}
	})
	return err
}

// Context returns a context that is cancelled when the lock is lost or released, with [Lock.Err] as its cause. The
// context's Done and Err check the clock. Call the returned function when the context is no longer needed.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return newLockContext(parent, l.lease)
}

// Release gives the lock back; the next waiter is granted it at once. It reports whether the lock was held until then.
// The options set the lock's record; if the server refuses one of them, the lock is given back without it, and Release
// fails and says so. A repeated call returns the result of the first one and ignores its options. When ctx is done,
// Release stops waiting for the answer, but the release goes on. If no server answers until the lease can no longer be
// relied on, Release fails, and the lease ends with its ttl; a lease without end is released as soon as a server answers.
func (l *Lock) Release(ctx context.Context, options ...ReleaseOption) (bool, error) {
	request, err := releaseRequestOf(l.lease.id, options)
	if err != nil {
		return false, err
	}
	begun := l.begin(ctx, request)
	select {
	case <-begun.done:
	case <-ctx.Done():
		select {
		case <-begun.done:
		default:
			return false, cancelledError(ctx)
		}
	}
	if begun.err != nil {
		return false, begun.err
	}
	return begun.wasHeld, nil
}

// Close releases the lock, for use with defer. It returns no error if no server answers, because the lease then ends
// with its ttl; a lease without end is released as soon as a server answers.
func (l *Lock) Close() error {
	_, err := l.Release(context.Background())
	var failed *Error
	if errors.As(err, &failed) && failed.Code == codes.Unavailable {
		return nil
	}
	return err
}

// HandOver renews the lease once more, to this ttl if it is not 0, and then leaves it to anyone who has its lease id.
// After that, the lock counts as released here. If HandOver fails, the client still holds and renews the lock.
func (l *Lock) HandOver(ctx context.Context, ttl time.Duration) error {
	if _, err := l.client.ask(ctx, renewQuestion(l.lease.id, ttl)); err != nil {
		return err
	}
	l.client.turns.take(func() {
		if l.released == nil {
			l.released = &release{done: make(chan struct{})}
			close(l.released.done)
		}
		l.client.locks.forget(l.lease)
	})
	return nil
}

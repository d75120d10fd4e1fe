package rowlock

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Lock is a lock that is held. It is renewed until it is released or lost. All methods can be called from any goroutine.
type Lock struct {
	client *Client
	lease  *heldLease
	asked  *claimOptions
	// shared is its request id among [requests].
	shared string
	// grants is how many calls were granted it, under one request id, and have not given it up.
	grants int
	// released is what became of its release, once that was asked for.
	released *release
}

// release is one that has begun.
type release struct {
	done    chan struct{}
	wasHeld bool
	err     *Error
}

// Name is the name of the lock.
func (l *Lock) Name() string {
	return l.lease.lockName
}

// Token is the fencing token, strictly rising for each lock. Send it with every write to what the lock protects, and refuse
// tokens there that are lower than the highest that was seen.
func (l *Lock) Token() uint64 {
	return l.lease.token
}

// LeaseID is secret: whoever knows it can renew and release the lease.
func (l *Lock) LeaseID() string {
	return l.lease.id
}

// Mode is how it is held.
func (l *Lock) Mode() Mode {
	return l.lease.mode
}

// Permits is how many permits are held.
func (l *Lock) Permits() int {
	return int(l.lease.permits)
}

// State is what it can be counted on for. It looks at the clock.
func (l *Lock) State() (state State) {
	l.client.turns.take(func() { state = l.lease.state() })
	return state
}

// Remaining is how long it can be counted on if nothing is heard of a server any more; [Forever] for a lease without end.
func (l *Lock) Remaining() (remaining time.Duration) {
	l.client.turns.take(func() {
		l.lease.look()
		remaining = l.lease.remaining()
	})
	return remaining
}

// Done is closed when the lock is or may be lost, before others can have it, and when it is released. It looks at the clock.
func (l *Lock) Done() <-chan struct{} {
	l.client.turns.take(l.lease.look)
	return l.lease.over
}

// Err is nil as long as it is held; otherwise an error for [ErrLeaseLost] or [ErrReleased]. It looks at the clock.
func (l *Lock) Err() (err error) {
	l.client.turns.take(func() {
		l.lease.look()
		if l.lease.err != nil {
			err = l.lease.err
		}
	})
	return err
}

// Context is one that is cancelled when the lock is lost or released, with [Lock.Err] as its cause. It looks at the clock
// whenever it is looked at. Call the function when it is not needed any more.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return newLockContext(parent, l.lease)
}

// Release gives it back: the next in the queue has it at once. It answers whether it was held until then, also when it is
// called again. The options say what the lock remembers; what is said when it is called again, nobody hears. The context bounds the waiting for the answer alone: the release goes on. Where no server answers, the lease
// ends by itself.
func (l *Lock) Release(ctx context.Context, options ...ReleaseOption) (bool, error) {
	request, err := releaseRequestOf(l.lease.id, options)
	if err != nil {
		return false, err
	}
	var begun *release
	l.client.turns.take(func() { begun = l.release(request) })
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

// Close releases it, for a defer. Where no server answers the lease ends by itself, so that is no error here; one without end is
// released as soon as a server answers.
func (l *Lock) Close() error {
	_, err := l.Release(context.Background())
	if failed, ok := errors.AsType[*Error](err); ok && failed.Code == codes.Unavailable {
		return nil
	}
	return err
}

// HandOver renews it once more, to this ttl where that is not 0, and leaves it at that: from now on it belongs to whoever has its
// lease id, and counts as released here.
func (l *Lock) HandOver(ctx context.Context, ttl time.Duration) error {
	if _, err := l.client.ask(ctx, renewDemand(l.lease.id, ttl)); err != nil {
		return err
	}
	l.client.turns.take(func() {
		if l.released == nil {
			l.released = &release{done: make(chan struct{})}
			close(l.released.done)
		}
		l.client.forget(l.lease)
	})
	return nil
}

// release begins it, in a turn.
func (l *Lock) release(request *rowlockv1.ReleaseRequest) *release {
	if l.released != nil {
		return l.released
	}
	begun := &release{done: make(chan struct{})}
	l.released = begun
	isHeld := l.lease.state() != Lost
	end := releaseDemand(request)
	// By then it has ended by itself.
	end.within = later(l.lease.remaining(), l.lease.margin)
	l.client.forget(l.lease)
	if !isHeld {
		// It was lost by this client's own count, perhaps, and the server keeps it still. Where the lock shall remember that it
		// was lost, it has to end by itself.
		if !l.asked.terms.tellsLossApart() {
			l.client.giveBack(l.lease.id, l.asked)
		}
		close(begun.done)
		return begun
	}
	l.client.requests.released(l.shared, l.lease.id)
	isEndless := l.lease.ttl == Forever
	l.client.verbs.begin(end, func(result *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		begun.wasHeld, begun.err = result.GetRelease().GetReleased(), err
		close(begun.done)
		if err != nil && err.leavesDoubt() && isEndless {
			// It does not end by itself.
			l.client.verbs.goOn(end, err)
		}
	})
	return begun
}

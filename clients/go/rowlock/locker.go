package rowlock

import (
	"context"
	"errors"
	"sync"
	"time"
)

var _ sync.Locker = (*Locker)(nil)

// Locker is a lock as a [sync.Locker], for code that knows nothing of Rowlock. Prefer [Client.WithLock] elsewhere: it has
// a context that ends, and errors. A Locker lets one goroutine of the program hold or wait at a time, and is not
// reentrant.
type Locker struct {
	client  *Client
	name    string
	lost    func(error)
	options []LockOption
	// inside is held by the goroutine that holds or asks for the lock, and guards held.
	inside sync.Mutex
	held   *Lock
	// stop ends the report of a loss.
	stop func() bool
}

// Locker makes a [Locker]. A sync.Locker has no way to report that its lock was lost, after which others may hold it. So
// lost is called then, once, in a goroutine of its own, [Margin] before others can have the lock, or at the latest by
// Unlock. It should stop the work, or the program. If lost is nil, Unlock panics with the error for [ErrLeaseLost].
func (c *Client) Locker(name string, lost func(error), options ...LockOption) *Locker {
	return &Locker{client: c, name: name, lost: lost, options: options}
}

// Lock blocks until the lock is held, also while no server answers. It panics with an error that no waiting heals: an
// option that cannot work, a refusal such as [ErrTimedOut], a missing right, or a closed client.
func (l *Locker) Lock() {
	l.inside.Lock()
	for failures := 1; ; failures++ {
		lock, err := l.client.Lock(context.Background(), l.name, l.options...)
		if err == nil {
			l.holds(lock)
			return
		}
		var failed *Error
		if !errors.As(err, &failed) || !failed.isTransient() || failed.isHopeless() || failed.isOfCredentials() {
			l.inside.Unlock()
			panic(err)
		}
		time.Sleep(backoff(failures, failed.RetryAfter))
	}
}

// TryLock reports whether it holds the lock now, without waiting for others. It panics as Lock does, and also if no server
// answers.
func (l *Locker) TryLock() bool {
	if !l.inside.TryLock() {
		return false
	}
	lock, isHeld, err := l.client.TryLock(context.Background(), l.name, l.options...)
	if isHeld {
		l.holds(lock)
		return true
	}
	l.inside.Unlock()
	if err != nil {
		panic(err)
	}
	return false
}

func (l *Locker) holds(lock *Lock) {
	l.held = lock
	if l.lost == nil {
		l.stop = func() bool { return true }
		return
	}
	ctx, cancel := lock.Context(context.Background())
	stop := context.AfterFunc(ctx, func() {
		if err := lock.Err(); errors.Is(err, ErrLeaseLost) {
			l.lost(err)
		}
	})
	l.stop = func() bool {
		isFirst := stop()
		cancel()
		return isFirst
	}
}

// Held is the lock that the calling goroutine holds between Lock and Unlock, for its fencing token.
func (l *Locker) Held() *Lock {
	return l.held
}

// Unlock releases the lock. It waits until a server has confirmed that, or until the end of the lease. It ends the program,
// as [sync.Mutex] does, if the lock is not held.
func (l *Locker) Unlock() {
	lock, isUnreported := l.held, false
	if lock != nil {
		isUnreported = l.stop()
	}
	l.held = nil
	var err error
	if lock != nil {
		err = lock.leave(context.Background())
	}
	l.inside.Unlock()
	switch {
	case err == nil || !isUnreported:
	case l.lost != nil && errors.Is(err, ErrLeaseLost):
		l.lost(err)
	default:
		panic(err)
	}
}

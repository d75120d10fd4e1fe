package rowlock

import "context"

// lockContext is a context that is cancelled when its lease is over. Done and Err check the clock themselves, because
// the timers of a process that was frozen may be late.
type lockContext struct {
	context.Context
	lease  *heldLease
	cancel context.CancelCauseFunc
}

func newLockContext(parent context.Context, lease *heldLease) (context.Context, context.CancelFunc) {
	ctx := &lockContext{lease: lease}
	ctx.Context, ctx.cancel = context.WithCancelCause(parent)
	lease.turns.take(func() {
		if !lease.isLost() {
			lease.contexts[ctx] = struct{}{}
		}
	})
	ctx.look()
	return ctx, func() {
		lease.turns.take(func() { delete(lease.contexts, ctx) })
		ctx.cancel(nil)
	}
}

func (c *lockContext) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

func (c *lockContext) Err() error {
	c.look()
	return c.Context.Err()
}

// carries is the key under which a context has the lease of a lock that its client holds.
type carries struct {
	turns *turns
	name  string
}

// carriedBy is the lease on one of these locks whose holder asks with this context, or nil. Another goroutine of the
// program has another context, so only this shows that a caller waits for itself.
func (c *Client) carriedBy(ctx context.Context, names []string) *heldLease {
	for _, name := range names {
		if lease, isHeld := ctx.Value(carries{&c.turns, name}).(*heldLease); isHeld {
			return lease
		}
	}
	return nil
}

// Value adds the lease to the values of the parent, unless it is over.
func (c *lockContext) Value(key any) any {
	if asked, is := key.(carries); is && asked.turns == c.lease.turns && c.lease.has(asked.name) {
		isOver := false
		c.lease.turns.take(func() { isOver = c.lease.isLost() })
		if !isOver {
			return c.lease
		}
	}
	return c.Context.Value(key)
}

// look cancels the context if the lease is over.
func (c *lockContext) look() {
	var err *Error
	c.lease.turns.take(func() {
		c.lease.look()
		err = c.lease.err
	})
	if err != nil {
		c.cancel(err)
	}
}

package rowlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// pieceMax is how long one piece of a wait lasts at the most; and at the most half of the time after which a call without an
// answer fails.
const pieceMax = 15 * time.Second

// capturing is some of many locks being asked for: from the first request to the leases, or to none, however many connections
// that takes. A long wait is asked for in pieces, as it has no place to lose: so a server that hangs is noticed, and no proxy
// cuts it off. Whoever gives up leaves nothing behind: what comes late is given back.
type capturing struct {
	client *Client
	asked  *captureOptions
	until  time.Duration

	requestID string
	pieceEnds time.Duration
	call      *call
	// locks are those of the answer, in its order; nil: not yet, or lost on its way.
	locks []*Lock
	// got are all of them that it was granted.
	got        []*Lock
	retryAfter time.Duration
	// isSpent: what the caller's own id had has ended, and it gets nothing else.
	isSpent bool
	// renewing is how many leases are renewed before anybody relies on them.
	renewing int
	// settled is closed when one of the two is known.
	settled   chan struct{}
	isSettled bool
	captured  Captured
	failure   *Error
}

func newCapturing(client *Client, asked *captureOptions) *capturing {
	return &capturing{
		client:  client,
		asked:   asked,
		until:   later(client.turns.now(), asked.wait),
		settled: make(chan struct{}),
	}
}

// run waits for what becomes of it, outside of turns.
func (c *capturing) run(ctx context.Context) (Captured, error) {
	select {
	case <-c.settled:
	case <-ctx.Done():
		// Unless it was settled just now: then what was got is not thrown away.
		c.client.turns.take(func() { c.abandon(cancelledError(ctx)) })
		<-c.settled
	}
	if c.failure != nil {
		return Captured{}, c.failure
	}
	return c.captured, nil
}

// abandon fails with this error, and gives back what was or will be got.
func (c *capturing) abandon(why *Error) {
	if c.isSettled {
		return
	}
	c.fail(why)
	if c.call != nil {
		c.client.calls.withdraw(c.call)
	}
}

// failed is what its call has failed with, also where nobody waits for it any more. What it may have taken is looked for, unless
// its caller may come back for it under a request id of their own.
func (c *capturing) failed(err *Error) {
	isGivenBack := c.asked.requestID == "" || c.isSettled
	// A session that has cancelled it has given back what it had taken.
	isDone := err.Reason == ErrClosed || err.Reason == ErrCancelled && c.call.timesSent == 1
	if isGivenBack && !isDone && c.call.mayBeKnown() && err.leavesDoubt() {
		c.lookFor(nil)
	}
	c.fail(err)
}

// lookFor has what it was granted looked for and given back, except for leases of which an answer has told.
func (c *capturing) lookFor(except []*rowlockv1.Lease) {
	find := c.asked.request(c.requestID, 0)
	find.IfStatus = noStatus()
	lost := &leftBehind{
		client: c.client,
		asked:  &c.asked.claimOptions,
		shared: c.asked.shared(),
		find:   &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Capture{Capture: find}},
		except: map[string]bool{},
	}
	for _, lease := range except {
		lost.except[lease.GetLeaseId()] = true
	}
	c.client.requests.unwanted(lost.shared, lost.begin)
}

func (c *capturing) isWait() bool {
	return c.asked.wait != 0
}

func (c *capturing) begin() {
	c.client.requests.join(c.asked.shared())
	c.ask()
}

// ask asks for one piece of the wait, or for all that is free now.
func (c *capturing) ask() {
	now := c.client.turns.now()
	piece := min(c.until-now, pieceMax, c.client.config.GiveUpAfter/2)
	c.pieceEnds = now + max(time.Millisecond, piece)
	c.requestID = c.asked.requestID
	if c.requestID == "" {
		// If something was got under the last one after all, and was lost on its way, that id gets nothing else any more.
		c.requestID = newRequestID()
	}
	kind := ordinary
	if c.isWait() {
		kind = waiting
	}
	c.call = c.client.calls.begin(ask{
		kind:        kind,
		repeat:      always,
		command:     c.command,
		giveUpAfter: func() time.Duration { return c.client.config.GiveUpAfter },
		answered:    c.answered,
		failed:      c.failed,
	})
}

func (c *capturing) command(connection) *rowlockv1.SessionCommand {
	wait := time.Duration(0)
	if c.isWait() {
		wait = max(time.Millisecond, c.pieceEnds-c.client.turns.now())
	}
	return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Capture{
		Capture: c.asked.request(c.requestID, wait),
	}}
}

func (c *capturing) answered(result *rowlockv1.SessionResult, basis time.Duration) bool {
	answer := result.GetCapture()
	if answer == nil {
		c.fail(unexpected(result))
		return true
	}
	c.locks = make([]*Lock, len(answer.GetLeases()))
	c.retryAfter = answer.GetRetryAfter().AsDuration()
	c.isSpent = answer.GetIsRepeated() && c.asked.requestID != ""
	if c.call.wasSent && c.asked.requestID == "" {
		// It was asked for by a connection that is gone, too, and its server may have gone on taking locks since.
		c.lookFor(answer.GetLeases())
	}
	for at, lease := range answer.GetLeases() {
		c.take(at, lease, basis, 0)
	}
	c.conclude()
	return true
}

// take makes a lock of a lease, unless nobody wants it any more. It was renewed so many times, and was short before.
func (c *capturing) take(at int, lease *rowlockv1.Lease, basis time.Duration, renewals int) {
	if c.isSettled {
		c.unwanted(lease.GetLeaseId())
		return
	}
	if c.client.requests.wasReleased(c.asked.shared(), lease.GetLeaseId()) {
		return
	}
	if known := c.client.heldAlready(lease.GetLeaseId()); known != nil {
		known.grants++
		c.locks[at] = known
		c.got = append(c.got, known)
		return
	}
	held := newHeldLease(&c.client.turns, lease, basis, c.asked.margin)
	isTooEarly := held.isTooEarly(c.asked.terms.areSet())
	if isTooEarly && renewals == lateGrantsMax {
		c.fail(ttlTooShort(held))
		c.unwanted(held.id)
		return
	}
	if isTooEarly {
		c.renew(at, held.id, renewals+1)
		return
	}
	// In this very turn, so that nothing that is said of it is missed.
	c.locks[at] = c.client.locked(held, lease, &c.asked.claimOptions, c.asked.shared())
	c.got = append(c.got, c.locks[at])
}

// renew: the grant was long on its way, or is not confirmed yet, so nobody relies on it before it is renewed.
func (c *capturing) renew(at int, leaseID string, renewals int) {
	c.renewing++
	renewal := renewDemand(leaseID, 0)
	c.client.verbs.begin(renewal, func(result *rowlockv1.SessionResult, basis time.Duration, err *Error) {
		c.renewing--
		lease := result.GetRenew().GetLease()
		switch {
		case lease != nil:
			c.take(at, lease, basis, renewals)
		case err == nil:
			c.fail(unexpected(result))
		case err.Reason != ErrLeaseLost && err.Reason != ErrUnknownClaim:
			c.fail(err)
			c.unwanted(leaseID)
		}
		c.conclude()
	})
}

// conclude settles it, when all leases are known, or asks for the next piece of the wait.
func (c *capturing) conclude() {
	if c.isSettled || c.renewing > 0 {
		return
	}
	var locks []*Lock
	for _, lock := range c.locks {
		if lock != nil {
			locks = append(locks, lock)
		}
	}
	if len(locks) == 0 && c.isWait() && !c.isSpent && c.client.turns.now() < c.until {
		c.ask()
		return
	}
	c.captured.Locks = locks
	if len(locks) == 0 {
		c.captured.RetryAfter = c.retryAfter
	}
	c.settle()
}

// fail lets go of what was got.
func (c *capturing) fail(err *Error) {
	if c.isSettled {
		return
	}
	c.failure = err
	c.settle()
	for _, lock := range c.got {
		if lock.grants--; lock.grants == 0 && lock.released == nil {
			c.client.forget(lock.lease)
			c.unwanted(lock.lease.id)
		}
	}
}

// unwanted gives a lease back, unless others ask under the same request id.
func (c *capturing) unwanted(id string) {
	c.client.requests.unwanted(c.asked.shared(), func() { c.client.giveBack(id, &c.asked.claimOptions) })
}

func (c *capturing) settle() {
	c.isSettled = true
	close(c.settled)
	c.client.requests.leave(c.asked.shared(), c.failure == nil)
}

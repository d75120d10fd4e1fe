// One request for some of many locks, from the first command to the leases, none, or the giving back.

package rowlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// pieceMax is the longest piece of a wait. A piece is also at most half of GiveUpAfter.
const pieceMax = 15 * time.Second

// capture asks for some of many locks, from the first request to the leases or to none, over as many connections as
// that takes. It asks for a long wait in pieces, because a capture has no place to lose: the client then notices a
// server that hangs, and no proxy cuts the wait off. An abandoned capture leaves nothing behind: it gives late grants
// back.
type capture struct {
	client *Client
	asked  *captureOptions
	until  time.Duration
	// traceparent is the trace context of the request; "" for none.
	traceparent string

	requestID string
	pieceEnds time.Duration
	call      *call
	// locks are those of the answer, in its order. An entry is nil while its lease is not ready, or if it was lost on
	// the way.
	locks []*Lock
	// got are all locks that this capture was granted.
	got        []*Lock
	retryAfter time.Duration
	// isSpent: the leases of the caller's own request id have ended, so that id gets no more.
	isSpent bool
	// renewing counts the leases that are being renewed before anybody relies on them.
	renewing int
	// settled is closed when captured or failure is set.
	settled   chan struct{}
	isSettled bool
	captured  Captured
	failure   *Error
}

func newCapture(client *Client, asked *captureOptions, traceparent string) *capture {
	return &capture{
		client:      client,
		asked:       asked,
		traceparent: traceparent,
		until:       later(client.turns.now(), asked.wait),
		settled:     make(chan struct{}),
	}
}

// run waits for the outcome. It is called outside of turns.
func (c *capture) run(ctx context.Context) (Captured, error) {
	select {
	case <-c.settled:
	case <-ctx.Done():
		// A capture that has just been settled keeps its outcome: locks that were granted are not thrown away.
		// Outside of the turn, because the context of a lock takes a turn itself.
		why := cancelledError(ctx)
		c.client.turns.take(func() { c.abandon(why) })
		<-c.settled
	}
	if c.failure != nil {
		return Captured{}, c.failure
	}
	return c.captured, nil
}

// abandon settles the capture with this error, and gives back what the server has granted or will grant.
func (c *capture) abandon(why *Error) {
	if c.isSettled {
		return
	}
	c.fail(why)
	if c.call != nil {
		c.client.calls.withdraw(c.call)
	}
}

// failed takes the failure of the call, even if nobody waits for it any more. It looks for leases that the call may
// have taken, unless the caller may come back for them under a request id of its own.
func (c *capture) failed(err *Error) {
	isGivenBack := c.asked.requestID == "" || c.isSettled
	// A session that has cancelled the call has given back what it had taken.
	isDone := err.Reason == ErrClosed || err.Reason == ErrCancelled && c.call.timesSent == 1
	if isGivenBack && !isDone && c.call.mayBeKnown() && err.leavesDoubt() {
		c.lookFor(nil)
	}
	c.fail(err)
}

// lookFor finds the leases of the request id and gives them back, except for those that an answer has named.
func (c *capture) lookFor(except []*rowlockv1.Lease) {
	find := c.asked.request(c.requestID, 0)
	find.Terms.IfStatus = noStatus()
	lost := &leftBehind{
		client: c.client,
		asked:  &c.asked.leaseOptions,
		shared: c.asked.shared(),
		find:   &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Capture{Capture: find}},
		except: map[string]bool{},
	}
	for _, lease := range except {
		lost.except[lease.GetLeaseId()] = true
	}
	c.client.requests.unwanted(lost.shared, lost.begin)
}

func (c *capture) isWait() bool {
	return c.asked.wait != 0
}

func (c *capture) begin() {
	c.client.requests.join(c.asked.shared())
	c.ask()
}

// ask sends one piece of the wait, or one capture of what is free now.
func (c *capture) ask() {
	now := c.client.turns.now()
	piece := min(c.until-now, pieceMax, c.client.config.GiveUpAfter/2)
	c.pieceEnds = now + max(time.Millisecond, piece)
	c.requestID = c.asked.requestID
	if c.requestID == "" {
		// If the last piece was granted leases and the answer was lost, its request id gets nothing else any more.
		c.requestID = newRequestID()
	}
	kind := kindOther
	if c.isWait() {
		kind = kindWait
	}
	c.call = c.client.calls.begin(ask{
		kind:        kind,
		repeat:      repeatAlways,
		traceparent: c.traceparent,
		command:     c.command,
		giveUpAfter: func() time.Duration { return c.client.config.GiveUpAfter },
		answered:    c.answered,
		failed:      c.failed,
	})
}

func (c *capture) command(connection) *rowlockv1.SessionCommand {
	wait := time.Duration(0)
	if c.isWait() {
		wait = max(time.Millisecond, c.pieceEnds-c.client.turns.now())
	}
	return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Capture{
		Capture: c.asked.request(c.requestID, wait),
	}}
}

func (c *capture) answered(result *rowlockv1.SessionResult, basis time.Duration) bool {
	answer := result.GetCapture()
	if answer == nil {
		c.fail(unexpected(result))
		return true
	}
	c.locks = make([]*Lock, len(answer.GetLeases()))
	c.retryAfter = answer.GetRetryAfter().AsDuration()
	c.isSpent = answer.GetIsRepeated() && c.asked.requestID != ""
	if c.call.wasSent && c.asked.requestID == "" {
		// The call was also sent on a connection that is gone, and that server may have taken more locks since.
		c.lookFor(answer.GetLeases())
	}
	for at, lease := range answer.GetLeases() {
		c.take(at, lease, basis, 0)
	}
	c.conclude()
	return true
}

// take makes a lock of a lease, or gives the lease back if nobody wants it any more. renewals counts the renewals so
// far, each of which came back with too little time left.
func (c *capture) take(at int, lease *rowlockv1.Lease, basis time.Duration, renewals int) {
	if c.isSettled {
		c.unwanted(lease.GetLeaseId())
		return
	}
	if c.client.requests.wasReleased(c.asked.shared(), lease.GetLeaseId()) {
		return
	}
	if known := c.client.locks.find(lease.GetLeaseId()); known != nil {
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
	// In the same turn, so that the client misses no news of this lease.
	c.locks[at] = c.client.locks.add(held, lease, &c.asked.leaseOptions, c.asked.shared())
	c.got = append(c.got, c.locks[at])
}

// renew renews a grant that arrived late or is not confirmed yet, before anybody relies on it.
func (c *capture) renew(at int, leaseID string, renewals int) {
	c.renewing++
	renewal := renewQuestion(leaseID, 0)
	renewal.traceparent = c.traceparent
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

// conclude settles the capture when all leases are known, or asks for the next piece of the wait.
func (c *capture) conclude() {
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

// fail settles the capture with this error and gives back what it was granted.
func (c *capture) fail(err *Error) {
	if c.isSettled {
		return
	}
	c.failure = err
	c.settle()
	for _, lock := range c.got {
		if lock.grants--; lock.grants == 0 && lock.released == nil {
			c.client.locks.forget(lock.lease)
			c.unwanted(lock.lease.id)
		}
	}
}

// unwanted gives a lease back, unless other calls ask under the same request id.
func (c *capture) unwanted(id string) {
	c.client.requests.unwanted(c.asked.shared(), func() { c.client.locks.giveBack(id, &c.asked.leaseOptions) })
}

func (c *capture) settle() {
	c.isSettled = true
	close(c.settled)
	c.client.requests.leave(c.asked.shared(), c.failure == nil)
}

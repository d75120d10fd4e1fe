// Calls with one answer. Some of them give claims back in the background. A lease can be released and renewed by its id,
// for example after it was handed over.

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// verbs makes the calls that have one answer.
type verbs struct {
	turns       *turns
	calls       *calls
	giveUpAfter time.Duration
	// inherit runs something with a client that outlives this one, once this one is closed: see [Client.inherit].
	inherit func(func(heir *Client))
}

// question is a command, and how to send it.
type question struct {
	command *rowlockv1.SessionCommand
	kind    kind
	repeat  repeating
	// traceparent is the trace context of the caller; "" for none.
	traceparent string
	// within is how long an answer is of use; 0: without end. It shortens giveUpAfter, unless givesBack.
	within time.Duration
	// givesBack: nobody waits for the call. It is tried for all of within.
	givesBack bool
}

// begin sends a question. It is called in a turn, and calls done in a turn: with the result, which was true at basis or
// later, or with the error.
func (v *verbs) begin(asked *question, done func(result *rowlockv1.SessionResult, basis time.Duration, err *Error)) *call {
	within := v.giveUpAfter
	switch {
	case asked.givesBack:
		within = asked.within
	case asked.within > 0:
		within = min(within, asked.within)
	}
	return v.calls.begin(ask{
		kind:        asked.kind,
		repeat:      asked.repeat,
		traceparent: asked.traceparent,
		givesBack:   asked.givesBack,
		command: func(connection) *rowlockv1.SessionCommand {
			return &rowlockv1.SessionCommand{Command: asked.command.GetCommand()}
		},
		giveUpAfter: func() time.Duration { return within },
		answered: func(result *rowlockv1.SessionResult, basis time.Duration) bool {
			done(result, basis, nil)
			return true
		},
		failed: func(err *Error) { done(nil, 0, err) },
	})
}

// goOn repeats a failed question for as long as the program lives: no caller would repeat it, and the lease that it ends
// would not expire.
func (v *verbs) goOn(asked *question, failed *Error) {
	if failed != nil && failed.Reason == ErrClosed {
		v.inherit(func(heir *Client) { heir.verbs.goOn(asked, nil) })
		return
	}
	lasting := *asked
	lasting.within, lasting.givesBack, lasting.traceparent = Forever, true, ""
	v.begin(&lasting, func(_ *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		if err != nil && err.Reason == ErrClosed {
			v.goOn(asked, err)
		}
	})
}

// endUnused ends a claim that nobody has used, in a turn. It sets no min interval, because there was no run. It tries
// for as long as the lease can last.
func (v *verbs) endUnused(id string, hasInterval bool, lasting time.Duration) {
	request := &rowlockv1.ReleaseRequest{LeaseId: id}
	if hasInterval {
		request.CoolDown = durationpb.New(0)
	}
	end := releaseQuestion(request)
	end.within, end.givesBack = lasting, true
	v.begin(end, func(_ *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		// The id was that of a ticket. A ticket leaves the queue only by a release that sets nothing of the record.
		switch {
		case err == nil:
		case err.Reason == ErrNotGrantedYet:
			v.endUnused(id, false, lasting)
		case err.Reason == ErrClosed && lasting == Forever:
			v.goOn(end, err)
		}
	})
}

func releaseQuestion(request *rowlockv1.ReleaseRequest) *question {
	return &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Release{Release: request}},
		kind:    kindUrgent,
		repeat:  repeatOnceOpen,
	}
}

func renewQuestion(id string, ttl time.Duration) *question {
	renewal := &rowlockv1.RenewRequest{LeaseId: id}
	if ttl != 0 {
		renewal.Ttl = durationpb.New(ttl)
	}
	return &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Renew{Renew: renewal}},
		kind:    kindUrgent,
	}
}

// RenewedLease is the result of [Client.Renew].
type RenewedLease struct {
	LeaseID string `json:"leaseId"`
	Name    string `json:"name"`
	Token   uint64 `json:"token,string"`
	// TTL is the time left when the lease was renewed; [Forever] for a lease without end.
	TTL time.Duration `json:"ttlNs"`
	// Also are the further locks of a claim for several, each with its token.
	Also []ClaimedLock `json:"also,omitempty"`
}

// Release ends a lease or gives up a place, by its id. It reports whether this call ended it; false means that it had
// already ended. The options set the lock's record. The call is safe to repeat. It fails with [ErrUnknownClaim] for an
// id that never existed or ended too long ago.
func (c *Client) Release(ctx context.Context, leaseID string, options ...ReleaseOption) (bool, error) {
	var own *Lock
	c.turns.take(func() { own = c.locks.byID[leaseID] })
	if own != nil {
		return own.Release(ctx, options...)
	}
	request, err := releaseRequestOf(leaseID, options)
	if err != nil {
		return false, err
	}
	result, err := c.ask(ctx, releaseQuestion(request))
	return result.GetRelease().GetReleased(), err
}

// Renew renews a lease once, by its id: its ttl becomes ttl from now, 1 s to 24 days, or the last requested ttl if ttl
// is 0. The call is safe to repeat. It fails with [ErrLeaseLost] or [ErrUnknownClaim] if the lease has ended.
func (c *Client) Renew(ctx context.Context, leaseID string, ttl time.Duration) (RenewedLease, error) {
	result, err := c.ask(ctx, renewQuestion(leaseID, ttl))
	if err != nil {
		return RenewedLease{}, err
	}
	lease := result.GetRenew().GetLease()
	renewed := RenewedLease{
		leaseID, lease.GetLockName(), lease.GetFencingToken(), Forever, claimedLocksOf(lease.GetAlso()),
	}
	if lease.GetTtl() != nil {
		renewed.TTL = lease.GetTtl().AsDuration()
	}
	return renewed, nil
}

// ask sends a question and waits for its result, outside of turns.
func (c *Client) ask(ctx context.Context, asked *question) (*rowlockv1.SessionResult, error) {
	if wrong := wrongText(asked.command); wrong != nil {
		return nil, wrong
	}
	if ctx.Err() != nil {
		return nil, cancelledError(ctx)
	}
	asked.traceparent = c.observer.telemetry.Traceparent(ctx)
	var result *rowlockv1.SessionResult
	var failed *Error
	done := make(chan struct{})
	var begun *call
	isClosed := false
	c.turns.take(func() {
		if isClosed = c.isClosed; isClosed {
			return
		}
		begun = c.verbs.begin(asked, func(answer *rowlockv1.SessionResult, _ time.Duration, err *Error) {
			result, failed = answer, err
			close(done)
		})
	})
	if isClosed {
		return nil, closedError()
	}
	select {
	case <-done:
	case <-ctx.Done():
		c.turns.take(func() { c.calls.cancel(begun) })
		select {
		case <-done:
		default:
			return nil, cancelledError(ctx)
		}
	}
	if failed != nil {
		return nil, failed
	}
	return result, nil
}

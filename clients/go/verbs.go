// Calls with one answer, including those that give claims back and that nobody waits for.

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

// demand is a command, and how to send it.
type demand struct {
	command *rowlockv1.SessionCommand
	kind    kind
	repeat  repeating
	// within is how long an answer is of use; 0: without end. It shortens giveUpAfter, unless givesBack.
	within time.Duration
	// givesBack: nobody waits for the call. It is tried for all of within.
	givesBack bool
}

// begin sends a demand. It is called in a turn, and calls done in a turn: with the result, which was true at basis or
// later, or with the error.
func (v *verbs) begin(asked *demand, done func(result *rowlockv1.SessionResult, basis time.Duration, err *Error)) *call {
	within := v.giveUpAfter
	switch {
	case asked.givesBack:
		within = asked.within
	case asked.within > 0:
		within = min(within, asked.within)
	}
	return v.calls.begin(ask{
		kind:      asked.kind,
		repeat:    asked.repeat,
		givesBack: asked.givesBack,
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

// goOn repeats a failed demand for as long as the program lives, because nobody waits for it and the lease that it ends
// would not expire.
func (v *verbs) goOn(asked *demand, failed *Error) {
	if failed != nil && failed.Reason == ErrClosed {
		v.inherit(func(heir *Client) { heir.verbs.goOn(asked, nil) })
		return
	}
	lasting := *asked
	lasting.within, lasting.givesBack = Forever, true
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
	end := releaseDemand(request)
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

func releaseDemand(request *rowlockv1.ReleaseRequest) *demand {
	return &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Release{Release: request}},
		kind:    urgent,
	}
}

func renewDemand(id string, ttl time.Duration) *demand {
	renewal := &rowlockv1.RenewRequest{LeaseId: id}
	if ttl != 0 {
		renewal.Ttl = durationpb.New(ttl)
	}
	return &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Renew{Renew: renewal}},
		kind:    urgent,
	}
}

// ask sends a demand and waits for its result, outside of turns.
func (c *Client) ask(ctx context.Context, asked *demand) (*rowlockv1.SessionResult, error) {
	if ctx.Err() != nil {
		return nil, cancelledError(ctx)
	}
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

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// verbs asks what is answered once.
type verbs struct {
	turns       *turns
	calls       *calls
	giveUpAfter time.Duration
	// inherit has something done when the client is closed: see [Client.inherit].
	inherit func(func(heir *Client))
}

// demand is a command with what is particular about it.
type demand struct {
	command *rowlockv1.SessionCommand
	kind    kind
	repeat  repeating
	// within is how long an answer is of use, where that is not without end.
	within time.Duration
	// givesBack: nobody waits for it, so it is tried for all of that time, and fails for nothing but the client's end.
	givesBack bool
}

// begin is to be called in a turn; done is called with the result, which was so at basis or later, or with the error, in a turn,
// too.
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

// goOn has what has failed so tried for as long as the program lives: nobody waits for it, and what it ends has no end.
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

// endUnused ends a claim that nobody has used, in a turn: it is no run, after which the next one is not due yet. It is tried for
// as long as the lease can last.
func (v *verbs) endUnused(id string, hasInterval bool, lasting time.Duration) {
	request := &rowlockv1.ReleaseRequest{LeaseId: id}
	if hasInterval {
		request.CoolDown = durationpb.New(0)
	}
	end := releaseDemand(request)
	end.within, end.givesBack = lasting, true
	v.begin(end, func(_ *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		// A ticket leaves the queue without a word about the lock.
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

// ask waits for the result of a demand, outside of turns.
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

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
}

// demand is a command with what is particular about it.
type demand struct {
	command *rowlockv1.SessionCommand
	kind    kind
	repeat  repeating
	// within is how long an answer is of use, where that is not without end.
	within time.Duration
}

// begin is to be called in a turn; done is called with the result or the error, in a turn, too.
func (v *verbs) begin(asked *demand, done func(*rowlockv1.SessionResult, *Error)) *call {
	within := v.giveUpAfter
	if asked.within > 0 {
		within = min(within, asked.within)
	}
	return v.calls.begin(ask{
		kind:   asked.kind,
		repeat: asked.repeat,
		command: func(connection) *rowlockv1.SessionCommand {
			return &rowlockv1.SessionCommand{Command: asked.command.GetCommand()}
		},
		giveUpAfter: func() time.Duration { return within },
		answered: func(result *rowlockv1.SessionResult, _ time.Duration) bool {
			done(result, nil)
			return true
		},
		failed: func(err *Error) { done(nil, err) },
	})
}

// endUnwanted ends a claim that nobody wants any more, in a turn. If that does not arrive, the claim ends by itself.
func (v *verbs) endUnwanted(id string) {
	v.begin(releaseDemand(id), func(*rowlockv1.SessionResult, *Error) {})
}

func releaseDemand(id string) *demand {
	release := &rowlockv1.ReleaseRequest{LeaseId: id}
	return &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Release{Release: release}},
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
		begun = c.verbs.begin(asked, func(answer *rowlockv1.SessionResult, err *Error) {
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

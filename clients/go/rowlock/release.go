// The end of a held lock.

package rowlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// release is a release that has begun. Its fields are set before done is closed.
type release struct {
	done    chan struct{}
	wasHeld bool
	// hadEnded: the lease had ended before a server confirmed the release, and nothing had told the client so.
	hadEnded bool
	err      *Error
}

// begin begins the release in the trace of ctx, unless one has begun.
func (l *Lock) begin(ctx context.Context, request *rowlockv1.ReleaseRequest) (begun *release) {
	traceparent := l.client.observer.telemetry.Traceparent(ctx)
	l.client.turns.take(func() { begun = l.release(request, traceparent) })
	return begun
}

// leave releases the lock at the end of a scope. It fails with [ErrLeaseLost] if others may have had the lock before.
// Once ctx is done, it waits only briefly for the answer.
func (l *Lock) leave(ctx context.Context) error {
	lost := l.Err()
	leaving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(giveBackWithin):
			stop()
		case <-leaving.Done():
		}
	})()
	if lost != nil && errors.Is(lost, ErrLeaseLost) {
		_, _ = l.Release(leaving)
		return lost
	}
	begun := l.begin(ctx, &rowlockv1.ReleaseRequest{LeaseId: l.lease.id})
	select {
	case <-begun.done:
	case <-leaving.Done():
		return cancelledError(ctx)
	}
	switch {
	case begun.hadEnded:
		var causes []error
		if begun.err != nil {
			causes = []error{begun.err}
		}
		return lostError(expired(), fmt.Sprintf("the lease on %q had ended before a server confirmed its release, so others "+
			"may have held the lock before the work had ended", l.Name()), causes...)
	case begun.err != nil && begun.err.Code != codes.Unavailable:
		return begun.err
	default:
		return nil
	}
}

// release begins the release, in a turn.
func (l *Lock) release(request *rowlockv1.ReleaseRequest, traceparent string) *release {
	if l.released != nil {
		return l.released
	}
	begun := &release{done: make(chan struct{})}
	l.released = begun
	isHeld := l.lease.state() != Lost
	// Not the ttl of the lease: while that is not confirmed, it has the grace period for its ttl, and the server may
	// confirm it after the client has sent the release.
	isEndless := l.asked.ttl == Forever
	end := releaseQuestion(request)
	end.traceparent = traceparent
	end.within = l.lease.remaining()
	deadline := later(l.client.turns.now(), end.within)
	l.client.locks.forget(l.lease)
	if !isHeld {
		// The lock may be lost only by this client's own clock, while the server still keeps the lease. Give it back,
		// unless the lock's record must show the loss: then the lease has to expire.
		if !l.asked.terms.tellsLossApart() {
			l.client.locks.giveBack(l.lease.id, l.asked)
		}
		close(begun.done)
		return begun
	}
	l.client.requests.released(l.shared, l.lease.id)
	var sent *call
	sent = l.client.verbs.begin(end, func(result *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		if accepted := withoutRefused(request, err); accepted != nil {
			l.releaseAgain(accepted, end, err)
			return
		}
		begun.wasHeld, begun.err = result.GetRelease().GetReleased(), err
		// An earlier try of this call may have ended the lease itself.
		begun.hadEnded = err == nil && !begun.wasHeld && sent.timesSent == 1 || err != nil && l.client.turns.now() >= deadline
		close(begun.done)
		if err != nil && err.leavesDoubt() && isEndless {
			// A lease without end does not expire.
			l.client.verbs.goOn(end, err)
		}
	})
	return begun
}

// hadEnded reports whether the lease had ended before the release, which is over. That the release ended nothing does not
// say so: an earlier try of it may have ended the lease, and its answer was lost.
func (l *Lock) hadEnded() (had bool) {
	l.client.turns.take(func() { had = l.released.hadEnded })
	return had
}

// restIfRefused rests the lock for this long if the server refuses what its release says.
func (l *Lock) restIfRefused(rest time.Duration) {
	l.client.turns.take(func() { l.coolDownIfRefused = durationpb.New(rest) })
}

// releaseAgain gives the lock back without what the server has refused.
func (l *Lock) releaseAgain(accepted *rowlockv1.ReleaseRequest, end *question, refused *Error) {
	if l.coolDownIfRefused != nil {
		accepted.CoolDown = l.coolDownIfRefused
	}
	again := releaseQuestion(accepted)
	again.traceparent, again.within = end.traceparent, end.within
	l.client.verbs.begin(again, func(result *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		failed := *refused
		if result.GetRelease().GetReleased() {
			failed.Message += "; the lock was given back"
		}
		l.released.err = &failed
		close(l.released.done)
	})
}

// withoutRefused is the request without the fields that the server has refused, or without all if it named none of them;
// nil if err is something else or nothing would be left out.
func withoutRefused(request *rowlockv1.ReleaseRequest, err *Error) *rowlockv1.ReleaseRequest {
	if err == nil || err.Code != codes.InvalidArgument && err.Reason != ErrMessageTooLarge {
		return nil
	}
	isRefused := func(field string) bool {
		return slices.ContainsFunc(err.Violations, func(one Violation) bool { return strings.HasSuffix(one.Field, field) })
	}
	accepted := &rowlockv1.ReleaseRequest{LeaseId: request.GetLeaseId(), Failed: request.GetFailed()}
	if isRefused("lease_id") || request.Status == nil && request.CoolDown == nil && request.AttemptsLeft == nil {
		return nil
	}
	if !isRefused("status") && !isRefused("cool_down") && !isRefused("attempts_left") {
		return accepted
	}
	if !isRefused("status") {
		accepted.Status = request.Status
	}
	if !isRefused("cool_down") {
		accepted.CoolDown = request.CoolDown
	}
	if !isRefused("attempts_left") {
		accepted.AttemptsLeft = request.AttemptsLeft
	}
	return accepted
}

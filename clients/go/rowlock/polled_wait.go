// Waits without a session.

package rowlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// pollEveryMax is how often a wait asks for its place, which is also its sign of life. It asks more often if the
	// caller wants positions more often or if the server keeps the place only briefly, but never more often than
	// pollEveryMin.
	pollEveryMax = time.Second
	pollEveryMin = 100 * time.Millisecond
	// A wait asks again after at most 1/pollsPerKeptFor of the time for which the server keeps the place.
	pollsPerKeptFor = 4
)

// wait stands in the queue. It repeats the Acquire under its request id, and reports each change of place. When it asks
// for a lease that was granted meanwhile, that confirms the lease.
func (u *unaryConnection) wait(ctx context.Context, call uint64, asked *rowlockv1.WaitInQueueRequest) (
	time.Duration, *rowlockv1.SessionResult, error,
) {
	request := u.enqueueing(asked.GetRequest())
	every := min(pollEveryMax, asked.GetMinUpdateInterval().AsDuration())
	var last *rowlockv1.Ticket
	for {
		basis, answer, err := u.look(ctx, request)
		if err != nil {
			return basis, nil, err
		}
		switch outcome := answer.GetOutcome().(type) {
		case *rowlockv1.AcquireResponse_Lease:
			return basis, waitResult(&rowlockv1.WaitInQueueResponse{
				Update: &rowlockv1.WaitInQueueResponse_Granted{Granted: outcome.Lease},
			}), nil
		case *rowlockv1.AcquireResponse_Spent:
			return basis, waitResult(&rowlockv1.WaitInQueueResponse{
				Update: &rowlockv1.WaitInQueueResponse_Spent{Spent: outcome.Spent},
			}), nil
		case *rowlockv1.AcquireResponse_Refusal:
			return basis, waitResult(&rowlockv1.WaitInQueueResponse{
				Update: &rowlockv1.WaitInQueueResponse_Refusal{Refusal: outcome.Refusal},
			}), nil
		case *rowlockv1.AcquireResponse_Ended:
			return basis, waitResult(&rowlockv1.WaitInQueueResponse{
				Update: &rowlockv1.WaitInQueueResponse_Ended{Ended: outcome.Ended},
			}), nil
		}
		ticket := answer.GetTicket()
		if last == nil || last.GetAhead() != ticket.GetAhead() || last.GetPermitsAhead() != ticket.GetPermitsAhead() ||
			last.GetPool() != ticket.GetPool() || last.GetWaitsFor() != ticket.GetWaitsFor() {
			u.tellPlace(ctx, call, basis, ticket)
		}
		last = ticket
		select {
		case <-time.After(max(pollEveryMin, min(every, ticket.GetKeptFor().AsDuration()/pollsPerKeptFor))):
		case <-ctx.Done():
			return basis, nil, ctx.Err()
		}
	}
}

// enqueueing is the Acquire that takes the place in the queue, and asks for it again.
func (u *unaryConnection) enqueueing(asked *rowlockv1.QueueRequest) *rowlockv1.AcquireRequest {
	return &rowlockv1.AcquireRequest{
		Name:      asked.GetName(),
		Mode:      asked.GetMode(),
		Permits:   asked.GetPermits(),
		Terms:     u.ownedTerms(asked.GetTerms()),
		RequestId: asked.GetRequestId(),
		WhenBusy:  &rowlockv1.AcquireRequest_Enqueue{Enqueue: &rowlockv1.Wait{MaxWait: asked.GetMaxWait()}},
		SpendOnly: asked.GetSpendOnly(),
		Also:      asked.GetAlso(),
		HeadStart: asked.GetHeadStart(),
	}
}

// look asks once, when a slot is free.
func (u *unaryConnection) look(ctx context.Context, request *rowlockv1.AcquireRequest) (
	time.Duration, *rowlockv1.AcquireResponse, error,
) {
	select {
	case u.pollSlots <- struct{}{}:
		defer func() { <-u.pollSlots }()
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	basis := u.turns.now()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := u.service.Acquire(ctx, request)
	return basis, answer, err
}

func (u *unaryConnection) tellPlace(ctx context.Context, call uint64, basis time.Duration, ticket *rowlockv1.Ticket) {
	result := waitResult(&rowlockv1.WaitInQueueResponse{
		Update: &rowlockv1.WaitInQueueResponse_Position{Position: ticket},
	})
	result.Call = call
	u.turns.take(func() {
		if ctx.Err() == nil && !u.isOver {
			u.listener.responded(u, &rowlockv1.SessionResponse{Results: []*rowlockv1.SessionResult{result}}, basis)
		}
	})
}

func waitResult(update *rowlockv1.WaitInQueueResponse) *rowlockv1.SessionResult {
	return &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_WaitInQueue{WaitInQueue: update}}
}

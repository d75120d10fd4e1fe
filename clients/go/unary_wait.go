package rowlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// waitEvery is how often a place is asked for again, which is its sign of life: more often where positions are wanted more
	// often, or where the place is not kept for long, but never more often than waitEveryMin.
	waitEvery    = time.Second
	waitEveryMin = 100 * time.Millisecond
	// keptShare of the time for which a place is kept may pass.
	keptShare = 4
)

// wait stands in the queue: it asks for the lock under its request id again and again, and tells the place as it changes.
// Whoever asks for a lease that was granted meanwhile confirms it by that.
func (u *unaryCalls) wait(ctx context.Context, call uint64, asked *rowlockv1.WaitInQueueRequest) (
	time.Duration, *rowlockv1.SessionResult, error,
) {
	request := u.owned(asked.GetAcquire())
	request.WhenBusy = rowlockv1.WhenBusy_WHEN_BUSY_ENQUEUE
	every := min(waitEvery, asked.GetMinUpdateInterval().AsDuration())
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
		case *rowlockv1.AcquireResponse_Refusal:
			return basis, waitResult(&rowlockv1.WaitInQueueResponse{
				Update: &rowlockv1.WaitInQueueResponse_Ended{Ended: outcome.Refusal},
			}), nil
		}
		ticket := answer.GetTicket()
		if last == nil || last.GetAhead() != ticket.GetAhead() || last.GetPermitsAhead() != ticket.GetPermitsAhead() {
			u.tellPlace(ctx, call, basis, ticket)
		}
		last = ticket
		select {
		case <-time.After(max(waitEveryMin, min(every, ticket.GetKeptFor().AsDuration()/keptShare))):
		case <-ctx.Done():
			return basis, nil, ctx.Err()
		}
	}
}

// look asks once, when it is its turn.
func (u *unaryCalls) look(ctx context.Context, request *rowlockv1.AcquireRequest) (
	time.Duration, *rowlockv1.AcquireResponse, error,
) {
	select {
	case u.waitSlots <- struct{}{}:
		defer func() { <-u.waitSlots }()
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	basis := u.turns.now()
	ctx, cancel := context.WithTimeout(ctx, unaryCallMax)
	defer cancel()
	answer, err := u.service.Acquire(ctx, request)
	return basis, answer, err
}

func (u *unaryCalls) tellPlace(ctx context.Context, call uint64, basis time.Duration, ticket *rowlockv1.Ticket) {
	result := waitResult(&rowlockv1.WaitInQueueResponse{
		Update: &rowlockv1.WaitInQueueResponse_Position{Position: ticket},
	})
	result.Call = call
	u.turns.take(func() {
		if ctx.Err() == nil && !u.isOver {
			u.owner.responded(u, &rowlockv1.SessionResponse{Results: []*rowlockv1.SessionResult{result}}, basis)
		}
	})
}

func waitResult(update *rowlockv1.WaitInQueueResponse) *rowlockv1.SessionResult {
	return &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_WaitInQueue{WaitInQueue: update}}
}

// Captures without a session.

package rowlock

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// capture asks for some of many locks. A capture that waits repeats short calls: if one long call were cancelled, its
// answer would be lost and the leases left behind. A caller that gives up gets the last answer, and gives its leases
// back.
func (u *unaryConnection) capture(ctx context.Context, asked *rowlockv1.CaptureRequest) (
	time.Duration, *rowlockv1.SessionResult, error,
) {
	request := proto.CloneOf(asked)
	request.Terms = u.ownedTerms(asked.GetTerms())
	request.MaxWait = nil
	until := u.turns.now() + asked.GetMaxWait().AsDuration()
	for {
		basis, answer, err := u.captureOnce(ctx, request, asked.GetMaxWait() != nil)
		left := until - u.turns.now()
		if err != nil || len(answer.GetLeases()) > 0 || left <= 0 || ctx.Err() != nil {
			return basis, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Capture{Capture: answer}}, err
		}
		select {
		case <-time.After(min(pollEveryMax, left)):
		case <-ctx.Done():
		}
	}
}

// captureOnce asks once, when a slot is free. A caller that has given up by then asks for nothing.
func (u *unaryConnection) captureOnce(ctx context.Context, request *rowlockv1.CaptureRequest, isWait bool) (
	time.Duration, *rowlockv1.CaptureResponse, error,
) {
	if isWait {
		select {
		case u.pollSlots <- struct{}{}:
			defer func() { <-u.pollSlots }()
		case <-ctx.Done():
		}
	}
	basis := u.turns.now()
	if ctx.Err() != nil {
		return basis, &rowlockv1.CaptureResponse{}, nil
	}
	// With the headers of the call, and without its end.
	headers, _ := metadata.FromOutgoingContext(ctx)
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(u.ctx, headers), answerWithin)
	defer cancel()
	answer, err := u.service.Capture(ctx, request)
	return basis, answer, err
}

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// capture asks for some of many locks. One that waits is one long call; where as many as may last do so already, it looks for
// itself now and then.
func (u *unaryCalls) capture(ctx context.Context, asked *rowlockv1.CaptureRequest) (
	time.Duration, *rowlockv1.SessionResult, error,
) {
	request := proto.CloneOf(asked)
	request.Owner, request.Labels = u.ownerOf(asked), u.labelsOf(asked)
	until := u.turns.now() + asked.GetMaxWait().AsDuration()
	for {
		basis, answer, err := u.captureOnce(ctx, request, until)
		left := until - u.turns.now()
		if err != nil || len(answer.GetLeases()) > 0 || left <= 0 {
			return basis, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Capture{Capture: answer}}, err
		}
		select {
		case <-time.After(min(waitEvery, left)):
		case <-ctx.Done():
			return basis, nil, ctx.Err()
		}
	}
}

// captureOnce waits in the call as long as it may.
func (u *unaryCalls) captureOnce(ctx context.Context, request *rowlockv1.CaptureRequest, until time.Duration) (
	time.Duration, *rowlockv1.CaptureResponse, error,
) {
	request.MaxWait = nil
	if left := until - u.turns.now(); left > 0 {
		slots := u.captureSlots
		select {
		case slots <- struct{}{}:
			request.MaxWait = durationpb.New(left)
		default:
			slots = u.waitSlots
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return 0, nil, ctx.Err()
			}
		}
		defer func() { <-slots }()
	}
	basis := u.turns.now()
	ctx, cancel := context.WithTimeout(ctx, unaryCallMax+request.GetMaxWait().AsDuration())
	defer cancel()
	answer, err := u.service.Capture(ctx, request)
	return basis, answer, err
}

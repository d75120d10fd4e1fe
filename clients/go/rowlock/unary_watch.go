// Watches without a session.

package rowlock

import (
	"context"
	"io"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// watch reports what the server streams. If something on the way ends the stream in good order, watch opens another one,
// which begins with a new snapshot.
func (u *unaryConnection) watch(ctx context.Context, call uint64, request *rowlockv1.WatchLocksRequest) (
	time.Duration, *rowlockv1.SessionResult, error,
) {
	for beginsAnew := false; ; beginsAnew = true {
		if err := u.watchOnce(ctx, call, request, beginsAnew); err != io.EOF {
			return 0, nil, err
		}
		select {
		case <-time.After(pollEveryMax):
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
}

func (u *unaryConnection) watchOnce(
	ctx context.Context, call uint64, request *rowlockv1.WatchLocksRequest, beginsAnew bool,
) error {
	stream, err := u.service.WatchLocks(ctx, request)
	if err != nil {
		return err
	}
	for {
		update, err := stream.Recv()
		if err != nil {
			return err
		}
		update.BeganAnew = update.GetBeganAnew() || beginsAnew
		beginsAnew = false
		result := &rowlockv1.SessionResult{Call: call, Result: &rowlockv1.SessionResult_WatchLocks{WatchLocks: update}}
		u.turns.take(func() {
			if ctx.Err() == nil && !u.isOver {
				u.listener.responded(u, &rowlockv1.SessionResponse{Results: []*rowlockv1.SessionResult{result}}, u.turns.now())
			}
		})
	}
}

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// UpdateOption is something to set by [Client.UpdateLock]. What is not named stays as it is.
type UpdateOption interface {
	ofUpdate(*updateOptions)
}

type updateOption func(*updateOptions)

func (set updateOption) ofUpdate(o *updateOptions) { set(o) }

type updateOptions struct {
	recordChanges
	notBefore   *time.Time
	notBeforeIn *durationpb.Duration
	version     *uint64
}

// NotBefore has nothing granted before this instant of the database's clock. One that has passed makes the lock due since then,
// before others in a capture. The zero time: it may be granted at any time.
func NotBefore(at time.Time) UpdateOption {
	return updateOption(func(o *updateOptions) { o.notBefore = &at })
}

// NotBeforeIn is [NotBefore] as a time from now, for whose own clock may differ from the database's.
func NotBeforeIn(pause time.Duration) UpdateOption {
	return updateOption(func(o *updateOptions) { o.notBeforeIn = durationpb.New(pause) })
}

// UpdateLock sets any of what a lock remembers, and answers with all of it. It makes the lock where nobody has named it yet;
// a lease that is held is left alone. It is not repeated when its answer is lost, as that could undo what others have set since,
// but fails with [ErrConnectionLost].
func (c *Client) UpdateLock(ctx context.Context, name string, options ...UpdateOption) (Record, error) {
	request, err := updateRequestOf(name, options)
	if err != nil {
		return Record{}, err
	}
	result, err := c.ask(ctx, &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_UpdateLock{UpdateLock: request}},
		kind:    ordinary,
		repeat:  ifUnsent,
	})
	if err != nil {
		return Record{}, err
	}
	record := recordOf(result.GetUpdateLock().GetRecord())
	if record == nil {
		return Record{}, unexpected(result)
	}
	return *record, nil
}

// DeleteLock takes away what a lock remembers, as if it had never been named; its limit stays, and its tokens go on rising. It
// answers whether there was anything, and fails with [ErrLockInUse] while somebody holds the lock or waits for it. It is
// not repeated when its answer is lost, but fails with [ErrConnectionLost].
func (c *Client) DeleteLock(ctx context.Context, name string, options ...VersionOption) (bool, error) {
	request := &rowlockv1.DeleteLockRequest{Name: name}
	for _, option := range options {
		request.ExpectedVersion = &option.version
	}
	result, err := c.ask(ctx, &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_DeleteLock{DeleteLock: request}},
		kind:    ordinary,
		repeat:  ifUnsent,
	})
	return result.GetDeleteLock().GetDeleted(), err
}

// updateRequestOf is what to ask for, or what cannot work.
func updateRequestOf(name string, options []UpdateOption) (*rowlockv1.UpdateLockRequest, error) {
	o := &updateOptions{}
	for _, option := range options {
		option.ofUpdate(o)
	}
	attempts, areUnlimited, err := o.attempts()
	request := &rowlockv1.UpdateLockRequest{
		Name:              name,
		NotBeforeIn:       o.notBeforeIn,
		AttemptsLeft:      attempts,
		UnsetAttemptsLeft: areUnlimited,
		Status:            o.status,
		ExpectedVersion:   o.version,
	}
	if o.notBefore != nil {
		if request.UnsetNotBefore = o.notBefore.IsZero(); !request.UnsetNotBefore {
			request.NotBefore = timestamppb.New(*o.notBefore)
		}
	}
	return request, err
}

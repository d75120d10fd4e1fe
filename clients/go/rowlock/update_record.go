// How users change or delete a lock's record.

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// UpdateOption is something that [Client.UpdateRecord] sets. Without the option, the value stays as it is.
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

// NotBefore forbids grants before this instant of the database's clock, at most 10 years ahead. With an instant in the
// past, the lock is due since then, which puts it before others in a capture. The zero time removes the bound.
func NotBefore(at time.Time) UpdateOption {
	return updateOption(func(o *updateOptions) { o.notBefore = &at })
}

// NotBeforeIn is [NotBefore] as a time from now, 0 to 10 years, for programs whose clock may differ from the
// database's.
func NotBeforeIn(pause time.Duration) UpdateOption {
	return updateOption(func(o *updateOptions) { o.notBeforeIn = durationpb.New(pause) })
}

// UpdateRecord changes a lock's record and returns the new one. It creates the lock if nobody has named it yet, and
// leaves a held lease alone. At least one value must be set. If the answer is lost, UpdateRecord is not repeated but
// fails with [ErrConnectionLost]; after that, and after [ErrOutcomeUnknown], read the record back first, because a
// repeat could undo a change of somebody else. With [IfVersion] it fails with [ErrVersionMismatch].
func (c *Client) UpdateRecord(ctx context.Context, name string, options ...UpdateOption) (RecordView, error) {
	request, err := updateRequestOf(name, options)
	if err != nil {
		return RecordView{}, err
	}
	result, err := c.ask(ctx, &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_UpdateRecord{UpdateRecord: request}},
		kind:    kindOther,
		repeat:  repeatUnsent,
	})
	if err != nil {
		return RecordView{}, err
	}
	record := recordOf(result.GetUpdateRecord().GetRecord())
	if record == nil {
		return RecordView{}, unexpected(result)
	}
	return *record, nil
}

// DeleteRecord removes a lock's record, as if the lock had never been named. Its limit stays, and its tokens go on
// rising. It reports whether there was a record. It fails with [ErrLockInUse] while somebody holds the lock or waits
// for it. If the answer is lost, DeleteRecord is not repeated but fails with [ErrConnectionLost]: read the lock back
// first.
func (c *Client) DeleteRecord(ctx context.Context, name string, options ...VersionOption) (bool, error) {
	request := &rowlockv1.DeleteRecordRequest{Name: name}
	for _, option := range options {
		request.ExpectedVersion = &option.version
	}
	result, err := c.ask(ctx, &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_DeleteRecord{DeleteRecord: request}},
		kind:    kindOther,
		repeat:  repeatUnsent,
	})
	return result.GetDeleteRecord().GetDeleted(), err
}

// updateRequestOf builds the request. It fails for options that cannot work.
func updateRequestOf(name string, options []UpdateOption) (*rowlockv1.UpdateRecordRequest, error) {
	o := &updateOptions{}
	for _, option := range options {
		option.ofUpdate(o)
	}
	attempts, areUnlimited, err := o.attempts()
	request := &rowlockv1.UpdateRecordRequest{
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

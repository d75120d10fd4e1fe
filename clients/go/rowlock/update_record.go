// How users change or delete a lock's record.

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
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
	changeOptions
	notBefore   *time.Time
	notBeforeIn *durationpb.Duration
}

// NotBefore forbids grants before this instant of the database's clock, at most 10 years ahead. With an instant in the
// past, the lock is due since then, which puts it before others in a capture. The zero time removes the bound.
func NotBefore(at time.Time) UpdateOption {
	return updateOption(func(o *updateOptions) { o.notBefore = &at })
}

// NotBeforeIn is [NotBefore] as a time from now, 0 to 10 years, for programs whose clock may differ from the
// database's. It excludes [NotBefore].
func NotBeforeIn(pause time.Duration) UpdateOption {
	return updateOption(func(o *updateOptions) { o.notBeforeIn = durationpb.New(pause) })
}

// UpdateRecord changes a lock's record and returns the new one. It creates the lock if nobody has named it yet, and
// leaves a held lease alone. At least one value must be set. If the answer is lost, UpdateRecord is not repeated but
// fails with [ErrConnectionLost]; after that, and after [ErrOutcomeUnknown], read the record back first, because a
// repeat could undo a change of somebody else. With [IfVersion] it fails with [ErrVersionMismatch]. [Because] says why.
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
func (c *Client) DeleteRecord(ctx context.Context, name string, options ...ChangeOption) (bool, error) {
	o := &changeOptions{}
	for _, option := range options {
		option(o)
	}
	request := &rowlockv1.DeleteRecordRequest{Name: name, ExpectedVersion: o.version, Reason: o.reason}
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
	attempts, areUnlimited, wrong := o.attempts()
	request := &rowlockv1.UpdateRecordRequest{
		Name:            name,
		Status:          o.status,
		ExpectedVersion: o.version,
		Reason:          o.reason,
	}
	switch {
	case areUnlimited:
		request.NewAttemptsLeft = &rowlockv1.UpdateRecordRequest_UnsetAttemptsLeft{UnsetAttemptsLeft: &emptypb.Empty{}}
	case attempts != nil:
		request.NewAttemptsLeft = &rowlockv1.UpdateRecordRequest_AttemptsLeft{AttemptsLeft: *attempts}
	}
	switch {
	case o.notBefore != nil && o.notBeforeIn != nil:
		// The request has room for one of them, and would lose the other.
		wrong.add("NotBefore and NotBeforeIn", "set one of them")
	case o.notBeforeIn != nil:
		request.NewNotBefore = &rowlockv1.UpdateRecordRequest_NotBeforeIn{NotBeforeIn: o.notBeforeIn}
	case o.notBefore != nil && o.notBefore.IsZero():
		request.NewNotBefore = &rowlockv1.UpdateRecordRequest_UnsetNotBefore{UnsetNotBefore: &emptypb.Empty{}}
	case o.notBefore != nil:
		request.NewNotBefore = &rowlockv1.UpdateRecordRequest_NotBefore{NotBefore: timestamppb.New(*o.notBefore)}
	}
	return request, wrong.err()
}

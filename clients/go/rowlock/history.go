// The past, over all pages: claims that are live or have ended, and changes that somebody made.

package rowlock

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ListClaimsOptions says which claims [Client.ListClaims] lists. Zero values do not restrict.
type ListClaimsOptions struct {
	// LockName is the lock that they belong to; not with Prefix.
	LockName string `json:"lockName"`
	// Prefix is what the names of their locks begin with, at most 255 bytes.
	Prefix string `json:"prefix"`
	// Owner is who asked for them, as they say, and Principal is who that is, as the server has verified.
	Owner     string `json:"owner"`
	Principal string `json:"principal"`
	// Labels are labels that all of them have.
	Labels map[string]string `json:"labels"`
	// States are the states that they may be in.
	States []ClaimState `json:"states"`
	// EndReasons are the ways in which they may have ended: [ErrReleased], [ErrExpired], ... Live claims are then left out.
	EndReasons []Reason `json:"endReasons"`
	// From and Until bound the time when they ended, From included. If Until lies in the past, live claims are left out.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// HeldAt is when they held the lock LockName, which it needs.
	HeldAt time.Time `json:"heldAt,omitzero"`
	// PageSize is how many claims to ask for at once, at most 1,000; 0: as many as the server likes.
	PageSize int32 `json:"pageSize"`
	// CompleteFrom, unless nil, is called with each page, before its claims. Earlier ones than this instant may have been
	// forgotten, so that finding nothing then proves nothing.
	CompleteFrom func(from time.Time) `json:"-"`
}

// ListChangesOptions says which changes [Client.ListChanges] lists. Zero values do not restrict.
type ListChangesOptions struct {
	// LockName is the lock that they changed, itself or by a pattern that matches its name; not with Prefix.
	LockName string `json:"lockName"`
	// Prefix is what their names, patterns and pools begin with, at most 255 bytes.
	Prefix string `json:"prefix"`
	// Kinds are what they may have changed.
	Kinds []ChangeKind `json:"kinds"`
	// From and Until bound the time when they were made, From included.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// ChangedBy is who made them: a principal or an address.
	ChangedBy string `json:"changedBy"`
	// PageSize is how many changes to ask for at once, at most 1,000; 0: as many as the server likes.
	PageSize int32 `json:"pageSize"`
	// CompleteFrom, unless nil, is called with each page, before its changes. Earlier ones than this instant may have been
	// forgotten, so that finding nothing then proves nothing.
	CompleteFrom func(from time.Time) `json:"-"`
}

var protoClaimStates = map[ClaimState]rowlockv1.ClaimState{
	ClaimWaiting: rowlockv1.ClaimState_CLAIM_STATE_WAITING,
	ClaimHeld:    rowlockv1.ClaimState_CLAIM_STATE_HELD,
	ClaimEnded:   rowlockv1.ClaimState_CLAIM_STATE_ENDED,
}

// ListClaims lists claims over all pages: live ones in the order of their locks' names, then ended ones, newest first,
// as far back as the server's history goes. It ends at the first error. It is safe to repeat; pages are not a snapshot
// of one moment.
func (c *Client) ListClaims(ctx context.Context, options ListClaimsOptions) iter.Seq2[ClaimView, error] {
	asked := &rowlockv1.ListClaimsRequest{
		Owner: options.Owner, Principal: options.Principal, Labels: options.Labels, PageSize: options.PageSize,
		From: instantOf(options.From), Until: instantOf(options.Until),
	}
	// The request has room for one of these, and would lose the others.
	switch {
	case options.LockName != "" && options.Prefix != "":
		return failing[ClaimView](eitherLockOrPrefix())
	case !options.HeldAt.IsZero() && options.LockName == "":
		return failing[ClaimView](mistake("HeldAt", "needs the name of a lock: set LockName"))
	case !options.HeldAt.IsZero():
		heldAt := &rowlockv1.HeldAt{LockName: options.LockName, At: instantOf(options.HeldAt)}
		asked.Locks = &rowlockv1.ListClaimsRequest_HeldAt{HeldAt: heldAt}
	case options.LockName != "":
		asked.Locks = &rowlockv1.ListClaimsRequest_LockName{LockName: options.LockName}
	case options.Prefix != "":
		asked.Locks = &rowlockv1.ListClaimsRequest_Prefix{Prefix: options.Prefix}
	}
	for _, state := range options.States {
		value, isState := protoClaimStates[state]
		if !isState {
			return failing[ClaimView](mistake("States", fmt.Sprintf("%q is not a state", state)))
		}
		asked.States = append(asked.States, value)
	}
	for _, reason := range options.EndReasons {
		value, isReason := rowlockv1.EndReason_value["END_REASON_"+string(reason)]
		if !isReason {
			return failing[ClaimView](mistake("EndReasons", fmt.Sprintf("%q is not a way to end", reason)))
		}
		asked.EndReasons = append(asked.EndReasons, rowlockv1.EndReason(value))
	}
	// The caller may change its map while the listing goes on.
	asked.Labels = maps.Clone(asked.Labels)
	return pages(claimOf, func(token string) ([]*rowlockv1.Claim, string, error) {
		request := proto.CloneOf(asked)
		request.PageToken = token
		result, err := c.ask(ctx, &question{
			command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ListClaims{ListClaims: request}},
			kind:    kindOther,
		})
		reportBegin(result.GetListClaims().GetCompleteFrom(), options.CompleteFrom)
		return result.GetListClaims().GetClaims(), result.GetListClaims().GetNextPageToken(), err
	})
}

// ListChanges lists changes of limits, records and policies, and forced releases, newest first, over all pages. It ends
// at the first error. It is safe to repeat; pages are not a snapshot of one moment.
func (c *Client) ListChanges(ctx context.Context, options ListChangesOptions) iter.Seq2[ChangeView, error] {
	asked := &rowlockv1.ListChangesRequest{
		ChangedBy: options.ChangedBy, PageSize: options.PageSize,
		From: instantOf(options.From), Until: instantOf(options.Until),
	}
	switch {
	case options.LockName != "" && options.Prefix != "":
		return failing[ChangeView](eitherLockOrPrefix())
	case options.LockName != "":
		asked.Locks = &rowlockv1.ListChangesRequest_LockName{LockName: options.LockName}
	case options.Prefix != "":
		asked.Locks = &rowlockv1.ListChangesRequest_Prefix{Prefix: options.Prefix}
	}
	for _, kind := range options.Kinds {
		value, isKind := protoChangeKinds[kind]
		if !isKind {
			return failing[ChangeView](mistake("Kinds", fmt.Sprintf("%q is not a kind of change", kind)))
		}
		asked.Kinds = append(asked.Kinds, value)
	}
	return pages(changeOf, func(token string) ([]*rowlockv1.Change, string, error) {
		request := proto.CloneOf(asked)
		request.PageToken = token
		result, err := c.ask(ctx, &question{
			command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ListChanges{ListChanges: request}},
			kind:    kindOther,
		})
		reportBegin(result.GetListChanges().GetCompleteFrom(), options.CompleteFrom)
		return result.GetListChanges().GetChanges(), result.GetListChanges().GetNextPageToken(), err
	})
}

// reportBegin reports where history begins; servers of earlier versions do not say.
func reportBegin(from *timestamppb.Timestamp, report func(time.Time)) {
	if from != nil && report != nil {
		report(from.AsTime())
	}
}

func eitherLockOrPrefix() error {
	return mistake("LockName and Prefix", "set one of them")
}

// failing is a listing that cannot be asked for.
func failing[View any](err error) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		var none View
		yield(none, err)
	}
}

// instantOf converts a time; the zero time stands for none.
func instantOf(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

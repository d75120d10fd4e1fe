// Who may wait for a lock: what an operator sets, and what is in force.

package rowlock

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// WhenFull is what becomes of a request that would wait, and finds as many waiting as may.
type WhenFull string

const (
	// Refuse refuses it with [ErrQueueFull].
	Refuse WhenFull = "refuse"
	// EndLongestWaiting lets the newest win: the claim that has waited longest ends with [ErrSuperseded], and the new one waits.
	// To end the wait of another principal takes the right supersede.
	EndLongestWaiting WhenFull = "end longest waiting"
)

// QueueRules say who may wait for a lock, and in which order. Without them as many may wait as the server allows, in order of
// arrival.
type QueueRules struct {
	// WaitingMax is the most claims that wait, 1 to 1,000,000; never more than the server allows. 0: as many as the server
	// allows; then ShareBy or HeadStartMax must be set.
	WaitingMax uint32 `json:"waitingMax"`
	// WhenFull is [Refuse] if it is empty.
	WhenFull WhenFull `json:"whenFull"`
	// ShareBy says between whom shares of the lock are fair: "principal", or "label:" and the key of a label, such as
	// "label:tenant". Claims with the same principal, or the same value of the label, are a group. The next grant goes to the
	// group that holds the fewest permits of the lock then, of several such to the one that has waited longest for its turn.
	// Empty: the order is that of arrival. It does not go with [EndLongestWaiting].
	ShareBy string `json:"shareBy"`
	// HeadStartMax is the most by which a request may be queued as if it had come earlier: see [HeadStart]. 0: not at all. It does
	// not go with ShareBy or [EndLongestWaiting].
	HeadStartMax time.Duration `json:"headStartMaxNs"`
}

// QueueRulesView are the queue rules of a lock, and where they come from.
type QueueRulesView struct {
	// QueueRules have a WhenFull that is not empty.
	QueueRules
	// Source is [FromPattern] or [FromName].
	Source LimitSource `json:"source"`
	// Pattern is set if Source is [FromPattern], and the caller may see it.
	Pattern string `json:"pattern"`
	// Version is for [IfVersion] of the next change. A limit, a rate and queue rules share it.
	Version uint64 `json:"version,string"`
	Reason  string `json:"reason"`
}

type queueRulesOption func(*rowlockv1.SetLimitRequest)

func (set queueRulesOption) ofLimit(o *changeOptions) { o.setQueueRules = set }

// WithQueueRules sets queue rules too, in the one change of a limit or a rate.
func WithQueueRules(rules QueueRules) LimitOption {
	return queueRulesOption(func(request *rowlockv1.SetLimitRequest) {
		request.NewQueueRules = &rowlockv1.SetLimitRequest_QueueRules{QueueRules: rules.proto()}
	})
}

// WithoutQueueRules removes the queue rules too, in the one change of a limit or a rate.
func WithoutQueueRules() LimitOption {
	return queueRulesOption(func(request *rowlockv1.SetLimitRequest) {
		request.NewQueueRules = &rowlockv1.SetLimitRequest_UnsetQueueRules{UnsetQueueRules: &emptypb.Empty{}}
	})
}

// SetQueueRules sets who may wait for a lock, or for each lock under a pattern. A pool has no queue rules. It fails as
// [Client.SetLimit].
func (c *Client) SetQueueRules(
	ctx context.Context, target LimitTarget, rules QueueRules, options ...LimitOption,
) (LimitInForce, error) {
	some := &rowlockv1.SetLimitRequest_QueueRules{QueueRules: rules.proto()}
	return c.changeLimit(ctx, target, &rowlockv1.SetLimitRequest{NewQueueRules: some}, options)
}

// UnsetQueueRules removes the queue rules of a setting, so that those of the next best pattern apply, or none. It fails as
// [Client.SetLimit].
func (c *Client) UnsetQueueRules(ctx context.Context, target LimitTarget, options ...LimitOption) (LimitInForce, error) {
	none := &rowlockv1.SetLimitRequest_UnsetQueueRules{UnsetQueueRules: &emptypb.Empty{}}
	return c.changeLimit(ctx, target, &rowlockv1.SetLimitRequest{NewQueueRules: none}, options)
}

func (r QueueRules) proto() *rowlockv1.QueueRules {
	whenFull := rowlockv1.WhenFull_WHEN_FULL_REFUSE
	if r.WhenFull == EndLongestWaiting {
		whenFull = rowlockv1.WhenFull_WHEN_FULL_END_LONGEST_WAITING
	}
	return &rowlockv1.QueueRules{
		WaitingMax:   r.WaitingMax,
		WhenFull:     whenFull,
		ShareBy:      r.ShareBy,
		HeadStartMax: protoOf(r.HeadStartMax),
	}
}

// queueRulesOf is nil for no queue rules.
func queueRulesOf(rules *rowlockv1.QueueRules) *QueueRules {
	if rules == nil {
		return nil
	}
	whenFull := Refuse
	if rules.GetWhenFull() == rowlockv1.WhenFull_WHEN_FULL_END_LONGEST_WAITING {
		whenFull = EndLongestWaiting
	}
	return &QueueRules{
		WaitingMax:   rules.GetWaitingMax(),
		WhenFull:     whenFull,
		ShareBy:      rules.GetShareBy(),
		HeadStartMax: rules.GetHeadStartMax().AsDuration(),
	}
}

// queueRulesViewOf is nil for no queue rules.
func queueRulesViewOf(rules *rowlockv1.QueueRulesInForce) *QueueRulesView {
	if rules == nil {
		return nil
	}
	return &QueueRulesView{
		QueueRules: *queueRulesOf(rules.GetRules()),
		Source:     sourceOf(rules.GetSource()),
		Pattern:    rules.GetPattern(),
		Version:    rules.GetVersion(),
		Reason:     rules.GetReason(),
	}
}

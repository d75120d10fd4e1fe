// How an operator changes limits, rates and queue rules.

package rowlock

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// LimitTarget is a lock, a pattern or a pool whose settings are changed: see [ForName], [ForPattern] and [ForPool].
type LimitTarget struct {
	kind targetKind
	text string
}

type targetKind int

const (
	targetName targetKind = iota
	targetPattern
	targetPool
)

// ForName is one lock. Its own limit or rate overrides every pattern.
func ForName(name string) LimitTarget {
	return LimitTarget{text: name}
}

// ForPattern is every lock whose name begins with the text before the star, as in etl/*. The star stands at the end,
// and the pattern has at most 255 bytes. Each matching lock has a limit, a rate and queue rules of its own. The longest matching
// pattern that has a limit wins, the longest one that has a rate, and the longest one that has queue rules.
func ForPattern(pattern string) LimitTarget {
	return LimitTarget{kind: targetPattern, text: pattern}
}

// ForPool is all locks together whose names begin with the text before the star, as in openai/*: with a limit of 50, all leases
// under it have at most 50 permits at once. The pattern has at most 247 bytes. A claim takes its own lock first, then the pools over
// it, narrow to wide, and waits at the first one without room. A pool with neither a limit nor a rate is removed. A pattern of the
// same text is another setting.
func ForPool(pattern string) LimitTarget {
	return LimitTarget{kind: targetPool, text: pattern}
}

// LimitOption is an option of [Client.SetLimit], [Client.UnsetLimit], [Client.SetRate], [Client.UnsetRate],
// [Client.SetQueueRules] and [Client.UnsetQueueRules].
type LimitOption interface {
	ofLimit(*changeOptions)
}

type rateOption func(*rowlockv1.SetLimitRequest)

func (set rateOption) ofLimit(o *changeOptions) { o.setRate = set }

// WithRate sets a rate too, in the one change of [Client.SetLimit] or [Client.UnsetLimit].
func WithRate(rate Rate) LimitOption {
	return rateOption(func(request *rowlockv1.SetLimitRequest) {
		request.NewRate = &rowlockv1.SetLimitRequest_Rate{Rate: rate.proto()}
	})
}

// WithoutRate removes the rate too, in the one change of [Client.SetLimit] or [Client.UnsetLimit]; with the latter, it removes a
// pool.
func WithoutRate() LimitOption {
	return rateOption(func(request *rowlockv1.SetLimitRequest) {
		request.NewRate = &rowlockv1.SetLimitRequest_UnsetRate{UnsetRate: &emptypb.Empty{}}
	})
}

// LimitInForce is what is in force after a change. For a pattern, HeldPermits and WaiterCount are sums over the
// matching locks; for a pool, permits of it that are taken, and claims that wait at it.
type LimitInForce struct {
	// Limit is 0 and means nothing if NoLimit.
	Limit       uint32 `json:"limit"`
	Version     uint64 `json:"version,string"`
	HeldPermits uint64 `json:"heldPermits,string"`
	WaiterCount uint64 `json:"waiterCount,string"`
	// Draining: more is held than the limit allows.
	Draining bool `json:"draining"`
	// ServersBehind counts, for a pattern and for a pool that was made or removed, the servers that may still grant by the old
	// limit and rate; usually 0.
	ServersBehind uint32 `json:"serversBehind"`
	// Rate is the rate in force; nil: none.
	Rate *Rate `json:"rate,omitzero"`
	// QueueRules are the queue rules in force; nil: none.
	QueueRules *QueueRules `json:"queueRules,omitzero"`
	// NoLimit: the pool has no limit.
	NoLimit bool `json:"noLimit"`
	// Counting: the pool is new, and servers still count those who held before. They come on top of HeldPermits.
	Counting bool `json:"counting"`
}

// SetLimit sets how many permits may be held at once, 0 to 1,000,000; 0 pauses the lock. A lower limit revokes nothing.
// If the answer is lost, SetLimit is not repeated but fails with [ErrConnectionLost]; after that, and after
// [ErrOutcomeUnknown], read the limit back first, because a repeat could undo a change of somebody else.
func (c *Client) SetLimit(
	ctx context.Context, target LimitTarget, limit int, options ...LimitOption,
) (LimitInForce, error) {
	if limit < 0 || limit > math.MaxUint32 {
		return LimitInForce{}, mistake("limit", fmt.Sprintf("%d is not between 0 and 4294967295", limit))
	}
	permits := &rowlockv1.SetLimitRequest_Limit{Limit: uint32(limit)}
	return c.changeLimit(ctx, target, &rowlockv1.SetLimitRequest{NewLimit: permits}, options)
}

// UnsetLimit removes a setting, so that the next best pattern or the default of 1 applies. It fails as
// [Client.SetLimit].
func (c *Client) UnsetLimit(ctx context.Context, target LimitTarget, options ...LimitOption) (LimitInForce, error) {
	none := &rowlockv1.SetLimitRequest_UnsetLimit{UnsetLimit: &emptypb.Empty{}}
	return c.changeLimit(ctx, target, &rowlockv1.SetLimitRequest{NewLimit: none}, options)
}

// SetRate sets how fast the lock may be granted. It stands beside the limit, which stays as it is. Every grant takes as many
// permits of the rate as it asks for, and the first in the queue waits until the rate allows that. It fails as
// [Client.SetLimit]. See [Client.Spend].
func (c *Client) SetRate(ctx context.Context, target LimitTarget, rate Rate, options ...LimitOption) (LimitInForce, error) {
	some := &rowlockv1.SetLimitRequest_Rate{Rate: rate.proto()}
	return c.changeLimit(ctx, target, &rowlockv1.SetLimitRequest{NewRate: some}, options)
}

// UnsetRate removes the rate of a setting, so that the rate of the next best pattern applies, or none. It fails as
// [Client.SetLimit].
func (c *Client) UnsetRate(ctx context.Context, target LimitTarget, options ...LimitOption) (LimitInForce, error) {
	none := &rowlockv1.SetLimitRequest_UnsetRate{UnsetRate: &emptypb.Empty{}}
	return c.changeLimit(ctx, target, &rowlockv1.SetLimitRequest{NewRate: none}, options)
}

func (c *Client) changeLimit(
	ctx context.Context, target LimitTarget, request *rowlockv1.SetLimitRequest, options []LimitOption,
) (LimitInForce, error) {
	switch target.kind {
	case targetPattern:
		request.Target = &rowlockv1.SetLimitRequest_Pattern{Pattern: target.text}
	case targetPool:
		request.Target = &rowlockv1.SetLimitRequest_Pool{Pool: target.text}
	default:
		request.Target = &rowlockv1.SetLimitRequest_Name{Name: target.text}
	}
	o := &changeOptions{}
	for _, option := range options {
		option.ofLimit(o)
	}
	if o.setRate != nil {
		if request.NewRate != nil {
			return LimitInForce{}, mistake("rate", "WithRate and WithoutRate are for changes of a limit")
		}
		o.setRate(request)
	}
	if o.setQueueRules != nil {
		if request.NewQueueRules != nil {
			return LimitInForce{}, mistake("queue rules", "WithQueueRules and WithoutQueueRules are for changes of a limit or a rate")
		}
		o.setQueueRules(request)
	}
	request.ExpectedVersion, request.Reason = o.version, o.reason
	result, err := c.ask(ctx, &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_SetLimit{SetLimit: request}},
		kind:    kindOther,
		repeat:  repeatUnsent,
	})
	answer := result.GetSetLimit()
	return LimitInForce{
		Limit:         answer.GetLimit(),
		Version:       answer.GetVersion(),
		HeldPermits:   answer.GetHeldPermits(),
		WaiterCount:   answer.GetWaiterCount(),
		Draining:      answer.GetDraining(),
		ServersBehind: answer.GetServersBehind(),
		Rate:          rateOf(answer.GetRate()),
		QueueRules:    queueRulesOf(answer.GetQueueRules()),
		NoLimit:       answer.GetNoLimit(),
		Counting:      answer.GetCounting(),
	}, err
}

// How an operator changes limits and rates.

package rowlock

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// LimitTarget is a lock or a pattern whose limit or rate is set: see [ForName] and [ForPattern].
type LimitTarget struct {
	isPattern bool
	text      string
}

// ForName is one lock. Its own limit or rate overrides every pattern.
func ForName(name string) LimitTarget {
	return LimitTarget{text: name}
}

// ForPattern is every lock whose name begins with the text before the star, as in etl/*. The star stands at the end,
// and the pattern has at most 255 bytes. Each matching lock has a limit and a rate of its own. The longest matching
// pattern that has a limit wins, and the longest one that has a rate.
func ForPattern(pattern string) LimitTarget {
	return LimitTarget{isPattern: true, text: pattern}
}

// LimitOption is an option of [Client.SetLimit], [Client.UnsetLimit], [Client.SetRate] and [Client.UnsetRate].
type LimitOption interface {
	ofLimit(*changeOptions)
}

// LimitInForce is what is in force after a change. For a pattern, HeldPermits and WaiterCount are sums over the
// matching locks.
type LimitInForce struct {
	Limit       uint32 `json:"limit"`
	Version     uint64 `json:"version,string"`
	HeldPermits uint64 `json:"heldPermits,string"`
	WaiterCount uint64 `json:"waiterCount,string"`
	// Draining: more is held than the limit allows.
	Draining bool `json:"draining"`
	// ServersBehind counts, for a pattern, the servers that may still grant by the old limit and rate; usually 0.
	ServersBehind uint32 `json:"serversBehind"`
	// Rate is the rate in force; nil: none.
	Rate *Rate `json:"rate,omitzero"`
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
	request.Target = &rowlockv1.SetLimitRequest_Name{Name: target.text}
	if target.isPattern {
		request.Target = &rowlockv1.SetLimitRequest_Pattern{Pattern: target.text}
	}
	o := &changeOptions{}
	for _, option := range options {
		option.ofLimit(o)
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
	}, err
}

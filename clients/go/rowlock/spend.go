// How a program takes permits of a rate without holding anything.

package rowlock

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Spent is what a spend took. It is over: there is nothing to renew or release.
type Spent struct {
	// Name is the lock.
	Name string `json:"name"`
	// Permits is how many permits it took of the rate.
	Permits uint32 `json:"permits"`
	// Token is the fencing token of its grant.
	Token uint64 `json:"token,string"`
	// SpentAt is when it was granted, by the database's clock.
	SpentAt time.Time `json:"spentAt,omitzero"`
	// RequestID is the id of the request: that of the option [RequestID], or the client's own.
	RequestID string `json:"requestId"`
}

// Spend waits for its turn in the queue until the lock's rate allows it, and takes permits of the rate: see
// [Client.SetRate]. It holds nothing, so it needs no room beside the holders, and there is nothing to release. It fails as
// [Client.Lock] does. With [Wait] of 0 it fails with [ErrRate] if it is too early, and [Error.RetryAfter] says when it is
// not. The same [RequestID] gets the same Spent, so nobody pays twice. When ctx is done, the place in the queue is
// free at once, but what was granted meanwhile is spent. The options of what is held do not apply: [As], [Also], [TTL],
// [Margin], [MinInterval], [LockDelay], [StatusIfLost] and [Backoff].
func (c *Client) Spend(ctx context.Context, name string, options ...LockOption) (Spent, error) {
	spent, refusal, err := c.spend(ctx, name, options)
	if refusal != nil {
		return Spent{}, refusedError(name, refusal)
	}
	return spent, err
}

// TrySpend spends and returns true if that is allowed now. It returns false if others wait before it, if the lock is
// paused or not due, or if its rate does not allow it yet. Other refusals are errors. Otherwise it acts as [Client.Spend].
func (c *Client) TrySpend(ctx context.Context, name string, options ...LockOption) (Spent, bool, error) {
	spent, refusal, err := c.spend(ctx, name, butTry(options))
	switch {
	case err != nil:
		return Spent{}, false, err
	case refusal == nil:
		return spent, true, nil
	case refusal.isOfNow():
		return Spent{}, false, nil
	default:
		return Spent{}, false, refusedError(name, refusal)
	}
}

func (c *Client) spend(ctx context.Context, name string, options []LockOption) (Spent, *Refusal, error) {
	asked, err := spendOptionsOf(options)
	if err != nil {
		return Spent{}, nil, err
	}
	got, err := c.acquire(ctx, name, asked)
	if got.spent == nil {
		return Spent{}, got.refusal, err
	}
	return *got.spent, nil, nil
}

// spendOptionsOf is lockOptionsOf for a spend, without the options of what is held.
func spendOptionsOf(options []LockOption) (*lockOptions, error) {
	o, err := lockOptionsOf(options)
	if err != nil {
		return nil, err
	}
	o.isSpend = true
	var wrong faults
	for _, one := range []struct {
		option string
		isSet  bool
	}{
		{"As", o.mode != Permit},
		{"Also", len(o.also) > 0},
		{"TTL", o.hasTTL},
		{"Margin", o.hasMargin},
		{"MinInterval", o.terms.minInterval != nil},
		{"LockDelay", o.terms.lockDelay != nil},
		{"StatusIfLost", o.terms.statusIfLost != nil},
		{"Backoff", o.terms.backoff != nil},
	} {
		if one.isSet {
			wrong.add(one.option, "is for what is held, and a spend holds nothing")
		}
	}
	return o, wrong.err()
}

func spentOf(spent *rowlockv1.Spent) *Spent {
	return &Spent{
		Name:      spent.GetLockName(),
		Permits:   spent.GetPermits(),
		Token:     spent.GetFencingToken(),
		SpentAt:   timeOf(spent.GetSpentAt()),
		RequestID: spent.GetRequestId(),
	}
}

// severalUnknown is the error for a server of an earlier version, which granted the first of several locks alone.
func severalUnknown() *Error {
	return newError(ErrUnknown, codes.Unimplemented, "this server grants one lock at a time: it is older than this client")
}

// spendsUnknown is the error for a server of an earlier version, which granted a lease instead.
func spendsUnknown() *Error {
	return newError(ErrUnknown, codes.Unimplemented, "this server cannot spend: it is older than this client")
}

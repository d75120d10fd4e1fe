// Why a claim waits.

package rowlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// WaitExplanation is why a claim waits, or why a request would have to.
type WaitExplanation struct {
	// Lock is without holders, waiters and record: the causes have what matters.
	Lock LockView `json:"lock"`
	// Claim is the waiter; nil for a request that would come now.
	Claim *ClaimView `json:"claim,omitzero"`
	// Causes are why it is not granted, the most important first. None: a request would be granted at once, or the waiter
	// is about to be.
	Causes []WaitCause `json:"causes"`
	// Summary is the same in one line for people, and not stable.
	Summary string `json:"summary"`
	// Estimate is how long the wait is likely to last; nil if too little is known.
	Estimate *WaitEstimate `json:"estimate,omitzero"`
}

// WaitCause is one cause why a lock is not granted. One of its fields but LockName is set; none, if a newer server has another cause.
type WaitCause struct {
	// Held: others hold what the claim needs.
	Held *HeldByOthers `json:"held,omitzero"`
	// Queued: others wait before it.
	Queued *QueuedBehind `json:"queued,omitzero"`
	// Limit: the limit is 0, or smaller than what is held or asked for.
	Limit *LimitInTheWay `json:"limit,omitzero"`
	// NotBefore: nothing is granted before this time.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Exhausted: the lock has no attempts left.
	Exhausted bool `json:"exhausted"`
	// Status: the lock's status, which is none of those that the claim wants.
	Status *string `json:"status,omitzero"`
	// FailedOverUntil: the database has failed over, and nothing is granted before this time.
	FailedOverUntil time.Time `json:"failedOverUntil,omitzero"`
	// Rows: another transaction holds the lock's rows in the database.
	Rows *RowsHeld `json:"rows,omitzero"`
	// Rate: the lock's rate does not allow the grant yet, or its burst is too small for the claim.
	Rate *RateInTheWay `json:"rate,omitzero"`
	// Pool: a pool over the lock has no room, or its rate does not allow the grant.
	Pool *PoolInTheWay `json:"pool,omitzero"`
	// LockName is, of a claim for several locks, the one with this cause. Empty: it is for one lock, or the cause is a pool.
	LockName string `json:"lockName,omitzero"`
}

// HeldByOthers is who holds what a claim needs.
type HeldByOthers struct {
	// Holders are the oldest, at most 10; none if the caller may not see them.
	Holders     []ClaimView `json:"holders"`
	HolderCount uint32      `json:"holderCount"`
	// FirstEndsAt is when the first of these leases ends if it is not renewed; zero: none of them has an end.
	FirstEndsAt time.Time `json:"firstEndsAt,omitzero"`
}

// QueuedBehind is who waits before a claim.
type QueuedBehind struct {
	Ahead        uint32 `json:"ahead"`
	PermitsAhead uint64 `json:"permitsAhead,string"`
	// First are the first of them, at most 10; none if the caller may not see them.
	First []ClaimView `json:"first"`
}

// LimitInTheWay is a limit, and who set it.
type LimitInTheWay struct {
	Limit LimitView `json:"limit"`
	// SetAt and SetBy are zero if the history no longer has them.
	SetAt time.Time `json:"setAt,omitzero"`
	SetBy string    `json:"setBy"`
}

// RateInTheWay is a rate, and from when on it allows the grant.
type RateInTheWay struct {
	Rate RateView `json:"rate"`
	// Until is when the rate allows the grant, if those that wait before are granted first; zero: never.
	Until time.Time `json:"until,omitzero"`
}

// PoolInTheWay is a pool at which a claim waits, or will.
type PoolInTheWay struct {
	Pool PoolView `json:"pool"`
	// WaitsHere: it waits there now. If not, it has another lock or pool to pass before.
	WaitsHere bool `json:"waitsHere"`
	// Ahead is how many wait there before it, or all if it does not wait there.
	Ahead        uint32 `json:"ahead"`
	PermitsAhead uint64 `json:"permitsAhead,string"`
	// RateUntil is when the rate of the pool allows the grant; zero: the rate is not in the way.
	RateUntil time.Time `json:"rateUntil,omitzero"`
}

// RowsHeld is a transaction of somebody else that holds the rows of a lock. What is zero is not known.
type RowsHeld struct {
	// ConnectionID is its connection at the database server.
	ConnectionID uint64 `json:"connectionId,string"`
	// User is the database user of that connection.
	User string `json:"user"`
	// HeldFor is how long the server has found the rows held.
	HeldFor time.Duration `json:"heldForNs"`
}

// WaitEstimate is how long a wait is likely to last from now on, judged by recent leases of the lock.
type WaitEstimate struct {
	Median time.Duration `json:"medianNs"`
	// Low: in one case of ten the wait is over by then. High: in nine cases of ten.
	Low  time.Duration `json:"lowNs"`
	High time.Duration `json:"highNs"`
	// Leases is how many leases this is based on.
	Leases uint32 `json:"leases"`
}

// ExplainWait says why a request for one permit of this lock would not be granted now. It is safe to repeat.
func (c *Client) ExplainWait(ctx context.Context, name string) (WaitExplanation, error) {
	return c.explainWait(ctx, &rowlockv1.ExplainWaitRequest{
		Target: &rowlockv1.ExplainWaitRequest_Name{Name: name},
	})
}

// ExplainWaitOfClaim says why a waiter waits, by the lock's name and its ticket number there: see
// [ClaimView.TicketNumber]. It fails with [ErrUnknownClaim] if that does not wait. It is safe to repeat.
func (c *Client) ExplainWaitOfClaim(ctx context.Context, name string, ticketNumber uint64) (WaitExplanation, error) {
	claim := &rowlockv1.ClaimReference{LockName: name, TicketNumber: ticketNumber}
	return c.explainWait(ctx, &rowlockv1.ExplainWaitRequest{
		Target: &rowlockv1.ExplainWaitRequest_Claim{Claim: claim},
	})
}

// ExplainWaitOfTicket says why a waiter waits, by its secret ticket id. It fails with [ErrUnknownClaim] if that does not
// wait. It is safe to repeat.
func (c *Client) ExplainWaitOfTicket(ctx context.Context, ticketID string) (WaitExplanation, error) {
	return c.explainWait(ctx, &rowlockv1.ExplainWaitRequest{
		Target: &rowlockv1.ExplainWaitRequest_TicketId{TicketId: ticketID},
	})
}

func (c *Client) explainWait(ctx context.Context, request *rowlockv1.ExplainWaitRequest) (WaitExplanation, error) {
	result, err := c.ask(ctx, &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ExplainWait{ExplainWait: request}},
		kind:    kindOther,
	})
	if err != nil {
		return WaitExplanation{}, err
	}
	return explanationOf(result.GetExplainWait()), nil
}

func explanationOf(explained *rowlockv1.ExplainWaitResponse) WaitExplanation {
	view := WaitExplanation{Lock: lockViewOf(explained.GetLock()), Summary: explained.GetSummary()}
	if explained.GetClaim() != nil {
		claim := claimOf(explained.GetClaim())
		view.Claim = &claim
	}
	for _, cause := range explained.GetCauses() {
		shown := causeOf(cause)
		shown.LockName = cause.GetLockName()
		view.Causes = append(view.Causes, shown)
	}
	if estimate := explained.GetEstimate(); estimate != nil {
		view.Estimate = &WaitEstimate{
			Median: estimate.GetMedian().AsDuration(),
			Low:    estimate.GetLow().AsDuration(),
			High:   estimate.GetHigh().AsDuration(),
			Leases: estimate.GetLeases(),
		}
	}
	return view
}

func causeOf(cause *rowlockv1.WaitCause) WaitCause {
	switch is := cause.GetCause().(type) {
	case *rowlockv1.WaitCause_Held:
		return WaitCause{Held: &HeldByOthers{
			claimsOf(is.Held.GetHolders()), is.Held.GetHolderCount(), timeOf(is.Held.GetFirstEndsAt()),
		}}
	case *rowlockv1.WaitCause_Queued:
		return WaitCause{Queued: &QueuedBehind{
			is.Queued.GetAhead(), is.Queued.GetPermitsAhead(), claimsOf(is.Queued.GetFirst()),
		}}
	case *rowlockv1.WaitCause_Limit:
		return WaitCause{Limit: &LimitInTheWay{
			limitOf(is.Limit.GetLimit()), timeOf(is.Limit.GetSetAt()), is.Limit.GetSetBy(),
		}}
	case *rowlockv1.WaitCause_NotBefore:
		return WaitCause{NotBefore: timeOf(is.NotBefore)}
	case *rowlockv1.WaitCause_Exhausted:
		return WaitCause{Exhausted: is.Exhausted}
	case *rowlockv1.WaitCause_Status:
		return WaitCause{Status: &is.Status}
	case *rowlockv1.WaitCause_FailedOverUntil:
		return WaitCause{FailedOverUntil: timeOf(is.FailedOverUntil)}
	case *rowlockv1.WaitCause_Rows:
		return WaitCause{Rows: &RowsHeld{
			is.Rows.GetConnectionId(), is.Rows.GetUser(), is.Rows.GetHeldFor().AsDuration(),
		}}
	case *rowlockv1.WaitCause_Rate:
		cause := &RateInTheWay{Until: timeOf(is.Rate.GetUntil())}
		if rate := rateViewOf(is.Rate.GetRate()); rate != nil {
			cause.Rate = *rate
		}
		return WaitCause{Rate: cause}
	case *rowlockv1.WaitCause_Pool:
		return WaitCause{Pool: &PoolInTheWay{
			poolViewOf(is.Pool), is.Pool.GetWaitsHere(), is.Pool.GetAhead(), is.Pool.GetPermitsAhead(),
			timeOf(is.Pool.GetRateUntil()),
		}}
	default:
		return WaitCause{}
	}
}

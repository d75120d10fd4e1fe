// The read-only views of locks, claims, limits, rates, queue rules and pools, as listings return them.

package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ClaimState is whether a claim holds its lock, waits for it, or is over.
type ClaimState string

const (
	// ClaimHeld: the claim holds its lock.
	ClaimHeld ClaimState = "held"
	// ClaimWaiting: the claim waits in the queue.
	ClaimWaiting ClaimState = "waiting"
	// ClaimEnded: the claim is over, for good. Only [Client.ListClaims] shows such claims.
	ClaimEnded ClaimState = "ended"
)

func claimStateOf(state rowlockv1.ClaimState) ClaimState {
	switch state {
	case rowlockv1.ClaimState_CLAIM_STATE_HELD:
		return ClaimHeld
	case rowlockv1.ClaimState_CLAIM_STATE_ENDED:
		return ClaimEnded
	default:
		return ClaimWaiting
	}
}

// ClaimView is a holder or a waiter, as listings show it; in [Client.ListClaims] also one that is over.
type ClaimView struct {
	LockName string `json:"lockName"`
	// TicketNumber identifies the claim within its lock: see [Client.ForceReleaseClaim].
	TicketNumber uint64     `json:"ticketNumber,string"`
	State        ClaimState `json:"state"`
	Mode         Mode       `json:"mode"`
	Permits      uint32     `json:"permits"`
	Owner        string     `json:"owner"`
	// Principal is who asked, as the server has verified it; Owner is only what the caller says. Empty if the server asks
	// nobody who they are.
	Principal string            `json:"principal"`
	Labels    map[string]string `json:"labels"`
	// Token is the fencing token; 0 if it was never granted.
	Token       uint64    `json:"token,string"`
	RequestedAt time.Time `json:"requestedAt,omitzero"`
	// GrantedAt is zero if it was never granted.
	GrantedAt time.Time `json:"grantedAt,omitzero"`
	// ExpiresAt is when the lease ends if it is not renewed, or the place if its waiter gives no sign of life; zero:
	// never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Provisional: it was granted, and nobody has confirmed the lease yet.
	Provisional bool `json:"provisional"`
	// End is how it ended; nil for a live claim.
	End *ClaimEndView `json:"end,omitzero"`
	// Replica is the server that kept its place in the queue; empty for a claim that did not wait.
	Replica string `json:"replica"`
	// SpendOnly: it only takes of the lock's rate: see [Client.Spend].
	SpendOnly bool `json:"spendOnly"`
	// Pool is the pattern of the pool at which it waits. Only [Client.GetLock] shows it. Empty: it waits at none that the caller
	// may see.
	Pool string `json:"pool"`
	// Also are the other locks of a claim for several, those that the caller may see. It waits, holds and ends at all of them
	// together.
	Also []ClaimedLock `json:"also,omitempty"`
}

// LimitSource is where the limit, the rate or the queue rules of a lock come from.
type LimitSource string

const (
	// FromDefault: nothing was set, and the limit is 1.
	FromDefault LimitSource = "default"
	// FromPattern: that of the longest pattern that matches the name and has one.
	FromPattern LimitSource = "pattern"
	// FromPool: that of a pool over the name.
	FromPool LimitSource = "pool"
	// FromName: that which was set for this very name.
	FromName LimitSource = "name"
)

// LimitView is how many permits may be held at once, and where that limit comes from.
type LimitView struct {
	Permits uint32      `json:"permits"`
	Source  LimitSource `json:"source"`
	// Pattern is set if Source is [FromPattern] or [FromPool], and the caller may see it.
	Pattern string `json:"pattern"`
	// Version is for [IfVersion] of the next change.
	Version uint64 `json:"version,string"`
	Reason  string `json:"reason"`
}

// PoolUse is what is used of a pool.
type PoolUse struct {
	// HeldPermits are taken: by holders, and by claims that wait at a wider pool.
	HeldPermits uint64 `json:"heldPermits,string"`
	// HolderCount is how many claims have them.
	HolderCount uint32 `json:"holderCount"`
	// WaiterCount is how many claims wait there.
	WaiterCount uint32 `json:"waiterCount"`
	// Draining: more is taken than the limit allows, because it was lowered, or made while others held.
	Draining bool `json:"draining"`
	// Counting: the pool is new, and servers still count those who held before it was made.
	Counting bool `json:"counting"`
	// Available is how many permits of its rate may be taken now; 0 if it has none.
	Available uint32 `json:"available"`
}

// PoolView is a pool, which counts all names under a pattern together.
type PoolView struct {
	// Pattern is empty if the caller may not see it.
	Pattern string `json:"pattern"`
	// Limit is how many permits all names under it may have at once; nil: any number.
	Limit *LimitView `json:"limit,omitzero"`
	// Rate is how fast they may be granted, all together; nil: as fast as they become free.
	Rate *RateView `json:"rate,omitzero"`
	Use  PoolUse   `json:"use"`
}

// LockView is a lock and its present state.
type LockView struct {
	Name        string    `json:"name"`
	Limit       LimitView `json:"limit"`
	HeldPermits uint64    `json:"heldPermits,string"`
	HolderCount uint32    `json:"holderCount"`
	// WaiterCount is how many wait for the lock, or for a pool over it.
	WaiterCount uint32 `json:"waiterCount"`
	// Draining: more is held than the limit allows, because the limit was lowered.
	Draining bool `json:"draining"`
	// LastToken is the latest fencing token; 0 if none was given.
	LastToken uint64 `json:"lastToken,string"`
	// Holders are the oldest holders, oldest first.
	Holders []ClaimView `json:"holders"`
	// Waiters are the first waiters, in order.
	Waiters []ClaimView `json:"waiters"`
	// Record is what the lock remembers; nil if it has no record.
	Record *RecordView `json:"record,omitzero"`
	// Rate is how fast the lock may be granted; nil: as fast as it becomes free.
	Rate *RateView `json:"rate,omitzero"`
	// QueueRules say who may wait; nil: as many as the server allows.
	QueueRules *QueueRulesView `json:"queueRules,omitzero"`
	// Pools are those over the lock that the caller may see, narrow to wide. Only [Client.GetLock] shows them.
	Pools []PoolView `json:"pools,omitempty"`
}

// LimitSetting is what was set, a limit, a rate, queue rules or several of them, for one name, for a pattern or for a pool.
type LimitSetting struct {
	// Either Name, Pattern or Pool is set.
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Pool    string `json:"pool"`
	// Limit is 0 and means nothing if RateOnly.
	Limit uint32 `json:"limit"`
	// Version is for [IfVersion] of the next change.
	Version uint64 `json:"version,string"`
	Reason  string `json:"reason"`
	// Rate is nil if this setting has none.
	Rate *Rate `json:"rate,omitzero"`
	// QueueRules are nil if this setting has none.
	QueueRules *QueueRules `json:"queueRules,omitzero"`
	// RateOnly: this setting has no limit.
	RateOnly bool `json:"rateOnly"`
	// Use is what is used of a pool; nil for names and patterns.
	Use *PoolUse `json:"use,omitzero"`
}

func claimOf(claim *rowlockv1.Claim) ClaimView {
	return ClaimView{
		LockName:     claim.GetLockName(),
		TicketNumber: claim.GetTicketNumber(),
		State:        claimStateOf(claim.GetState()),
		Mode:         modeOf(claim.GetMode()),
		Permits:      claim.GetPermits(),
		Owner:        claim.GetOwner(),
		Principal:    claim.GetPrincipal(),
		Labels:       claim.GetLabels(),
		Token:        claim.GetFencingToken(),
		RequestedAt:  timeOf(claim.GetRequestedAt()),
		GrantedAt:    timeOf(claim.GetGrantedAt()),
		ExpiresAt:    timeOf(claim.GetExpiresAt()),
		Provisional:  claim.GetProvisional(),
		End:          claimEndOf(claim.GetEnd()),
		Replica:      claim.GetReplica(),
		SpendOnly:    claim.GetSpendOnly(),
		Pool:         claim.GetPool(),
		Also:         claimedLocksOf(claim.GetAlso()),
	}
}

func claimsOf(claims []*rowlockv1.Claim) []ClaimView {
	views := make([]ClaimView, len(claims))
	for index, claim := range claims {
		views[index] = claimOf(claim)
	}
	return views
}

func limitOf(limit *rowlockv1.Limit) LimitView {
	return LimitView{
		Permits: limit.GetPermits(),
		Source:  sourceOf(limit.GetSource()),
		Pattern: limit.GetPattern(),
		Version: limit.GetVersion(),
		Reason:  limit.GetReason(),
	}
}

func sourceOf(source rowlockv1.LimitSource) LimitSource {
	switch source {
	case rowlockv1.LimitSource_LIMIT_SOURCE_PATTERN:
		return FromPattern
	case rowlockv1.LimitSource_LIMIT_SOURCE_POOL:
		return FromPool
	case rowlockv1.LimitSource_LIMIT_SOURCE_NAME:
		return FromName
	default:
		return FromDefault
	}
}

func poolUseOf(use *rowlockv1.PoolUse) PoolUse {
	return PoolUse{
		HeldPermits: use.GetHeldPermits(),
		HolderCount: use.GetHolderCount(),
		WaiterCount: use.GetWaiterCount(),
		Draining:    use.GetDraining(),
		Counting:    use.GetCounting(),
		Available:   use.GetAvailable(),
	}
}

// pool is a pool over a lock, or one that is in the way of a claim.
type pool interface {
	GetLimit() *rowlockv1.Limit
	GetRate() *rowlockv1.RateInForce
	GetUse() *rowlockv1.PoolUse
}

// poolViewOf has the pattern of the limit or of the rate, which is that of the pool.
func poolViewOf(pool pool) PoolView {
	view := PoolView{
		Pattern: pool.GetRate().GetPattern(), Rate: rateViewOf(pool.GetRate()), Use: poolUseOf(pool.GetUse()),
	}
	if pool.GetLimit() != nil {
		limit := limitOf(pool.GetLimit())
		view.Pattern, view.Limit = limit.Pattern, &limit
	}
	return view
}

func lockViewOf(lock *rowlockv1.Lock) LockView {
	view := LockView{
		Name:        lock.GetName(),
		Limit:       limitOf(lock.GetLimit()),
		HeldPermits: lock.GetHeldPermits(),
		HolderCount: lock.GetHolderCount(),
		WaiterCount: lock.GetWaiterCount(),
		Draining:    lock.GetDraining(),
		LastToken:   lock.GetLastFencingToken(),
		Holders:     claimsOf(lock.GetHolders()),
		Waiters:     claimsOf(lock.GetWaiters()),
		Record:      recordOf(lock.GetRecord()),
		Rate:        rateViewOf(lock.GetRate()),
		QueueRules:  queueRulesViewOf(lock.GetQueueRules()),
	}
	for _, pool := range lock.GetPools() {
		view.Pools = append(view.Pools, poolViewOf(pool))
	}
	return view
}

func limitSettingOf(setting *rowlockv1.LimitSetting) LimitSetting {
	view := LimitSetting{
		Name:       setting.GetName(),
		Pattern:    setting.GetPattern(),
		Pool:       setting.GetPool(),
		Limit:      setting.GetLimit(),
		Version:    setting.GetVersion(),
		Reason:     setting.GetReason(),
		Rate:       rateOf(setting.GetRate()),
		QueueRules: queueRulesOf(setting.GetQueueRules()),
		RateOnly:   setting.GetRateOnly(),
	}
	if setting.GetUse() != nil {
		use := poolUseOf(setting.GetUse())
		view.Use = &use
	}
	return view
}

package rowlock

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Refusal is why a lock was not granted: an expected no. Either the server made no claim, or the claim has ended, before the
// call or while it waited.
type Refusal struct {
	// Reason is what a program acts on: [ErrBusy], [ErrTimedOut], ...
	Reason Reason `json:"reason"`
	// Message is for people, and not stable.
	Message string `json:"message"`
	// Holders are the holders of the lock, oldest first and at most 10, for [ErrBusy] and [ErrTimedOut].
	Holders []ClaimView `json:"holders"`
	// RetryAfter is a hint when to try again; 0: no hint. For [ErrRate] it is exact.
	RetryAfter time.Duration `json:"retryAfterNs"`
	// Limit is the limit that forbids the grant, for [ErrNeverFits], for [ErrPaused] and [ErrTimedOut] if a limit of 0 is the cause,
	// and for [ErrBusy] and [ErrQueueFull] if a pool is.
	Limit *LimitView `json:"limit,omitzero"`
	// Rate is the rate that forbids the grant, for [ErrRate], and for [ErrNeverFits] if its burst is the cause.
	Rate *RateView `json:"rate,omitzero"`
	// QueueRules are those that forbid it, for [ErrQueueFull] by their WaitingMax, and for [ErrNeverFits] of several locks.
	QueueRules *QueueRulesView `json:"queueRules,omitzero"`
	// Status is the status that the lock has, for [ErrStatusMismatch].
	Status string `json:"status"`
	// HeldByYou: this client holds the lock itself, for [ErrBusy] and [ErrTimedOut]. Locks are not reentrant.
	HeldByYou bool `json:"heldByYou"`
	// LockName is, of a request for several locks, the one that is in the way, of which all this is. Empty: it was for one lock, or
	// the server does not say.
	LockName string `json:"lockName"`
}

// refused is a refusal or the end of a claim, as the server sends it to a caller who has asked for the lock.
type refused interface {
	GetMessage() string
	GetHolders() []*rowlockv1.Claim
	GetRetryAfter() *durationpb.Duration
	GetLimit() *rowlockv1.Limit
	GetStatus() string
	GetLockName() string
}

// isOfNow reports whether the same request may be granted later, as it is.
func (r *Refusal) isOfNow() bool {
	return r.Reason == ErrBusy || r.Reason == ErrPaused || r.Reason == ErrNotBefore || r.Reason == ErrRate
}

func refusalOf(refused *rowlockv1.Refusal) *Refusal {
	refusal := refusalFor(refusalReason(refused.GetReason()), refused)
	refusal.Rate = rateViewOf(refused.GetRate())
	refusal.QueueRules = queueRulesViewOf(refused.GetQueueRules())
	return refusal
}

func refusalOfEnd(end *rowlockv1.ClaimEnd) *Refusal {
	return refusalFor(endReason(end.GetReason()), end)
}

func refusalFor(reason Reason, said refused) *Refusal {
	refusal := &Refusal{
		Reason:     reason,
		Message:    said.GetMessage(),
		Holders:    claimsOf(said.GetHolders()),
		RetryAfter: said.GetRetryAfter().AsDuration(),
		Status:     said.GetStatus(),
		LockName:   said.GetLockName(),
	}
	if said.GetLimit() != nil {
		limit := limitOf(said.GetLimit())
		refusal.Limit = &limit
	}
	return refusal
}

// refusalReason also converts reasons that this client does not know yet; those become a number.
func refusalReason(reason rowlockv1.RefusalReason) Reason {
	return Reason(strings.TrimPrefix(reason.String(), "REFUSAL_REASON_"))
}

// endReason also converts reasons that this client does not know yet; those become a number.
func endReason(reason rowlockv1.EndReason) Reason {
	return Reason(strings.TrimPrefix(reason.String(), "END_REASON_"))
}

package rowlock

import (
	"strings"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Refusal is why a lock was not granted: an expected no.
type Refusal struct {
	// Reason is what a program acts on: [ErrBusy], [ErrTimedOut], ...
	Reason Reason `json:"reason"`
	// Message is for people, and not stable.
	Message string `json:"message"`
	// Holders are the holders of the lock, oldest first and at most 10, for [ErrBusy] and [ErrTimedOut].
	Holders []ClaimView `json:"holders"`
	// RetryAfter is a hint when to try again; 0: no hint.
	RetryAfter time.Duration `json:"retryAfterNs"`
	// Limit is the limit that forbids the grant, for [ErrNeverFits], and for [ErrPaused] and [ErrTimedOut] if a limit of 0 is the cause.
	Limit *LimitView `json:"limit,omitzero"`
	// Status is the status that the lock has, for [ErrStatusMismatch].
	Status string `json:"status"`
	// HeldByYou: this client holds the lock itself, for [ErrBusy] and [ErrTimedOut]. Locks are not reentrant.
	HeldByYou bool `json:"heldByYou"`
}

func refusalOf(refused *rowlockv1.Refusal) *Refusal {
	refusal := &Refusal{
		Reason:     refusalReason(refused.GetReason()),
		Message:    refused.GetMessage(),
		Holders:    claimsOf(refused.GetHolders()),
		RetryAfter: refused.GetRetryAfter().AsDuration(),
		Status:     refused.GetStatus(),
	}
	if refused.GetLimit() != nil {
		limit := limitOf(refused.GetLimit())
		refusal.Limit = &limit
	}
	return refusal
}

// refusalReason also converts reasons that this client does not know yet; those become a number.
func refusalReason(reason rowlockv1.RefusalReason) Reason {
	return Reason(strings.TrimPrefix(reason.String(), "REFUSAL_REASON_"))
}

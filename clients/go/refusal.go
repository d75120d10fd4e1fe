package rowlock

import (
	"strings"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Refusal is why there is no lock: an expected no.
type Refusal struct {
	// Reason is what a program acts on: [ErrBusy], [ErrTimedOut], ...
	Reason Reason
	// Message is for people, and not stable.
	Message string
	// Holders are those who hold the lock, oldest first and 10 at the most, for [ErrBusy] and [ErrTimedOut].
	Holders []Claim
	// RetryAfter is when another try may be worth while: a hint; 0 where there is none.
	RetryAfter time.Duration
	// Limit is the limit that stands in the way, for [ErrNeverFits], and for [ErrPaused] where that is why.
	Limit *Limit
	// Status is the one that was found, for [ErrStatusMismatch].
	Status string
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

// refusalReason is also right for reasons that this client does not know yet: then it is a number.
func refusalReason(reason rowlockv1.RefusalReason) Reason {
	return Reason(strings.TrimPrefix(reason.String(), "REFUSAL_REASON_"))
}

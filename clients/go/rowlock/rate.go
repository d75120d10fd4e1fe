// How fast a lock may be granted: what an operator sets, and what is in force.

package rowlock

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Rate is how fast a lock may be granted. A grant takes as many permits of it as the claim asks for, and a reader or writer
// takes one. Nothing gives them back: they come back evenly with time.
type Rate struct {
	// Permits come back in each Per; 1 to 1,000,000.
	Permits uint32 `json:"permits"`
	// Per is 1 s to 24 days.
	Per time.Duration `json:"perNs"`
	// Burst is how many permits may be taken at once after a pause, 1 to 1,000,000; 0: as many as Permits. A burst of 1 spaces
	// grants evenly.
	Burst uint32 `json:"burst"`
}

// RateView is the rate of a lock, and where it comes from.
type RateView struct {
	// Rate has a Burst that is not 0.
	Rate
	// Source is [FromPattern], [FromPool] or [FromName].
	Source LimitSource `json:"source"`
	// Pattern is set if Source is [FromPattern] or [FromPool], and the caller may see it.
	Pattern string `json:"pattern"`
	// Version is for [IfVersion] of the next change. A limit, a rate and queue rules share it.
	Version uint64 `json:"version,string"`
	Reason  string `json:"reason"`
	// Available is how many permits may be taken now. Only [LockView] and [PoolView] have it.
	Available uint32 `json:"available"`
}

func (r Rate) proto() *rowlockv1.Rate {
	return &rowlockv1.Rate{Permits: r.Permits, Per: durationpb.New(r.Per), Burst: r.Burst}
}

// rateOf is nil for no rate.
func rateOf(rate *rowlockv1.Rate) *Rate {
	if rate == nil {
		return nil
	}
	return &Rate{Permits: rate.GetPermits(), Per: rate.GetPer().AsDuration(), Burst: rate.GetBurst()}
}

// rateViewOf is nil for no rate.
func rateViewOf(rate *rowlockv1.RateInForce) *RateView {
	if rate == nil {
		return nil
	}
	view := &RateView{
		Source:    sourceOf(rate.GetSource()),
		Pattern:   rate.GetPattern(),
		Version:   rate.GetVersion(),
		Reason:    rate.GetReason(),
		Available: rate.GetAvailable(),
	}
	if set := rateOf(rate.GetRate()); set != nil {
		view.Rate = *set
	}
	return view
}

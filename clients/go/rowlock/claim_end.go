// How a claim ended, as users read it.

package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ClaimEndView is how a claim ended.
type ClaimEndView struct {
	// Reason is [ErrReleased], [ErrExpired], [ErrForceReleased], ...
	Reason Reason `json:"reason"`
	// EndedAt is when it ended, by the database's clock; zero if no server has said so.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// EndedBy is who force-released it: a principal, or an address if the server asks nobody who they are.
	EndedBy string `json:"endedBy"`
	// Note is the reason of its forced release.
	Note string `json:"note"`
	// Status is the lock's status at that time, for [ErrStatusMismatch]. After a run it is the one that the run left, if the
	// lock has a record.
	Status string `json:"status"`
	// LockName is, of a claim for several locks, the one because of which it ended, for [ErrNeverFits], [ErrExhausted] and
	// [ErrStatusMismatch]; otherwise empty.
	LockName string `json:"lockName"`
}

// claimEndOf is nil for a claim that has not ended.
func claimEndOf(end *rowlockv1.ClaimEnd) *ClaimEndView {
	if end == nil {
		return nil
	}
	return &ClaimEndView{
		Reason:   endReason(end.GetReason()),
		EndedAt:  timeOf(end.GetEndedAt()),
		EndedBy:  end.GetEndedBy(),
		Note:     end.GetNote(),
		Status:   end.GetStatus(),
		LockName: end.GetLockName(),
	}
}

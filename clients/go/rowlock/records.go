// What a lock remembers, as users read it.

package rowlock

import (
	"math"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Unlimited is a number of attempts without end, for [AttemptsLeft].
const Unlimited = math.MaxInt

// RecordView is what a lock remembers beyond its claims.
type RecordView struct {
	// NotBefore is the earliest time of the next grant, by the database's clock; zero: any time.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// AttemptsLeft is how many more times the lock may be granted, or [Unlimited].
	AttemptsLeft int `json:"attemptsLeft"`
	// Status is a word of the users' own; empty at first.
	Status string `json:"status"`
	// LastRun is nil if no lease has ended since the record was made.
	LastRun *LastRunView `json:"lastRun,omitzero"`
	// LastSuccess is the last run that was released, and had not failed; nil if none was since the record was made.
	LastSuccess *LastRunView `json:"lastSuccess,omitzero"`
	// Failures is how many runs in a row, up to the last one, have failed or were lost.
	Failures int `json:"failures"`
	// Version is for [IfVersion] of the next change.
	Version uint64 `json:"version,string"`
}

// LastRunView is how the last lease of a lock went.
type LastRunView struct {
	Owner     string    `json:"owner"`
	Token     uint64    `json:"token,string"`
	GrantedAt time.Time `json:"grantedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// EndReason is [ErrReleased], [ErrFailed], [ErrExpired] or [ErrForceReleased].
	EndReason Reason `json:"endReason"`
	// Status is the lock's status after that lease ended.
	Status string `json:"status"`
}

// recordOf is nil if the lock has no record.
func recordOf(record *rowlockv1.LockRecord) *RecordView {
	if record == nil {
		return nil
	}
	view := &RecordView{
		NotBefore:    timeOf(record.GetNotBefore()),
		AttemptsLeft: Unlimited,
		Status:       record.GetStatus(),
		LastRun:      lastRunOf(record.GetLastRun()),
		LastSuccess:  lastRunOf(record.GetLastSuccess()),
		Failures:     int(record.GetFailures()),
		Version:      record.GetVersion(),
	}
	if record.AttemptsLeft != nil {
		view.AttemptsLeft = int(record.GetAttemptsLeft())
	}
	return view
}

// lastRunOf is nil if there is no such run.
func lastRunOf(run *rowlockv1.LastRun) *LastRunView {
	if run == nil {
		return nil
	}
	return &LastRunView{
		Owner:     run.GetOwner(),
		Token:     run.GetFencingToken(),
		GrantedAt: timeOf(run.GetGrantedAt()),
		EndedAt:   timeOf(run.GetEndedAt()),
		EndReason: endReason(run.GetEndReason()),
		Status:    run.GetStatus(),
	}
}

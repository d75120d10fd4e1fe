// A change that somebody made, as users read it: what each kind of change has before and after.

package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ChangeKind is what a change changed.
type ChangeKind string

const (
	// ChangedLimit: a limit, a rate or both, by SetLimit.
	ChangedLimit ChangeKind = "limit"
	// ChangedRecord: a record, by UpdateRecord or DeleteRecord.
	ChangedRecord ChangeKind = "record"
	// ForcedRelease: a claim was ended by ForceRelease.
	ForcedRelease ChangeKind = "forced release"
	// ChangedPolicy: a server read a changed policy file.
	ChangedPolicy ChangeKind = "policy"
)

var protoChangeKinds = map[ChangeKind]rowlockv1.ChangeKind{
	ChangedLimit:  rowlockv1.ChangeKind_CHANGE_KIND_LIMIT,
	ChangedRecord: rowlockv1.ChangeKind_CHANGE_KIND_RECORD,
	ForcedRelease: rowlockv1.ChangeKind_CHANGE_KIND_FORCED_RELEASE,
	ChangedPolicy: rowlockv1.ChangeKind_CHANGE_KIND_POLICY,
}

// ChangeView is a change that somebody made, as the server's history keeps it. Of Limit, Record, ForcedRelease and
// Policy, the one that Kind names is set. If a newer server has another kind of change, Kind is empty and none is set.
type ChangeView struct {
	ChangedAt time.Time  `json:"changedAt,omitzero"`
	Kind      ChangeKind `json:"kind"`
	// Either LockName, Pattern or Pool is set; none is for a policy.
	LockName string `json:"lockName"`
	Pattern  string `json:"pattern"`
	Pool     string `json:"pool"`
	// ChangedBy is a principal, or an address if the server asks nobody who they are; for a policy, the server that read
	// it.
	ChangedBy     string         `json:"changedBy"`
	Limit         *LimitChange   `json:"limit,omitzero"`
	Record        *RecordChange  `json:"record,omitzero"`
	ForcedRelease *ReleasedClaim `json:"forcedRelease,omitzero"`
	Policy        *PolicyChange  `json:"policy,omitzero"`
	Reason        string         `json:"reason"`
}

// LimitChange is a limit, a rate and queue rules before and after; nil: none was or is set. What the change left alone is the same in
// both.
type LimitChange struct {
	From           *uint32     `json:"from,omitzero"`
	To             *uint32     `json:"to,omitzero"`
	RateFrom       *Rate       `json:"rateFrom,omitzero"`
	RateTo         *Rate       `json:"rateTo,omitzero"`
	QueueRulesFrom *QueueRules `json:"queueRulesFrom,omitzero"`
	QueueRulesTo   *QueueRules `json:"queueRulesTo,omitzero"`
}

// RecordChange is a record before and after, without its last run; nil: there was or is none.
type RecordChange struct {
	From *RecordView `json:"from,omitzero"`
	To   *RecordView `json:"to,omitzero"`
}

// ReleasedClaim is a claim as it was before its forced release. [Client.ListClaims] has more about it.
type ReleasedClaim struct {
	LockName     string     `json:"lockName"`
	TicketNumber uint64     `json:"ticketNumber,string"`
	State        ClaimState `json:"state"`
	Owner        string     `json:"owner"`
	Principal    string     `json:"principal"`
}

// PolicyChange is the hash of a policy file before and after; empty: there was or is none.
type PolicyChange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func changeOf(change *rowlockv1.Change) ChangeView {
	view := ChangeView{
		ChangedAt: timeOf(change.GetChangedAt()),
		LockName:  change.GetLockName(),
		Pattern:   change.GetPattern(),
		Pool:      change.GetPool(),
		ChangedBy: change.GetChangedBy(),
		Reason:    change.GetReason(),
	}
	switch what := change.GetWhat().(type) {
	case *rowlockv1.Change_Limit:
		view.Kind = ChangedLimit
		view.Limit = &LimitChange{
			what.Limit.From, what.Limit.To, rateOf(what.Limit.GetRateFrom()), rateOf(what.Limit.GetRateTo()),
			queueRulesOf(what.Limit.GetQueueRulesFrom()), queueRulesOf(what.Limit.GetQueueRulesTo()),
		}
	case *rowlockv1.Change_Record:
		view.Kind = ChangedRecord
		view.Record = &RecordChange{recordOf(what.Record.GetFrom()), recordOf(what.Record.GetTo())}
	case *rowlockv1.Change_ForcedRelease:
		claim := what.ForcedRelease.GetClaim()
		view.Kind = ForcedRelease
		view.ForcedRelease = &ReleasedClaim{
			claim.GetLockName(), claim.GetTicketNumber(), claimStateOf(claim.GetState()), claim.GetOwner(),
			claim.GetPrincipal(),
		}
	case *rowlockv1.Change_Policy:
		view.Kind = ChangedPolicy
		view.Policy = &PolicyChange{what.Policy.GetFrom(), what.Policy.GetTo()}
	}
	return view
}

// The state of one held lease, by the client's clock. It sends nothing: see lease_keeper.go.

package rowlock

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// LockState says how far a lock can be relied on.
type LockState string

const (
	// Held: the lock is held.
	Held LockState = "held"
	// Uncertain: the lock is still held, but its renewals do not get through.
	Uncertain LockState = "uncertain"
	// Lost: its time is over, or the server has ended it.
	Lost LockState = "lost"
	// Released: this program has given it back.
	Released LockState = "released"
)

const (
	// A lease is renewed at every third of its ttl. A lease without a successful renewal by the second third is
	// overdue. Nobody starts work with less than the last third.
	renewals = 3
	// marginsToBegin: a lease that awaits its confirmation must have a ttl of this many margins, or it is renewed
	// before anybody relies on it.
	marginsToBegin = 4
	// lateGrantsMax bounds how often a grant is renewed because it came with too little time left. After that, the
	// round trip to the server is too long for the lease.
	lateGrantsMax = 3
)

// heldLease is one lease that this client holds. It knows until when its holder may rely on the lease, and closes a
// channel when that is over. All methods are called in a turn.
//
//	held ── no answer to its renewals ──> uncertain ── an answer ──> held
//	  └──────────────┴── its time is over, or the server says that it has ended ──> lost
//
// Lost is final. A lease that is given back is final, too: its channel is closed, and nothing renews it.
type heldLease struct {
	id       string
	lockName string
	token    uint64
	mode     Mode
	permits  uint32
	// also are the further locks of its claim.
	also   []ClaimedLock
	margin time.Duration
	turns  *turns
	// toldAt is when this client received the lease, before it had acknowledged it.
	toldAt time.Duration
	// over is closed when the holder must not rely on the lease any more; err is why.
	over chan struct{}
	err  *Error
	// contexts are cancelled when over is closed.
	contexts map[*lockContext]struct{}

	// wasAskedFor: this client has logged that it asked for the lock although it holds it.
	wasAskedFor bool
	isRenewing  bool
	// renewAt is when the next renewal is due.
	renewAt time.Duration
	// isOrphan: the connection that last carried news of the lease is gone.
	isOrphan      bool
	isProvisional bool
	// isLate: its present renewal was found to be overdue.
	isLate bool
	// ttl is the time to live of the last answer, which was true at basis or later.
	ttl   time.Duration
	basis time.Duration
}

func newHeldLease(turns *turns, lease *rowlockv1.Lease, basis, margin time.Duration) *heldLease {
	held := &heldLease{
		id:       lease.GetLeaseId(),
		lockName: lease.GetLockName(),
		token:    lease.GetFencingToken(),
		mode:     modeOf(lease.GetMode()),
		permits:  lease.GetPermits(),
		also:     claimedLocksOf(lease.GetAlso()),
		margin:   margin,
		turns:    turns,
		toldAt:   turns.now(),
		over:     make(chan struct{}),
		contexts: map[*lockContext]struct{}{},
	}
	held.prolonged(lease, basis)
	return held
}

// deadline is when the lease counts as lost, by the client's clock. The work must have stopped one margin later.
func (l *heldLease) deadline() time.Duration {
	return later(later(l.basis, l.ttl), -l.margin)
}

// isTooEarly reports whether the lease must be renewed before anybody relies on it. That is so for a grant that arrived
// late, and for a provisional lease that is too short to start work with, or that has terms: unless the server knows
// that the client has the lease, its end leaves no mark in the lock's record.
func (l *heldLease) isTooEarly(hasTerms bool) bool {
	isLate, isBrief := l.remaining() < l.ttl/renewals, l.ttl < l.margin*marginsToBegin
	return isLate || l.isProvisional && (isBrief || hasTerms)
}

// ttlTooShort is the error for a lease that always arrives with too little time left to start work.
func ttlTooShort(lease *heldLease) *Error {
	return newError(ErrTTLTooShort, codes.FailedPrecondition, fmt.Sprintf(
		"the lease on %q is too short for the way to the server: of its ttl of %v, %v are left when an answer is here; "+
			"ask for a longer ttl", lease.lockName, lease.ttl, lease.remaining().Round(time.Millisecond)))
}

// mayRenewAt is half way to the next renewal. From then on, the lease may be renewed together with others.
func (l *heldLease) mayRenewAt() time.Duration {
	if l.renewAt == Forever {
		return Forever
	}
	return l.basis + (l.renewAt-l.basis)/2
}

func (l *heldLease) state() LockState {
	l.look()
	switch {
	case l.isLost():
		return Lost
	case l.isOrphan || l.isOverdue():
		return Uncertain
	default:
		return Held
	}
}

// isOverdue reports whether two thirds of its time have passed.
func (l *heldLease) isOverdue() bool {
	return l.ttl != Forever && l.turns.now() >= l.basis+l.ttl-l.ttl/renewals
}

// isLost reports whether the holder must not rely on the lease any more.
func (l *heldLease) isLost() bool {
	return l.err != nil
}

// remaining is how long the holder may rely on the lease.
func (l *heldLease) remaining() time.Duration {
	if l.isLost() {
		return 0
	}
	if l.ttl == Forever {
		return Forever
	}
	return max(0, l.deadline()-l.turns.now())
}

// prolonged takes the ttl of an answer, which was true at basis or later.
func (l *heldLease) prolonged(lease *rowlockv1.Lease, basis time.Duration) {
	l.ttl = Forever
	if lease.GetTtl() != nil {
		l.ttl = lease.GetTtl().AsDuration()
	}
	l.basis = basis
	l.isProvisional = lease.GetProvisional()
	l.isOrphan = false
	l.isLate = false
	l.renewAt = Forever
	if l.ttl != Forever {
		l.renewAt = basis + l.ttl/renewals
	}
}

// look marks the lease as lost if its time is over.
func (l *heldLease) look() {
	if l.isLost() || l.turns.now() < l.deadline() {
		return
	}
	l.lose(lostError(expired(),
		fmt.Sprintf("the lease on %q was not renewed in time, so others may hold the lock", l.lockName)))
}

func (l *heldLease) lose(err *Error) {
	if l.isLost() {
		return
	}
	l.err = err
	close(l.over)
	for ctx := range l.contexts {
		l.turns.afterwards(func() { ctx.cancel(err) })
	}
	l.contexts = nil
}

func (l *heldLease) giveBack() {
	l.lose(newError(ErrReleased, codes.Canceled, fmt.Sprintf("the lock %q was released by this client", l.lockName)))
}

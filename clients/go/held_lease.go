package rowlock

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// State is what a lock can be counted on for.
type State string

const (
	// Held is that it is held.
	Held State = "held"
	// Uncertain is that it is held still, but that its renewals do not get through.
	Uncertain State = "uncertain"
	// Lost is that its time is over, or that the server says that it has ended, or that it was released.
	Lost State = "lost"
)

const (
	// renewals: at each third of the time to live; one that has not succeeded by the second third is overdue. With less than
	// the last third, nobody begins.
	renewals = 3
	// marginsToBegin: a lease that waits for its confirmation must last for so many margins, or it is renewed before anybody
	// relies on it.
	marginsToBegin = 4
	// lateGrantsMax is how many renewals of a grant may come back with too little time to begin with: the way to the server takes
	// longer than the lease can bear.
	lateGrantsMax = 3
)

// heldLease is one lease that this client holds: until when its holder may count on it, and the channel that says that it is
// over. All methods are to be called in a turn.
//
//	held ── no answer to its renewals ──> uncertain ── an answer ──> held
//	  └──────────────┴── its time is over, or the server says that it has ended ──> lost
//
// Lost is final. So is given back: then the channel is closed, too, and nothing renews it.
type heldLease struct {
	id       string
	lockName string
	token    uint64
	mode     Mode
	permits  uint32
	margin   time.Duration
	turns    *turns
	// toldAt is when this client was told of it, and had not acknowledged it yet.
	toldAt time.Duration
	// over is closed when its holder must not count on it any more, and err is why.
	over chan struct{}
	err  *Error
	// contexts are cancelled then.
	contexts map[*lockContext]struct{}

	isRenewing bool
	// renewAt is when the next renewal is due.
	renewAt time.Duration
	// isOrphan is that the connection on which it was last heard of is gone.
	isOrphan      bool
	isProvisional bool
	// ttl as of the last answer, which is of basis or later.
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
		margin:   margin,
		turns:    turns,
		toldAt:   turns.now(),
		over:     make(chan struct{}),
		contexts: map[*lockContext]struct{}{},
	}
	held.prolonged(lease, basis)
	return held
}

// deadline is by the client's clock: the work must have stopped one margin later at the latest.
func (l *heldLease) deadline() time.Duration {
	return later(later(l.basis, l.ttl), -l.margin)
}

// isTooEarly says whether it has to be renewed before anybody relies on it: a grant that was long on its way, or one that is not
// confirmed yet and that leaves too little time to begin with, or has terms: its end leaves a mark in the lock's record only
// where the server knows that somebody came for it.
func (l *heldLease) isTooEarly(hasTerms bool) bool {
	isLate, isBrief := l.remaining() < l.ttl/renewals, l.ttl < l.margin*marginsToBegin
	return isLate || l.isProvisional && (isBrief || hasTerms)
}

// ttlTooShort is for a lease that leaves too little time to begin with, however often it is renewed.
func ttlTooShort(lease *heldLease) *Error {
	return newError(ErrTTLTooShort, codes.FailedPrecondition, fmt.Sprintf(
		"the lease on %q is too short for the way to the server: of its ttl of %v, %v are left when an answer is here; "+
			"ask for a longer ttl", lease.lockName, lease.ttl, lease.remaining().Round(time.Millisecond)))
}

// mayRenewAt is when half of the time until its renewal would be due has passed: it may come along with others.
func (l *heldLease) mayRenewAt() time.Duration {
	if l.renewAt == Forever {
		return Forever
	}
	return l.basis + (l.renewAt-l.basis)/2
}

func (l *heldLease) state() State {
	l.look()
	switch {
	case l.isLost():
		return Lost
	case l.isOrphan || l.ttl != Forever && l.turns.now() >= l.basis+l.ttl-l.ttl/renewals:
		return Uncertain
	default:
		return Held
	}
}

// isLost says whether its holder must not count on it any more.
func (l *heldLease) isLost() bool {
	return l.err != nil
}

// remaining is the time left, as far as its holder may count on it.
func (l *heldLease) remaining() time.Duration {
	if l.isLost() {
		return 0
	}
	if l.ttl == Forever {
		return Forever
	}
	return max(0, l.deadline()-l.turns.now())
}

// prolonged: the server has said how long it lasts, in an answer of basis or later.
func (l *heldLease) prolonged(lease *rowlockv1.Lease, basis time.Duration) {
	l.ttl = Forever
	if lease.GetTtl() != nil {
		l.ttl = lease.GetTtl().AsDuration()
	}
	l.basis = basis
	l.isProvisional = lease.GetProvisional()
	l.isOrphan = false
	l.renewAt = Forever
	if l.ttl != Forever {
		l.renewAt = basis + l.ttl/renewals
	}
}

// look finds it lost if its time is over.
func (l *heldLease) look() {
	if l.isLost() || l.turns.now() < l.deadline() {
		return
	}
	err := newError(ErrLeaseLost, codes.FailedPrecondition,
		fmt.Sprintf("the lease on %q was not renewed in time, so others may hold the lock", l.lockName))
	err.Metadata = map[string]string{"end_reason": string(ErrExpired)}
	l.lose(err)
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

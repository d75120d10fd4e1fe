// Renewals, and the detection of lost leases.

package rowlock

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// lookEvery is how often the client checks its clock while it holds anything, to notice that the machine slept.
	lookEvery = time.Second
	// renewAgain is the pause before a failed renewal is tried again: short, but at most two tries in a third of the
	// shortest ttl.
	renewAgain = 150 * time.Millisecond
	// renewDenied is the pause after the server's policy has denied a renewal. Only a change of the policy can help.
	renewDenied = time.Second
)

// leaseKeeper renews all leases that this client holds, many in one command. It notices leases that are lost: by the
// clock, which it checks before it renews anything, or because the server says so.
type leaseKeeper struct {
	turns       *turns
	calls       *calls
	connections *connections
	observer    *observer

	held   map[string]*heldLease
	timer  *timer
	wakeAt time.Duration
}

func (k *leaseKeeper) keep(lease *heldLease) {
	// One with the same id was lost by this client's own clock, and nobody has looked since.
	if former := k.held[lease.id]; former != nil {
		k.remove(former)
	}
	k.held[lease.id] = lease
	k.observer.kept(lease)
	k.wakeBy(min(lease.deadline(), lease.renewAt, k.turns.now()+lookEvery))
}

// drop: the lease is not renewed any more.
func (k *leaseKeeper) drop(lease *heldLease) {
	if k.held[lease.id] == lease {
		k.remove(lease)
	}
	if len(k.held) == 0 {
		k.stop()
	}
}

// begun renews all leases in the first requests of a connection, so that its server knows of them.
func (k *leaseKeeper) begun(on connection) {
	k.lookAtAll()
	k.renew(k.some(func(*heldLease) bool { return true }), on.renewalsMax())
}

// orphaned: the connection that carried news of the leases is gone.
func (k *leaseKeeper) orphaned() {
	for _, lease := range k.held {
		lease.isOrphan = true
	}
}

func (k *leaseKeeper) confirmed(leases []*rowlockv1.Lease, basis time.Duration) {
	for _, lease := range leases {
		if held := k.held[lease.GetLeaseId()]; held != nil {
			// The server has confirmed the lease after the acknowledgement, but may have heard later requests since.
			// Date it back.
			k.prolong(held, lease, min(basis, held.toldAt))
		}
	}
	if len(leases) > 0 {
		k.wake()
	}
}

func (k *leaseKeeper) lost(leases []*rowlockv1.LostLease) {
	for _, lease := range leases {
		end, how := claimEndOf(lease.GetEnd()), ""
		if end != nil {
			how = fmt.Sprintf(" (%s)", lower(end.Reason))
		}
		k.lose(lease.GetLeaseId(), lostError(end, fmt.Sprintf(
			"the lease on %q has ended%s: stop the work that the lock protects", lease.GetLockName(), how)))
	}
}

func (k *leaseKeeper) stop() {
	k.timer.stop()
	k.timer = nil
}

func (k *leaseKeeper) lookAtAll() {
	for _, lease := range k.held {
		lease.look()
		if lease.isLost() {
			k.remove(lease)
		} else {
			k.lookIfLate(lease)
		}
	}
}

func (k *leaseKeeper) remove(lease *heldLease) {
	delete(k.held, lease.id)
	k.observer.ended(lease)
}

// lookIfLate reports a renewal that is overdue, once for each.
func (k *leaseKeeper) lookIfLate(lease *heldLease) {
	if !lease.isLate && lease.isOverdue() {
		lease.isLate = true
		k.observer.late(lease)
	}
}

func (k *leaseKeeper) tick() {
	k.lookAtAll()
	now := k.turns.now()
	isDue := func(lease *heldLease) bool { return !lease.isRenewing && lease.renewAt <= now }
	if len(k.some(isDue)) > 0 {
		if k.connections.isOpen() {
			may := k.some(func(lease *heldLease) bool { return !lease.isRenewing && lease.mayRenewAt() <= now })
			k.renew(may, k.connections.current.renewalsMax())
		} else {
			k.connections.need()
		}
	}
	k.wake()
}

// some are the leases that match, in a stable order.
func (k *leaseKeeper) some(isMeant func(*heldLease) bool) []*heldLease {
	var some []*heldLease
	for _, lease := range k.held {
		if isMeant(lease) {
			some = append(some, lease)
		}
	}
	slices.SortFunc(some, func(a, b *heldLease) int { return strings.Compare(a.id, b.id) })
	return some
}

func (k *leaseKeeper) renew(leases []*heldLease, atOnce int) {
	for together := range slices.Chunk(leases, atOnce) {
		k.renewTogether(together)
	}
}

func (k *leaseKeeper) renewTogether(leases []*heldLease) {
	requests := make([]*rowlockv1.RenewRequest, len(leases))
	for index, lease := range leases {
		lease.isRenewing = true
		requests[index] = &rowlockv1.RenewRequest{LeaseId: lease.id}
	}
	k.calls.begin(ask{
		kind: kindUrgent,
		command: func(connection) *rowlockv1.SessionCommand {
			return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_RenewLeases{
				RenewLeases: &rowlockv1.RenewLeases{Leases: requests},
			}}
		},
		// The next connection renews all leases that are left by then.
		repeat:      repeatOnThisConnection,
		giveUpAfter: func() time.Duration { return Forever },
		answered: func(result *rowlockv1.SessionResult, basis time.Duration) bool {
			renewed := result.GetRenewLeases().GetLeases()
			for index, lease := range leases {
				// If the answer has too few entries, the lease is renewed again.
				said := &rowlockv1.RenewedLease{}
				if index < len(renewed) {
					said = renewed[index]
				}
				k.renewed(lease, said, basis)
			}
			k.wake()
			return true
		},
		failed: func(err *Error) {
			for _, lease := range leases {
				k.failed(lease, err)
			}
			k.wake()
		},
	})
}

func (k *leaseKeeper) renewed(lease *heldLease, renewed *rowlockv1.RenewedLease, basis time.Duration) {
	lease.isRenewing = false
	if prolonged := renewed.GetLease(); prolonged != nil {
		k.prolong(lease, prolonged, basis)
	} else {
		k.failed(lease, errorOfStatus(renewed.GetError()))
	}
}

// prolong takes an answer. A lease that was lost by this client's own clock stays lost, whatever the server says.
func (k *leaseKeeper) prolong(held *heldLease, lease *rowlockv1.Lease, basis time.Duration) {
	held.look()
	if !held.isLost() {
		k.lookIfLate(held)
		held.prolonged(lease, basis)
	}
}

func (k *leaseKeeper) failed(lease *heldLease, err *Error) {
	lease.isRenewing = false
	// The server says that the lease has ended, perhaps long ago.
	if err.Reason == ErrLeaseLost || err.Reason == ErrUnknownClaim {
		k.lose(lease.id, err)
		return
	}
	pause := renewAgain
	if err.Reason == ErrRightMissing {
		pause = renewDenied
	}
	lease.renewAt = k.turns.now() + max(pause, err.RetryAfter)
	if lease.state() == Uncertain && k.connections.isOpen() {
		k.connections.leave(err)
	}
}

func (k *leaseKeeper) lose(leaseID string, err *Error) {
	if lease := k.held[leaseID]; lease != nil {
		lease.lose(err)
		k.remove(lease)
	}
}

// wake sets the timer to whatever is due next.
func (k *leaseKeeper) wake() {
	if len(k.held) == 0 {
		k.stop()
		return
	}
	at := k.turns.now() + lookEvery
	isOpen := k.connections.isOpen()
	for _, lease := range k.held {
		at = min(at, lease.deadline())
		// If there is no connection, the next one renews all leases when it begins.
		if isOpen && !lease.isRenewing {
			at = min(at, lease.renewAt)
		}
	}
	k.wakeBy(at)
}

func (k *leaseKeeper) wakeBy(at time.Duration) {
	if k.timer != nil && k.wakeAt <= at {
		return
	}
	k.timer.stop()
	k.wakeAt = at
	k.timer = k.turns.after(max(time.Millisecond, at-k.turns.now()), func() {
		k.timer = nil
		k.tick()
	})
}

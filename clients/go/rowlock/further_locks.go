// The further locks of a claim for several: those that a caller asks for, and those that a claim has.

package rowlock

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// holding is how one lock is held.
type holding struct {
	permits int
	mode    Mode
}

// wantedLock is a further lock that a caller asks for.
type wantedLock struct {
	name string
	holding
}

// HoldOption is how one lock is held: [Permits] or [As]. It is a [LockOption], and an option of [Also].
type HoldOption func(*holding)

func (set HoldOption) ofLock(o *lockOptions) { set(&o.holding) }

// Also asks for a further lock in the same claim, with at most seven of them: the claim gets all of its locks or none, with
// one lease, which one [Lock.Release] ends, and a fencing token for each: see [Lock.TokenOf]. All options but [Permits] and
// [As] are those of the whole claim. Claims for several locks never wait for each other in a circle, in whatever order they
// name them. While a claim waits for one of its locks it holds none, but where it is first nobody passes it, and that lock stays
// free: [Wait] bounds that. Calls under the same [RequestID] must name the same locks in the same order.
func Also(name string, how ...HoldOption) LockOption {
	lock := wantedLock{name, holding{1, Permit}}
	for _, option := range how {
		option(&lock.holding)
	}
	return lockOption(func(o *lockOptions) { o.also = append(o.also, lock) })
}

// eachFault reports what no request can hold.
func (h holding) eachFault(found func(option, problem string)) {
	if h.permits < 0 || h.permits > math.MaxUint32 {
		found("Permits", fmt.Sprintf("%d is not between 0 and 4294967295", h.permits))
	}
	if h.mode != Permit && h.mode != Shared && h.mode != Exclusive {
		found("As", fmt.Sprintf("%q is not a mode", h.mode))
	}
}

func (o *lockOptions) wantedLocks() []*rowlockv1.WantedLock {
	var wanted []*rowlockv1.WantedLock
	for _, lock := range o.also {
		wanted = append(wanted, &rowlockv1.WantedLock{
			Name: lock.name, Mode: lock.mode.proto(), Permits: uint32(lock.permits),
		})
	}
	return wanted
}

// ClaimedLock is a further lock of a claim that holds it, waits for it or has ended.
type ClaimedLock struct {
	LockName string `json:"lockName"`
	Mode     Mode   `json:"mode"`
	Permits  uint32 `json:"permits"`
	// Token is the fencing token; 0 if it was never granted.
	Token uint64 `json:"token,string"`
}

func claimedLocksOf(also []*rowlockv1.ClaimedLock) []ClaimedLock {
	var locks []ClaimedLock
	for _, lock := range also {
		locks = append(locks, ClaimedLock{
			lock.GetLockName(), modeOf(lock.GetMode()), lock.GetPermits(), lock.GetFencingToken(),
		})
	}
	return locks
}

// has reports whether the lease is on this lock.
func (l *heldLease) has(name string) bool {
	return l.lockName == name || slices.ContainsFunc(l.also, func(lock ClaimedLock) bool { return lock.LockName == name })
}

// firstOf is the first of these locks that the lease has; "" if it has none.
func (l *heldLease) firstOf(names []string) string {
	if at := slices.IndexFunc(names, l.has); at >= 0 {
		return names[at]
	}
	return ""
}

// Tokens returns the fencing token of each lock of the claim, by its name: of one lock, unless the claim was made with
// [Also].
func (l *Lock) Tokens() map[string]uint64 {
	tokens := map[string]uint64{l.lease.lockName: l.lease.token}
	for _, lock := range l.lease.also {
		tokens[lock.LockName] = lock.Token
	}
	return tokens
}

// TokenOf returns the fencing token of one lock of the claim. [Lock.Token] is that of the first one. It fails with an
// [*OptionError] if the claim does not have this lock.
func (l *Lock) TokenOf(name string) (uint64, error) {
	token, isHeld := l.Tokens()[name]
	if !isHeld {
		own := []string{fmt.Sprintf("%q", l.lease.lockName)}
		for _, lock := range l.lease.also {
			own = append(own, fmt.Sprintf("%q", lock.LockName))
		}
		return 0, mistake("name", fmt.Sprintf("%q is no lock of this claim, which has %s", name, strings.Join(own, ", ")))
	}
	return token, nil
}

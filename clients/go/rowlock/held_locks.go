// The locks that a client holds: it releases them, and gives back claims that nobody wants.

package rowlock

import (
	"slices"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// heldLocks are the locks that were not given back. All methods are called in a turn.
type heldLocks struct {
	client *Client
	// byID has the locks by their lease ids.
	byID map[string]*Lock
}

// add makes a lock of a lease, in the turn in which the lease was granted. Calls that ask again under the same request
// id get the same lock.
func (l *heldLocks) add(held *heldLease, lease *rowlockv1.Lease, asked *leaseOptions, shared string) *Lock {
	if own := l.find(held.id); own != nil {
		own.grants++
		l.client.keeper.prolong(own.lease, lease, held.basis)
		return own
	}
	lock := &Lock{client: l.client, lease: held, asked: asked, shared: shared, grants: 1}
	l.byID[held.id] = lock
	l.client.keeper.keep(held)
	return lock
}

// find is the lock of a lease that this client still holds, or nil. It finds one when a request id names a claim of this
// client's own.
func (l *heldLocks) find(leaseID string) *Lock {
	if own := l.byID[leaseID]; own != nil && own.lease.state() != Lost {
		return own
	}
	return nil
}

// ofOneOf is the oldest lease on any of these locks that this client holds, or nil.
func (l *heldLocks) ofOneOf(names []string) (oldest *heldLease) {
	for _, own := range l.byID {
		lease := own.lease
		if slices.ContainsFunc(names, lease.has) && lease.state() != Lost && (oldest == nil || lease.toldAt < oldest.toldAt) {
			oldest = lease
		}
	}
	return oldest
}

// giveBack ends a claim that nobody wants any more, unless another call of this client holds it.
func (l *heldLocks) giveBack(id string, asked *leaseOptions) {
	switch {
	case l.find(id) != nil:
	case l.client.isOver:
		if asked.ttl == Forever {
			l.client.inherit(func(heir *Client) { heir.locks.giveBack(id, asked) })
		}
	default:
		l.client.verbs.endUnused(id, asked.terms.minInterval != nil, asked.ttl)
	}
}

// forget removes a lease that this client no longer holds.
func (l *heldLocks) forget(lease *heldLease) {
	// After a lease was lost by this client's own clock, the server may have granted it to another lock again.
	if own := l.byID[lease.id]; own != nil && own.lease == lease {
		delete(l.byID, lease.id)
	}
	l.client.keeper.drop(lease)
	lease.giveBack()
}

func (l *heldLocks) releaseAll() {
	for _, lock := range l.byID {
		lock.release(&rowlockv1.ReleaseRequest{LeaseId: lock.lease.id}, "")
	}
}

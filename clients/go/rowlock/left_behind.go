// The search for claims that a server may have granted without the client having heard of it.

package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// lookAgainFirst and lookAgainMax bound the pause before the client looks again for a claim that it did not find:
	// the request for it may still be on its way, for example in a frozen server.
	lookAgainFirst = 250 * time.Millisecond
	lookAgainMax   = 30 * time.Second
)

// leftBehind is a claim that a server may have granted, that no answer has reported, and that nobody waits for any
// more. The client looks for it by its request id and gives it back. It looks until the lease would have expired, and
// for a lease without end as long as the program lives.
type leftBehind struct {
	client *Client
	asked  *leaseOptions
	// shared is the key in [requests], if other calls may ask under the request id; otherwise "".
	shared string
	// find is the command that finds the claims of the request id.
	find *rowlockv1.SessionCommand
	// except are the leases that an answer has reported.
	except map[string]bool
	until  time.Duration
	// isOne: there is at most one claim.
	isOne bool
	looks int
	timer *timer
}

// begin is called once, in a turn.
func (l *leftBehind) begin() {
	if l.client.isOver {
		l.client.inherit(l.move)
		return
	}
	l.until = later(l.client.turns.now(), l.asked.ttl)
	l.client.leftBehind[l] = struct{}{}
	l.look()
}

func (l *leftBehind) look() {
	l.timer = nil
	asked := &question{command: l.find, kind: kindUrgent, within: l.left(), givesBack: true}
	l.client.verbs.begin(asked, func(result *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		found := claimsIn(result)
		for _, id := range found {
			if l.except[id] {
				continue
			}
			l.client.requests.unwanted(l.shared, func() { l.client.locks.giveBack(id, l.asked) })
		}
		switch {
		case err != nil && err.Reason == ErrClosed && l.until == Forever:
			l.client.inherit(l.move)
		case err != nil && !err.isTransient(), l.isOne && (len(found) > 0 || hasEnded(result.GetAcquire())):
			l.end()
		// A caller that has chosen the id may use it again, even in another program.
		case l.asked.requestID != "" || l.client.isClosed || l.left() == 0:
			l.end()
		default:
			pause := min(lookAgainFirst<<min(l.looks, 10), lookAgainMax, l.left())
			l.looks++
			l.timer = l.client.turns.after(pause, l.look)
		}
	})
}

// lookNow looks at once if a look is scheduled.
func (l *leftBehind) lookNow() {
	if l.timer != nil {
		l.timer.stop()
		l.look()
	}
}

// move hands this over to another client.
func (l *leftBehind) move(heir *Client) {
	l.end()
	l.client = heir
	l.begin()
}

func (l *leftBehind) end() {
	delete(l.client.leftBehind, l)
}

func (l *leftBehind) left() time.Duration {
	if l.until == Forever {
		return Forever
	}
	return max(0, l.until-l.client.turns.now())
}

// hasEnded reports whether the claim of the request id is over.
func hasEnded(found *rowlockv1.AcquireResponse) bool {
	return found.GetEnded() != nil || found.GetSpent() != nil
}

// claimsIn are the ids of the leases and tickets in an answer.
func claimsIn(result *rowlockv1.SessionResult) (ids []string) {
	if id := result.GetAcquire().GetLease().GetLeaseId(); id != "" {
		ids = append(ids, id)
	}
	if id := result.GetAcquire().GetTicket().GetTicketId(); id != "" {
		ids = append(ids, id)
	}
	for _, lease := range result.GetCapture().GetLeases() {
		ids = append(ids, lease.GetLeaseId())
	}
	return ids
}

package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// lookAgainFirst and lookAgainMax are how soon and how seldom a claim is looked for again that was not there: the request
	// for it may still be on its way, as in a server that is frozen.
	lookAgainFirst = 250 * time.Millisecond
	lookAgainMax   = 30 * time.Second
)

// leftBehind is what was asked for and may have been granted, but no answer says so, and nobody waits for it any more. It is
// looked for by its request id and given back: until the lease would have ended by itself, and one without end for as long as
// the program lives.
type leftBehind struct {
	client *Client
	asked  *claimOptions
	// shared is the request id, where others may ask under it, too.
	shared string
	// find asks for what there is under the request id.
	find *rowlockv1.SessionCommand
	// except are leases that somebody was told of.
	except map[string]bool
	until  time.Duration
	// isOne: there is one claim at the most.
	isOne bool
	looks int
	timer *timer
}

// begin is to be called once, in a turn.
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
	demanded := &demand{command: l.find, kind: urgent, within: l.left(), givesBack: true}
	l.client.verbs.begin(demanded, func(result *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		found := claimsIn(result)
		for _, id := range found {
			if l.except[id] {
				continue
			}
			l.client.requests.unwanted(l.shared, func() { l.client.giveBack(id, l.asked) })
		}
		switch {
		case err != nil && err.Reason == ErrClosed && l.until == Forever:
			l.client.inherit(l.move)
		case err != nil && !err.isTransient(), l.isOne && (len(found) > 0 || hasEnded(result.GetAcquire().GetRefusal())):
			l.end()
		// Whoever has chosen the id may use it again, at another program, too.
		case l.asked.requestID != "" || l.client.isClosed || l.left() == 0:
			l.end()
		default:
			pause := min(lookAgainFirst<<min(l.looks, 10), lookAgainMax, l.left())
			l.looks++
			l.timer = l.client.turns.after(pause, l.look)
		}
	})
}

// lookNow does not wait for the next look.
func (l *leftBehind) lookNow() {
	if l.timer != nil {
		l.timer.stop()
		l.look()
	}
}

// move: another client goes on with it.
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

// hasEnded says whether a refusal is that of a claim that was there and is over.
func hasEnded(refused *rowlockv1.Refusal) bool {
	switch refusalReason(refused.GetReason()) {
	case ErrExpired, ErrReleased, ErrForceReleased, ErrLapsed, ErrCancelled, ErrTimedOut:
		return true
	default:
		return false
	}
}

// What a client says about a long wait: who holds the lock, and at which place it waits.

package rowlock

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	explainAfterDefault = 10 * time.Second
	// explainAgain is the time between two notices of one wait.
	explainAgain = time.Minute
	// explainWithin bounds the question to the server; without an answer, the notice has the place only.
	explainWithin = 5 * time.Second
)

// Waiting is a notice of a wait that lasts: see [OnWaiting].
type Waiting struct {
	// Name is the lock.
	Name string `json:"name"`
	// Waited is the time since the request.
	Waited time.Duration `json:"waitedNs"`
	Place  Place         `json:"place"`
	// Summary says in one line for people why the lock is not granted; empty if the server did not say.
	Summary string `json:"summary"`
	// Causes are the same for programs, the most important first; none if the server did not say.
	Causes []WaitCause `json:"causes"`
	// HeldByYou: this client holds the lock itself. Locks are not reentrant.
	HeldByYou bool `json:"heldByYou"`
}

// OnWaiting calls tell after [Config.ExplainAfter] of waiting and then every minute. It calls tell at once if the context
// of the request shows that its caller holds the lock itself: see [Lock.Context]. It runs in the goroutine that waits. If tell is slow, it gets only the latest notice.
func OnWaiting(tell func(Waiting)) LockOption {
	return lockOption(func(o *lockOptions) { o.onWaiting = tell })
}

// waitLedger is what the waits of a client share, as there may be thousands: one asks after the other, and of those for
// one lock only the first is in the log. For use in turns.
type waitLedger struct {
	first map[string]*acquisition
	// asking is the one that waits for an answer; nil: none.
	asking *acquisition
	next   []*acquisition
}

// isFirst tells whether the log has this wait, and not another one for the same lock.
func (l *waitLedger) isFirst(a *acquisition) bool {
	if l.first[a.name] == nil {
		l.first[a.name] = a
	}
	return l.first[a.name] == a
}

func (l *waitLedger) over(a *acquisition) {
	if l.first[a.name] == a {
		delete(l.first, a.name)
	}
}

// ask lets the wait ask when those before it have their answers.
func (l *waitLedger) ask(a *acquisition) {
	l.next = append(l.next, a)
	if l.asking == nil {
		l.answered()
	}
}

// answered lets the next wait ask that is not over.
func (l *waitLedger) answered() {
	l.asking = nil
	for l.asking == nil && len(l.next) > 0 {
		a := l.next[0]
		l.next = l.next[1:]
		if a.isSettled() {
			continue
		}
		l.asking = a
		if !a.askWhy() {
			l.asking = nil
		}
	}
}

// waits begins with the first place in the queue, in a turn.
func (a *acquisition) waits() {
	a.client.waits.isFirst(a)
	if a.own != nil && !a.own.isLost() {
		a.note(Waiting{Summary: a.own.heldByYou(a.names())}, a.own)
	}
	a.noticeAfter(a.client.config.ExplainAfter)
}

func (a *acquisition) noticeAfter(pause time.Duration) {
	a.notice = a.client.turns.after(pause, a.explain)
}

// explain notes why the claim waits, if anybody hears of it.
func (a *acquisition) explain() {
	if a.client.waits.isFirst(a) || a.asked.onWaiting != nil {
		a.client.waits.ask(a)
		return
	}
	a.noticeAfter(explainAgain)
}

// askWhy asks the server why the claim waits, and notes the answer. It reports whether an answer will come.
func (a *acquisition) askWhy() bool {
	a.noticeAfter(explainAgain)
	if a.ticketID == "" {
		// The claim of the request id is gone, and the client asks again.
		a.note(Waiting{}, nil)
		return false
	}
	request := &rowlockv1.ExplainWaitRequest{Target: &rowlockv1.ExplainWaitRequest_TicketId{TicketId: a.ticketID}}
	asked := &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ExplainWait{ExplainWait: request}},
		kind:    kindOther,
		within:  explainWithin,
	}
	a.client.verbs.begin(asked, func(result *rowlockv1.SessionResult, _ time.Duration, err *Error) {
		// A failure says nothing of the wait itself: the right may be missing, or the server is older.
		notice := Waiting{}
		if err == nil {
			explained := explanationOf(result.GetExplainWait())
			notice.Summary, notice.Causes = explained.Summary, explained.Causes
			a.place.explainedBy(explained.Causes)
		}
		a.note(notice, nil)
		a.client.waits.answered()
	})
	return true
}

// explainedBy takes the place from an explanation, which knows it better than the last report. Of several locks, it is that where
// most are before the claim.
func (p *Place) explainedBy(causes []WaitCause) {
	p.Ahead, p.PermitsAhead, p.RateWait, p.Pool = 0, 0, 0, ""
	for _, cause := range causes {
		if at := cause.Queued; at != nil && int(at.Ahead) >= p.Ahead {
			p.Ahead, p.PermitsAhead = int(at.Ahead), at.PermitsAhead
			if cause.LockName != "" {
				p.WaitsFor = cause.LockName
			}
		}
		if at := cause.Pool; at != nil && at.WaitsHere {
			p.Ahead, p.PermitsAhead, p.Pool = int(at.Ahead), at.PermitsAhead, at.Pool.Pattern
		}
	}
}

// note logs a notice and gives it to the caller. own is the lease of the caller itself, which then waits for itself.
func (a *acquisition) note(notice Waiting, own *heldLease) {
	if a.isSettled() {
		return
	}
	notice.Name, notice.Place, notice.Waited = a.name, a.place, a.client.turns.now()-a.began
	// Another goroutine may hold it, and that is no mistake.
	held := a.inItsWay()
	notice.HeldByYou = held != nil
	if held != nil && own == nil {
		notice.Summary = strings.TrimSuffix(held.heldByYou(a.names())+": "+notice.Summary, ": ")
	}
	isNews := own != nil && !own.wasAskedFor
	if isNews || own == nil && a.client.waits.isFirst(a) {
		a.client.observer.waiting(notice, own != nil)
	}
	if own != nil {
		// One line for a lease is enough.
		own.wasAskedFor = true
	}
	if a.asked.onWaiting != nil {
		select {
		case <-a.notices:
		default:
		}
		a.notices <- notice
	}
}

// heldByYou says which of the locks that are asked for this client holds itself, by this lease.
func (l *heldLease) heldByYou(asked []string) string {
	return fmt.Sprintf("you hold %q yourself, since %.0f s; locks are not reentrant",
		l.firstOf(asked), (l.turns.now() - l.toldAt).Seconds())
}

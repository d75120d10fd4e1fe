// One request for a lock or of a spend, from the first command to the grant, the refusal or the giving back. It leaves
// connections and repeats to calls.

package rowlock

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// lateMax is how long the server may take to report that a wait is over.
	lateMax = 2 * time.Second
	// seldom is the interval of position updates when the caller has no OnPosition.
	seldom = time.Hour
)

// outcome is how an acquisition ended. One of its fields is set.
type outcome struct {
	lock    *Lock
	spent   *Spent
	refusal *Refusal
	failure *Error
}

// acquisition asks for one lock, or for several at once, from the first request to the grant or the refusal, over as many connections as that
// takes. An abandoned acquisition leaves nothing behind: it gives its place back as soon as it knows the ticket. What an
// abandoned spend has taken of the rate is gone.
type acquisition struct {
	client *Client
	name   string
	asked  *lockOptions
	until  time.Duration
	// traceparent is the trace context of the request; "" for none.
	traceparent string
	// own is the lease on one of the same locks that the caller holds; nil: none, as far as its context shows.
	own *heldLease

	requestID string
	ticketID  string
	call      *call
	// lateGrants counts the grants with too little time left to start work.
	lateGrants  int
	isAbandoned bool
	// hasWaited: there was a place in the queue.
	hasWaited bool
	// settled is closed when outcome is set.
	settled chan struct{}
	outcome outcome
	// place is the latest position. While the caller has not seen it, news holds one element.
	place Place
	news  chan struct{}
	began time.Duration
	// notice is the timer of the next notice that the wait lasts; nil before the first place. notices holds the latest
	// one that the caller has not seen.
	notice  *timer
	notices chan Waiting
}

func newAcquisition(client *Client, name string, asked *lockOptions, traceparent string) *acquisition {
	a := &acquisition{
		client:      client,
		name:        name,
		traceparent: traceparent,
		asked:       asked,
		until:       later(client.turns.now(), asked.wait),
		requestID:   asked.requestID,
		settled:     make(chan struct{}),
		news:        make(chan struct{}, 1),
		began:       client.turns.now(),
		notices:     make(chan Waiting, 1),
	}
	if a.requestID == "" {
		a.requestID = newRequestID()
	}
	return a
}

// run waits for the outcome. It is called outside of turns.
func (a *acquisition) run(ctx context.Context) outcome {
	// Also runs when the user's onPosition panics.
	defer a.client.turns.take(func() { a.abandon(closedError()) })
	for {
		select {
		case <-a.settled:
			return a.outcome
		case <-a.news:
			var place Place
			a.client.turns.take(func() { place = a.place })
			a.asked.onPosition(place)
		case notice := <-a.notices:
			a.asked.onWaiting(notice)
		case <-ctx.Done():
			// An acquisition that has just been settled keeps its outcome: a lock that was granted is not thrown away.
			// Outside of the turn, because the context of a lock takes a turn itself.
			why := cancelledError(ctx)
			a.client.turns.take(func() { a.abandon(why) })
			<-a.settled
			return a.outcome
		}
	}
}

// abandon settles the acquisition with this error, and gives back what the server has granted or will grant.
func (a *acquisition) abandon(why *Error) {
	if a.isSettled() {
		return
	}
	a.isAbandoned = true
	a.settle(outcome{failure: why})
	if a.ticketID != "" {
		if a.call != nil {
			a.client.calls.cancel(a.call)
		}
		a.unwanted(a.ticketID)
	} else if a.call != nil && !a.call.mayBeKnown() {
		a.client.calls.cancel(a.call)
	}
}

func (a *acquisition) isSettled() bool {
	return a.outcome != outcome{}
}

func (a *acquisition) settle(as outcome) {
	if a.isSettled() {
		return
	}
	a.outcome = as
	close(a.settled)
	a.notice.stop()
	a.client.waits.over(a)
	a.client.requests.leave(a.asked.shared(), as.lock != nil || as.spent != nil)
}

func (a *acquisition) isWait() bool {
	return a.asked.wait != 0
}

func (a *acquisition) begin() {
	a.client.requests.join(a.asked.shared())
	a.ask()
}

func (a *acquisition) ask() {
	kind := kindOther
	if a.isWait() {
		kind = kindWait
	}
	a.call = a.client.calls.begin(ask{
		kind:        kind,
		repeat:      repeatAlways,
		traceparent: a.traceparent,
		command:     a.command,
		giveUpAfter: a.giveUpAfter,
		answered:    a.answered,
		failed:      a.failed,
	})
}

// again asks for the lock under a new request id, because the claim of the old one is gone.
func (a *acquisition) again() {
	a.requestID = newRequestID()
	a.ticketID = ""
	a.ask()
}

func (a *acquisition) giveUpAfter() time.Duration {
	if !a.isWait() {
		return a.client.config.GiveUpAfter
	}
	return min(a.client.config.GiveUpAfter, later(a.left(), lateMax))
}

// left is the remaining waiting time.
func (a *acquisition) left() time.Duration {
	if a.until == Forever {
		return Forever
	}
	return max(time.Millisecond, a.until-a.client.turns.now())
}

func (a *acquisition) command(on connection) *rowlockv1.SessionCommand {
	if !a.isWait() {
		request := a.asked.request(a.name, a.requestID)
		return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Acquire{Acquire: request}}
	}
	wait := &rowlockv1.WaitInQueueRequest{MinUpdateInterval: durationpb.New(seldom)}
	if a.asked.onPosition != nil {
		wait.MinUpdateInterval = durationpb.New(a.asked.positionInterval)
	}
	if a.ticketID != "" && on.via() == ViaSession {
		wait.Target = &rowlockv1.WaitInQueueRequest_TicketId{TicketId: a.ticketID}
	} else {
		request := a.asked.queueRequest(a.name, a.requestID, a.left())
		wait.Target = &rowlockv1.WaitInQueueRequest_Request{Request: request}
	}
	return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_WaitInQueue{WaitInQueue: wait}}
}

func (a *acquisition) answered(result *rowlockv1.SessionResult, basis time.Duration) bool {
	acquired, waited := result.GetAcquire(), result.GetWaitInQueue()
	switch {
	case acquired.GetLease() != nil:
		a.grant(acquired.GetLease(), basis)
	case waited.GetGranted() != nil:
		a.grant(waited.GetGranted(), basis)
	case acquired.GetSpent() != nil:
		a.settle(outcome{spent: spentOf(acquired.GetSpent())})
	case waited.GetSpent() != nil:
		a.settle(outcome{spent: spentOf(waited.GetSpent())})
	case acquired.GetRefusal() != nil:
		a.refuse(refusalOf(acquired.GetRefusal()))
	case waited.GetRefusal() != nil:
		a.refuse(refusalOf(waited.GetRefusal()))
	case acquired.GetEnded() != nil:
		a.ended(acquired.GetEnded())
	case waited.GetEnded() != nil:
		a.ended(waited.GetEnded())
	case waited.GetPosition() != nil:
		return a.positioned(waited.GetPosition())
	default:
		a.failed(unexpected(result))
	}
	return true
}

// positioned takes a new position. It reports whether the call is over, because the caller no longer wants the place.
func (a *acquisition) positioned(ticket *rowlockv1.Ticket) bool {
	a.ticketID = ticket.GetTicketId()
	isFirst := !a.hasWaited
	a.hasWaited = true
	if a.isAbandoned {
		a.unwanted(a.ticketID)
		return true
	}
	a.place = Place{
		Ahead:        int(ticket.GetAhead()),
		PermitsAhead: ticket.GetPermitsAhead(),
		QueueLength:  int(ticket.GetQueueLength()),
		Waited:       ticket.GetWaited().AsDuration(),
		RateWait:     ticket.GetRateWait().AsDuration(),
		Pool:         ticket.GetPool(),
		WaitsFor:     ticket.GetWaitsFor(),
	}
	if isFirst {
		a.waits()
	}
	if a.asked.onPosition == nil {
		return false
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
	return false
}

func (a *acquisition) grant(lease *rowlockv1.Lease, basis time.Duration) {
	if older := a.grantedByOlder(lease); older != nil {
		a.settle(outcome{failure: older})
		a.unwanted(lease.GetLeaseId())
		return
	}
	if a.isAbandoned {
		a.unwanted(lease.GetLeaseId())
		return
	}
	if a.client.requests.wasReleased(a.asked.shared(), lease.GetLeaseId()) {
		// Another call under this request id held the lease and has released it since, so this grant is outdated. When
		// asked again a little later, the server reports the release.
		a.client.turns.after(renewAgain, func() {
			if !a.isSettled() {
				a.ask()
			}
		})
		return
	}
	held := newHeldLease(&a.client.turns, lease, basis, a.asked.margin)
	if !held.isTooEarly(a.asked.terms.areSet()) {
		// In the same turn, so that the client misses no news of this lease.
		a.settle(outcome{lock: a.client.locks.add(held, lease, &a.asked.leaseOptions, a.asked.shared())})
		return
	}
	if a.lateGrants++; a.lateGrants > lateGrantsMax {
		a.settle(outcome{failure: ttlTooShort(held)})
		a.unwanted(held.id)
		return
	}
	a.renew(held.id)
}

// grantedByOlder is the error for a lease of a server of an earlier version, which did not see all that was asked for; nil if the
// lease is what was asked for.
func (a *acquisition) grantedByOlder(lease *rowlockv1.Lease) *Error {
	switch {
	case a.asked.isSpend:
		return spendsUnknown()
	case len(lease.GetAlso()) < len(a.asked.also):
		return severalUnknown()
	default:
		return nil
	}
}

// renew renews a grant that arrived late or is not confirmed yet, before anybody relies on it.
func (a *acquisition) renew(leaseID string) {
	a.ticketID = leaseID
	a.call = a.client.calls.begin(ask{
		kind:        kindUrgent,
		repeat:      repeatAlways,
		traceparent: a.traceparent,
		command: func(connection) *rowlockv1.SessionCommand {
			renewal := &rowlockv1.RenewRequest{LeaseId: leaseID}
			return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Renew{Renew: renewal}}
		},
		giveUpAfter: func() time.Duration { return a.client.config.GiveUpAfter },
		answered: func(result *rowlockv1.SessionResult, basis time.Duration) bool {
			if lease := result.GetRenew().GetLease(); lease != nil {
				a.grant(lease, basis)
			} else {
				a.failed(unexpected(result))
			}
			return true
		},
		failed: a.failed,
	})
}

func (a *acquisition) refuse(refusal *Refusal) {
	if own := a.inItsWay(); own != nil && (refusal.Reason == ErrBusy || refusal.Reason == ErrTimedOut) {
		refusal.HeldByYou = true
		refusal.Message += "; " + own.heldByYou(a.names())
	}
	a.settle(outcome{refusal: refusal})
}

// inItsWay is the lease on one of the same locks that this client holds itself; nil: none. A spend needs no room beside it.
func (a *acquisition) inItsWay() *heldLease {
	if a.asked.isSpend {
		return nil
	}
	return a.client.locks.ofOneOf(a.names())
}

// names are those of all locks that are asked for.
func (a *acquisition) names() []string {
	names := []string{a.name}
	for _, lock := range a.asked.also {
		names = append(names, lock.name)
	}
	return names
}

// ended takes the end of the claim, before or during the wait.
func (a *acquisition) ended(end *rowlockv1.ClaimEnd) {
	refusal := refusalOfEnd(end)
	isLeft := !a.isWait() || a.client.turns.now() < a.until
	// Nobody was given the lease, or the place was lost on the way. Asking again takes nothing from anybody.
	if (refusal.Reason == ErrLapsed || refusal.Reason == ErrExpired) && isLeft && a.mayAskAgain() {
		a.again()
		return
	}
	a.refuse(refusal)
}

func (a *acquisition) failed(err *Error) {
	isGone := err.Reason == ErrUnknownClaim || err.Reason == ErrLeaseLost
	if isGone && a.ticketID != "" && a.mayAskAgain() {
		a.again()
		return
	}
	a.settle(outcome{failure: a.leave(err)})
}

// leave handles a failed call after which a server may have granted the lock. It gives the claim back. If the lease
// would never expire, the returned error says that the lock may be held.
func (a *acquisition) leave(err *Error) *Error {
	isEndless := a.asked.ttl == Forever
	isOver := err.Reason == ErrClosed && !isEndless
	if isOver || !err.leavesDoubt() || a.ticketID == "" && !a.call.mayBeKnown() {
		return err
	}
	// A caller that has chosen the request id may come back for the claim, even from another program.
	isGivenBack := a.asked.requestID == "" || a.isAbandoned
	switch {
	case !isGivenBack:
	case a.ticketID != "":
		a.unwanted(a.ticketID)
	default:
		lost := &leftBehind{
			client: a.client, asked: &a.asked.leaseOptions, shared: a.asked.shared(), find: a.finding(), isOne: true,
		}
		a.client.requests.unwanted(lost.shared, lost.begin)
	}
	if isEndless {
		return err.mayBeHeld(a.name, a.requestID, isGivenBack)
	}
	return err
}

// finding is the command that finds the claim of the request id.
func (a *acquisition) finding() *rowlockv1.SessionCommand {
	request := a.asked.request(a.name, a.requestID)
	if a.asked.ttl == Forever {
		// If there is no claim, this takes a place in the queue, which is then given back. A first request that is
		// still on its way then finds that the claim of its id has ended, and is not granted the lock.
		request.WhenBusy = &rowlockv1.AcquireRequest_Enqueue{Enqueue: &rowlockv1.Wait{}}
	} else {
		request.Terms.IfStatus = noStatus()
	}
	return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Acquire{Acquire: request}}
}

// mayAskAgain reports whether a new request id may be used. A request id that the caller has chosen stands for one
// claim.
func (a *acquisition) mayAskAgain() bool {
	return a.asked.requestID == "" && !a.isAbandoned
}

// unwanted gives a claim back, unless other calls ask under the same request id.
func (a *acquisition) unwanted(id string) {
	a.client.requests.unwanted(a.asked.shared(), func() { a.client.locks.giveBack(id, &a.asked.leaseOptions) })
}

func unexpected(result *rowlockv1.SessionResult) *Error {
	return newError(ErrUnknown, codes.Internal, fmt.Sprintf("the server answered with an unexpected result: %T", result.GetResult()))
}

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
	// lateMax is what the server may take for a wait that is over to say so.
	lateMax = 2 * time.Second
	// seldom is how often positions are told that nobody looks at.
	seldom = time.Hour
)

// acquisition is one lock being asked for: from the first request to the grant or the refusal, however many connections that
// takes. Whoever gives up leaves nothing behind: the place is given back as soon as its ticket is known.
type acquisition struct {
	client *Client
	name   string
	asked  *lockOptions
	until  time.Duration

	requestID string
	ticketID  string
	call      *call
	// lateGrants counts the grants that left too little time to begin with.
	lateGrants  int
	isAbandoned bool
	// settled is closed when one of these is known.
	settled chan struct{}
	granted *Lock
	refused *Refusal
	failure *Error
	// place is the latest that was not told yet; news has something in it where there is one.
	place Place
	news  chan struct{}
}

func newAcquisition(client *Client, name string, asked *lockOptions) *acquisition {
	a := &acquisition{
		client:    client,
		name:      name,
		asked:     asked,
		until:     later(client.turns.now(), asked.wait),
		requestID: asked.requestID,
		settled:   make(chan struct{}),
		news:      make(chan struct{}, 1),
	}
	if a.requestID == "" {
		a.requestID = newRequestID()
	}
	return a
}

// run waits for what becomes of it, outside of turns.
func (a *acquisition) run(ctx context.Context) (*Lock, *Refusal, *Error) {
	// Where the user's function panics, too.
	defer a.client.turns.take(func() { a.abandon(closedError()) })
	for {
		select {
		case <-a.settled:
			return a.granted, a.refused, a.failure
		case <-a.news:
			var place Place
			a.client.turns.take(func() { place = a.place })
			a.asked.onPosition(place)
		case <-ctx.Done():
			// Unless it was settled just now: then what was got is not thrown away.
			a.client.turns.take(func() { a.abandon(cancelledError(ctx)) })
			<-a.settled
			return a.granted, a.refused, a.failure
		}
	}
}

// abandon fails with this error, and gives back what was or will be got.
func (a *acquisition) abandon(why *Error) {
	if a.isSettled() {
		return
	}
	a.isAbandoned = true
	a.settle(nil, nil, why)
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
	return a.granted != nil || a.refused != nil || a.failure != nil
}

func (a *acquisition) settle(granted *Lock, refused *Refusal, failure *Error) {
	if a.isSettled() {
		return
	}
	a.granted, a.refused, a.failure = granted, refused, failure
	close(a.settled)
	a.client.requests.leave(a.asked.shared(), granted != nil)
}

func (a *acquisition) isWait() bool {
	return a.asked.wait != 0
}

func (a *acquisition) begin() {
	a.client.requests.join(a.asked.shared())
	a.ask()
}

func (a *acquisition) ask() {
	kind := ordinary
	if a.isWait() {
		kind = waiting
	}
	a.call = a.client.calls.begin(ask{
		kind:        kind,
		repeat:      always,
		command:     a.command,
		giveUpAfter: a.giveUpAfter,
		answered:    a.answered,
		failed:      a.failed,
	})
}

// again asks for the lock under another id, as what there was under the last one is gone.
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

// left is how long to wait still.
func (a *acquisition) left() time.Duration {
	if a.until == Forever {
		return Forever
	}
	return max(time.Millisecond, a.until-a.client.turns.now())
}

func (a *acquisition) command(on connection) *rowlockv1.SessionCommand {
	if !a.isWait() {
		request := a.asked.request(a.name, a.requestID, rowlockv1.WhenBusy_WHEN_BUSY_REFUSE)
		return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Acquire{Acquire: request}}
	}
	wait := &rowlockv1.WaitInQueueRequest{MinUpdateInterval: durationpb.New(seldom)}
	if a.asked.onPosition != nil {
		wait.MinUpdateInterval = durationpb.New(a.asked.positionInterval)
	}
	if a.ticketID != "" && on.followsTickets() {
		wait.Target = &rowlockv1.WaitInQueueRequest_TicketId{TicketId: a.ticketID}
	} else {
		request := a.asked.request(a.name, a.requestID, rowlockv1.WhenBusy_WHEN_BUSY_WAIT)
		if left := a.left(); left != Forever {
			request.MaxWait = durationpb.New(left)
		}
		wait.Target = &rowlockv1.WaitInQueueRequest_Acquire{Acquire: request}
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
	case acquired.GetRefusal() != nil:
		a.ended(acquired.GetRefusal())
	case waited.GetEnded() != nil:
		a.ended(waited.GetEnded())
	case waited.GetPosition() != nil:
		return a.positioned(waited.GetPosition())
	default:
		a.failed(unexpected(result))
	}
	return true
}

// positioned says whether nobody wants the place any more.
func (a *acquisition) positioned(ticket *rowlockv1.Ticket) bool {
	a.ticketID = ticket.GetTicketId()
	if a.isAbandoned {
		a.unwanted(a.ticketID)
		return true
	}
	if a.asked.onPosition == nil {
		return false
	}
	a.place = Place{
		Ahead:        int(ticket.GetAhead()),
		PermitsAhead: ticket.GetPermitsAhead(),
		QueueLength:  int(ticket.GetQueueLength()),
		Waited:       ticket.GetWaited().AsDuration(),
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
	return false
}

func (a *acquisition) grant(lease *rowlockv1.Lease, basis time.Duration) {
	if a.isAbandoned {
		a.unwanted(lease.GetLeaseId())
		return
	}
	if a.client.requests.wasReleased(a.asked.shared(), lease.GetLeaseId()) {
		// Another call under this request id had it, and has released it since: a little later the server says so.
		a.client.turns.after(renewAgain, func() {
			if !a.isSettled() {
				a.ask()
			}
		})
		return
	}
	held := newHeldLease(&a.client.turns, lease, basis, a.asked.margin)
	if !held.isTooEarly(a.asked.terms.areSet()) {
		// In this very turn, so that nothing that is said of it is missed.
		a.settle(a.client.locked(held, lease, &a.asked.claimOptions, a.asked.shared()), nil, nil)
		return
	}
	if a.lateGrants++; a.lateGrants > lateGrantsMax {
		a.settle(nil, nil, ttlTooShort(held))
		a.unwanted(held.id)
		return
	}
	a.renew(held.id)
}

// renew: the grant was long on its way, or is not confirmed yet, so nobody relies on it before it is renewed.
func (a *acquisition) renew(leaseID string) {
	a.ticketID = leaseID
	a.call = a.client.calls.begin(ask{
		kind:   urgent,
		repeat: always,
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

func (a *acquisition) ended(refused *rowlockv1.Refusal) {
	refusal := refusalOf(refused)
	isLeft := !a.isWait() || a.client.turns.now() < a.until
	// Nobody was told of the lease, or the place was lost on the way: to ask again takes nothing from anybody.
	if (refusal.Reason == ErrLapsed || refusal.Reason == ErrExpired) && isLeft && a.mayAskAgain() {
		a.again()
		return
	}
	a.settle(nil, refusal, nil)
}

func (a *acquisition) failed(err *Error) {
	isGone := err.Reason == ErrUnknownClaim || err.Reason == ErrLeaseLost
	if isGone && a.ticketID != "" && a.mayAskAgain() {
		a.again()
		return
	}
	a.settle(nil, nil, a.leave(err))
}

// leave: where a server may have granted the lock, it is given back, and the error of a lease without end says so.
func (a *acquisition) leave(err *Error) *Error {
	isEndless := a.asked.ttl == Forever
	isOver := err.Reason == ErrClosed && !isEndless
	if isOver || !err.leavesDoubt() || a.ticketID == "" && !a.call.mayBeKnown() {
		return err
	}
	// Who has chosen the request id may come back for it, from another program, too.
	isGivenBack := a.asked.requestID == "" || a.isAbandoned
	switch {
	case !isGivenBack:
	case a.ticketID != "":
		a.unwanted(a.ticketID)
	default:
		lost := &leftBehind{
			client: a.client, asked: &a.asked.claimOptions, shared: a.asked.shared(), find: a.finding(), isOne: true,
		}
		a.client.requests.unwanted(lost.shared, lost.begin)
	}
	if isEndless {
		return err.mayBeHeld(a.name, a.requestID, isGivenBack)
	}
	return err
}

// finding asks for what there is under the request id.
func (a *acquisition) finding() *rowlockv1.SessionCommand {
	request := a.asked.request(a.name, a.requestID, rowlockv1.WhenBusy_WHEN_BUSY_REFUSE)
	if a.asked.ttl == Forever {
		// It takes a place where there is nothing, so that a first request that is still on its way finds its claim ended.
		request.WhenBusy = rowlockv1.WhenBusy_WHEN_BUSY_ENQUEUE
	} else {
		request.IfStatus = noStatus()
	}
	return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Acquire{Acquire: request}}
}

// mayAskAgain: a request id that the caller has chosen stands for one claim.
func (a *acquisition) mayAskAgain() bool {
	return a.asked.requestID == "" && !a.isAbandoned
}

// unwanted gives a claim back, unless others ask under the same request id.
func (a *acquisition) unwanted(id string) {
	a.client.requests.unwanted(a.asked.shared(), func() { a.client.giveBack(id, &a.asked.claimOptions) })
}

func unexpected(result *rowlockv1.SessionResult) *Error {
	return newError(ErrUnknown, codes.Internal, fmt.Sprintf("the server answered with %T", result.GetResult()))
}

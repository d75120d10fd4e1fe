package rowlock

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// kind of a call: each is asked for in order of arrival, and has bounds of its own.
type kind int

const (
	// urgent is what keeps and ends leases.
	urgent kind = iota
	ordinary
	waiting
	kinds
)

// repeating says when a call whose answer was lost is asked for again.
type repeating int

const (
	always repeating = iota
	// ifUnsent: not once it may have taken effect.
	ifUnsent
	// inThisConnection: not on another one.
	inThisConnection
)

// ask is what somebody wants of a server.
type ask struct {
	kind   kind
	repeat repeating
	// command is what to ask for, each time that it is asked for.
	command func(on connection) *rowlockv1.SessionCommand
	// giveUpAfter is how long to try without an answer before it fails; it may be Forever.
	giveUpAfter func() time.Duration
	// answered brings a result, which was so at basis or later, and says whether it was the last one.
	answered func(result *rowlockv1.SessionResult, basis time.Duration) bool
	failed   func(err *Error)
	// givesBack: nobody waits for it, so that it outlasts what would be of no use to others.
	givesBack bool
}

// call is an ask that was not yet answered for the last time.
type call struct {
	ask
	// order: calls are asked for again in the order in which they began.
	order  int
	number uint64
	// on is the connection on which it is asked for, if it is.
	on *usage
	// askedAt is when it was asked for; Forever once it was answered.
	askedAt time.Duration
	// wasSent says whether a server that is gone may know of it.
	wasSent bool
	// timesSent counts the connections that have taken it.
	timesSent int
	isOver    bool
	failures  int
	// lastError is what it was answered last, where that was no result.
	lastError   *Error
	retryTimer  *timer
	giveUpTimer *timer
}

// mayBeKnown says whether a server may know of it.
func (c *call) mayBeKnown() bool {
	return c.wasSent || c.on != nil && c.on.hasSent(c.number)
}

// usage is how much of a connection's bounds is used.
type usage struct {
	connection
	commands, waits uint32
}

// calls are all that is asked for and not yet answered. A call outlives connections: what was not answered on one is asked for
// again on the next, where that is safe; it is tried again when it could not be done at the moment, and given up when no
// answer comes in time.
type calls struct {
	turns  *turns
	config Config
	// need asks for a connection.
	need func()
	// lastError is why there was no connection lately.
	lastError func() *Error

	open     map[*call]struct{}
	byNumber map[uint64]*call
	queues   [kinds][]*call
	current  *usage
	begins   int
	numbers  uint64
	// idle is closed when nothing is open any more, where somebody waits for that.
	idle chan struct{}
}

func (c *calls) begin(asked ask) *call {
	c.begins++
	one := &call{ask: asked, order: c.begins}
	c.open[one] = struct{}{}
	c.queues[one.kind] = append(c.queues[one.kind], one)
	c.unanswered(one)
	c.need()
	c.pump()
	return one
}

// cancel: from now on, its answers are nobody's business. The server is told; what it has done by then stays done.
func (c *calls) cancel(one *call) {
	if one.isOver {
		return
	}
	if one.on != nil {
		one.on.cancel(one.number)
	}
	c.close(one)
}

// withdraw: nobody wants it any more, so it is not asked for again, and the server is told of a wait. What it had done by then
// may still be answered; where nobody can answer it any more, it fails.
func (c *calls) withdraw(one *call) {
	if one.isOver {
		return
	}
	one.repeat = inThisConnection
	isSent := one.on != nil && one.on.hasSent(one.number)
	switch {
	case isSent && one.kind == waiting:
		one.on.cancel(one.number)
	case isSent:
	case one.wasSent:
		// By a connection that is gone, so that nobody will answer it.
		c.fail(one, newError(ErrConnectionLost, codes.Unavailable, "the connection was lost before the answer came"))
	default:
		c.cancel(one)
	}
}

// whenIdle answers with a channel that is closed when nothing is open any more.
func (c *calls) whenIdle() <-chan struct{} {
	c.idle = make(chan struct{})
	if len(c.open) == 0 {
		close(c.idle)
	}
	return c.idle
}

// failUnsent fails what no server can know of, except for what keeps and ends leases.
func (c *calls) failUnsent(err *Error) {
	for _, one := range c.inOrder(func(one *call) bool { return one.kind != urgent && !one.mayBeKnown() }) {
		c.fail(one, err)
	}
}

// failAsked fails all that somebody waits for.
func (c *calls) failAsked(err *Error) {
	for _, one := range c.inOrder(func(one *call) bool { return !one.givesBack }) {
		c.fail(one, err)
	}
}

func (c *calls) failAll(err *Error) {
	for _, one := range c.inOrder(func(*call) bool { return true }) {
		c.fail(one, err)
	}
}

// begun: from now on, calls go there.
func (c *calls) begun(on connection) {
	c.current = &usage{connection: on}
	c.pump()
}

// leaving: nothing goes there any more.
func (c *calls) leaving(from connection) {
	if c.current != nil && c.current.connection == from {
		c.current = nil
	}
}

// ended: what was asked for there is asked for again elsewhere, or fails.
func (c *calls) ended(from connection, err *Error) {
	c.leaving(from)
	for _, one := range c.inOrder(func(one *call) bool { return one.on != nil && one.on.connection == from }) {
		c.leave(one)
		switch {
		case one.repeat == always, one.repeat == ifUnsent && !one.wasSent:
			c.again(one)
		case one.repeat == ifUnsent:
			c.fail(one, inDoubt(err))
		default:
			c.fail(one, err)
		}
	}
}

func (c *calls) results(results []*rowlockv1.SessionResult, basis time.Duration) {
	for _, result := range results {
		one := c.byNumber[result.GetCall()]
		if one == nil || result.GetResult() == nil {
			continue
		}
		if failed := result.GetError(); failed != nil {
			c.failed(one, errorOfStatus(failed))
			continue
		}
		if rejected := result.GetRejected(); rejected != nil {
			c.failed(one, errorOfStatus(rejected))
			continue
		}
		one.giveUpTimer.stop()
		one.giveUpTimer = nil
		one.failures = 0
		// The server may have heard more of this client between its decision and the response that tells it: what is decided
		// for a call counts from when it was asked for. Of a grant after a place only the response says when it was made.
		at := min(basis, one.askedAt)
		one.askedAt = Forever
		if one.answered(result, at) {
			c.close(one)
		}
	}
	c.pump()
}

// unanswered: an answer is due, and the call fails unless something comes within its time.
func (c *calls) unanswered(one *call) {
	if one.giveUpTimer != nil {
		return
	}
	within := one.giveUpAfter()
	one.giveUpTimer = c.turns.after(within, func() {
		// Not to be done any more, once it was told that it has failed.
		if one.on != nil {
			one.on.cancel(one.number)
		}
		c.fail(one, c.noAnswer(one, within))
	})
}

func (c *calls) failed(one *call, err *Error) {
	isSafe := one.repeat == always || one.repeat == ifUnsent && err.isUndone()
	if !err.isTransient() || !isSafe {
		c.fail(one, err)
		return
	}
	isMoving := one.on != c.current
	c.leave(one)
	if isMoving {
		c.again(one)
		return
	}
	one.lastError = err
	one.failures++
	one.retryTimer = c.turns.after(backoff(one.failures, err.RetryAfter), func() { c.again(one) })
}

func (c *calls) again(one *call) {
	if one.isOver {
		return
	}
	queue := c.queues[one.kind]
	at := len(queue)
	for at > 0 && queue[at-1].order > one.order {
		at--
	}
	c.queues[one.kind] = slices.Insert(queue, at, one)
	c.unanswered(one)
	c.need()
	c.pump()
}

// pump asks for what has its turn, as far as the server's bounds allow.
func (c *calls) pump() {
	if c.current == nil {
		return
	}
	for kind, queue := range c.queues {
		sent := 0
		for sent < len(queue) && c.send(queue[sent], c.current) {
			queue[sent] = nil
			sent++
		}
		c.queues[kind] = queue[sent:]
	}
}

// send says whether it was sent, or will have failed by that.
func (c *calls) send(one *call, on *usage) bool {
	opened := on.opened()
	if opened == nil {
		// A server of which nothing was heard may not be there, and then this would be in doubt for nothing. And before it has
		// named its bounds, a first request is free to name what there was.
		if one.repeat == ifUnsent {
			return false
		}
	} else if one.kind == waiting && on.waits >= opened.GetWaitsMax() ||
		one.kind != waiting && on.commands >= opened.GetCommandsMax() {
		return false
	}
	command := one.command(on.connection)
	c.numbers++
	command.Call = c.numbers
	encoded, err := proto.Marshal(command)
	if err != nil {
		// In a request it would end the session of all others.
		return c.failSoon(one, unsendable(err))
	}
	if bytes, bytesMax := len(encoded), on.commandBytesMax(); bytes > bytesMax {
		return opened != nil && c.failSoon(one, tooLarge(bytes, bytesMax))
	}
	one.number = c.numbers
	one.on = on
	one.timesSent++
	one.askedAt = c.turns.now()
	c.byNumber[one.number] = one
	if one.kind == waiting {
		on.waits++
	} else {
		on.commands++
	}
	on.send(command)
	return true
}

// failSoon has it fail in another turn, as whoever is told may ask for more.
func (c *calls) failSoon(one *call, err *Error) bool {
	c.turns.after(0, func() { c.fail(one, err) })
	return true
}

func (c *calls) fail(one *call, err *Error) {
	if one.isOver {
		return
	}
	c.end(one)
	one.ask.failed(err)
	// Whoever has failed may have asked for more, as to give back what came too late.
	c.lookIfIdle()
}

func (c *calls) close(one *call) {
	if one.isOver {
		return
	}
	c.end(one)
	c.lookIfIdle()
}

func (c *calls) end(one *call) {
	one.isOver = true
	one.retryTimer.stop()
	one.giveUpTimer.stop()
	if at := slices.Index(c.queues[one.kind], one); one.on == nil && at >= 0 {
		c.queues[one.kind] = slices.Delete(c.queues[one.kind], at, at+1)
	}
	c.leave(one)
	delete(c.open, one)
}

func (c *calls) lookIfIdle() {
	if len(c.open) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

func (c *calls) leave(one *call) {
	if one.on == nil {
		return
	}
	one.wasSent = one.mayBeKnown()
	delete(c.byNumber, one.number)
	if one.kind == waiting {
		one.on.waits--
	} else {
		one.on.commands--
	}
	one.on = nil
}

func (c *calls) inOrder(isMeant func(*call) bool) []*call {
	var found []*call
	for one := range c.open {
		if isMeant(one) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b *call) int { return a.order - b.order })
	return found
}

func (c *calls) noAnswer(one *call, within time.Duration) *Error {
	if one.lastError != nil {
		return one.lastError
	}
	message := fmt.Sprintf("no answer within %v from %s: is a server running there, and with or without TLS as this client?",
		within.Round(time.Millisecond), strings.Join(c.config.Addresses, ", "))
	why := c.lastError()
	if why == nil {
		return newError(ErrNoServer, codes.Unavailable, message)
	}
	return newError(ErrNoServer, codes.Unavailable, message+" "+why.Message, why)
}

func inDoubt(err *Error) *Error {
	return newError(ErrConnectionLost, codes.Unavailable,
		"the connection was lost before the answer came, so it may have been done or not: "+err.Message, err)
}

func unsendable(cause error) *Error {
	return newError(ErrBadRequest, codes.InvalidArgument, "this cannot be sent: "+cause.Error(), cause)
}

func tooLarge(bytes, bytesMax int) *Error {
	err := newError(ErrMessageTooLarge, codes.ResourceExhausted,
		fmt.Sprintf("this would take %d bytes, and the server takes no more than %d of one command", bytes, bytesMax))
	err.Metadata = map[string]string{"bytes_max": fmt.Sprint(bytesMax)}
	return err
}

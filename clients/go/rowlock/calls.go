// The open calls of a client, which outlive its connections. This file decides when a call is sent, repeated and given
// up; it knows nothing of what the commands mean.

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

// kind of a call. Each kind has a queue in order of arrival, and is sent before the next kind. Waits and other commands
// have separate bounds.
type kind int

const (
	// kindUrgent: calls that renew and end leases.
	kindUrgent kind = iota
	kindOther
	kindWait
	kinds
)

// repeating says when a call is sent again after its answer was lost.
type repeating int

const (
	repeatAlways repeating = iota
	// repeatOnceOpen: always, but first to a server that has answered. A second try cannot tell what the first one did.
	repeatOnceOpen
	// repeatUnsent: only if it cannot have taken effect.
	repeatUnsent
	// repeatOnThisConnection: never on another connection.
	repeatOnThisConnection
)

func (r repeating) isSafe() bool {
	return r == repeatAlways || r == repeatOnceOpen
}

// ask describes a request to a server.
type ask struct {
	kind   kind
	repeat repeating
	// traceparent is the trace context of the caller; "" for none.
	traceparent string
	// command makes the command, each time that the call is sent.
	command func(on connection) *rowlockv1.SessionCommand
	// giveUpAfter is how long to try without an answer before the call fails; may be Forever.
	giveUpAfter func() time.Duration
	// answered takes a result, which was true at basis or later. It reports whether this was the last result.
	answered func(result *rowlockv1.SessionResult, basis time.Duration) bool
	failed   func(err *Error)
	// givesBack: nobody waits for this call, so failures that end other calls do not end it.
	givesBack bool
}

// call is an ask whose last answer has not come yet.
type call struct {
	ask
	// order: calls are sent again in the order in which they began.
	order  int
	number uint64
	// usage is of the connection on which the call was sent; nil if it is on none.
	usage *usage
	// askedAt is when the call was sent; Forever after its first result.
	askedAt time.Duration
	// wasSent reports whether the server of an earlier connection may know of the call.
	wasSent bool
	// isAnswered: a server has given the call a place.
	isAnswered bool
	// timesSent counts the connections that have taken the call.
	timesSent int
	isOver    bool
	failures  int
	// lastError is the last error that a server has answered with.
	lastError   *Error
	retryTimer  *timer
	giveUpTimer *timer
}

// mayBeKnown reports whether any server may know of the call.
func (c *call) mayBeKnown() bool {
	return c.wasSent || c.usage != nil && c.usage.hasSent(c.number)
}

// usage counts what is under way on a connection, to stay within the server's bounds.
type usage struct {
	connection
	commands, waits uint32
}

// calls holds all calls that are not answered yet. A call outlives its connection: if the connection ends before the
// answer, the call is sent again on the next one where that is safe. A call that fails for a transient reason is tried
// again, and a call without an answer in time fails.
type calls struct {
	turns  *turns
	config Config
	// need opens a connection unless there is one.
	need func()
	// lastError is why the latest connection ended or could not be opened.
	lastError func() *Error
	// diagnoses say what is at the addresses where no server answers.
	diagnoses func() []Diagnosis

	open     map[*call]struct{}
	byNumber map[uint64]*call
	queues   [kinds][]*call
	current  *usage
	begins   int
	numbers  uint64
	// idle is closed when no call is open any more; nil if nobody waits for that.
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

// cancel ends a call; its answers are ignored from now on. The server is notified, but what it has already done stays
// done.
func (c *calls) cancel(one *call) {
	if one.isOver {
		return
	}
	if one.usage != nil {
		one.usage.cancel(one.number)
	}
	c.close(one)
}

// withdraw ends a call that nobody wants any more. The call is not sent again, and a wait is cancelled at the server.
// An answer for what the server had done by then is still taken; if no server can answer any more, the call fails.
func (c *calls) withdraw(one *call) {
	if one.isOver {
		return
	}
	one.repeat = repeatOnThisConnection
	isSent := one.usage != nil && one.usage.hasSent(one.number)
	switch {
	case isSent && one.kind == kindWait:
		one.usage.cancel(one.number)
	case isSent:
	case one.wasSent:
		// It was sent on a connection that is gone, so no server will answer.
		c.fail(one, newError(ErrConnectionLost, codes.Unavailable, "the connection was lost before the answer came"))
	default:
		c.cancel(one)
	}
}

// whenIdle returns a channel that is closed when no call is open any more.
func (c *calls) whenIdle() <-chan struct{} {
	c.idle = make(chan struct{})
	if len(c.open) == 0 {
		close(c.idle)
	}
	return c.idle
}

// failUnsent fails the calls that no server can know of, except for those that renew and end leases.
func (c *calls) failUnsent(err *Error) {
	for _, one := range c.inOrder(func(one *call) bool { return one.kind != kindUrgent && !one.mayBeKnown() }) {
		c.fail(one, err)
	}
}

// failAsked fails all calls that somebody waits for. Calls with a place stay if only the credentials are refused and others
// may come, or if no server is found where one was before: the server keeps a place for a while.
func (c *calls) failAsked(err *Error) {
	mayPass := err.isOfCredentials() && c.config.mayGetCredentials() || err.Reason == ErrNoServer
	for _, one := range c.inOrder(func(one *call) bool { return !one.givesBack && !(mayPass && one.isAnswered) }) {
		c.fail(one, err)
	}
}

func (c *calls) failAll(err *Error) {
	for _, one := range c.inOrder(func(*call) bool { return true }) {
		c.fail(one, err)
	}
}

// begun: calls are sent on this connection from now on.
func (c *calls) begun(on connection) {
	c.current = &usage{connection: on}
	c.pump()
}

// leaving: no more calls are sent on this connection.
func (c *calls) leaving(from connection) {
	if c.current != nil && c.current.connection == from {
		c.current = nil
	}
}

// ended: calls that were under way on this connection are sent again on another one, or fail.
func (c *calls) ended(from connection, err *Error) {
	c.leaving(from)
	for _, one := range c.inOrder(func(one *call) bool { return one.usage != nil && one.usage.connection == from }) {
		c.leave(one)
		switch {
		case one.repeat.isSafe(), one.repeat == repeatUnsent && !one.wasSent:
			c.again(one)
		case one.repeat == repeatUnsent:
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
		// The server may have heard later requests between its decision and this response. A decision about a call is
		// therefore dated back to the moment when the call was sent. A later result (a grant after a position) is dated
		// by its response alone.
		at := min(basis, one.askedAt)
		one.askedAt = Forever
		if one.answered(result, at) {
			c.close(one)
		} else {
			one.isAnswered = true
		}
	}
	c.pump()
}

// unanswered starts the timer of a call that awaits an answer. When it fires, the call fails.
func (c *calls) unanswered(one *call) {
	if one.giveUpTimer != nil {
		return
	}
	within := one.giveUpAfter()
	one.giveUpTimer = c.turns.after(within, func() {
		// Once the caller has been given the failure, the server must not carry the command out.
		if one.usage != nil {
			one.usage.cancel(one.number)
		}
		c.fail(one, c.noAnswer(one, within))
	})
}

func (c *calls) failed(one *call, err *Error) {
	isSafe := one.repeat.isSafe() || one.repeat == repeatUnsent && err.isUndone()
	if !err.isTransient() || !isSafe {
		c.fail(one, err)
		return
	}
	isMoving := one.usage != c.current
	wasSent := one.wasSent
	c.leave(one)
	if err.isOfCredentials() {
		// The server has not looked at the call.
		one.wasSent = wasSent
	}
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

// pump sends the calls whose turn it is, as far as the server's bounds allow.
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

// send reports whether the call has left the queue: it was sent, or is about to fail.
func (c *calls) send(one *call, on *usage) bool {
	opened := on.opened()
	if opened == nil {
		// Such a call waits until the server has answered. A server that has not answered yet may not be there, and the
		// call would end in doubt for nothing. Other calls need not wait: the first request may carry all that was open
		// on the last connection, before the server names its bounds.
		if one.repeat == repeatUnsent || one.repeat == repeatOnceOpen {
			return false
		}
	} else if one.kind == kindWait && on.waits >= opened.GetWaitsMax() ||
		one.kind != kindWait && on.commands >= opened.GetCommandsMax() {
		return false
	}
	command := one.command(on.connection)
	c.numbers++
	command.Call, command.Traceparent = c.numbers, one.traceparent
	encoded, err := proto.Marshal(command)
	if err != nil {
		// In a request, this command would end the session for all other calls.
		return c.failSoon(one, unsendable(err))
	}
	if bytes, bytesMax := len(encoded), on.commandBytesMax(); bytes > bytesMax {
		return opened != nil && c.failSoon(one, tooLarge(bytes, bytesMax))
	}
	one.number = c.numbers
	one.usage = on
	one.timesSent++
	one.askedAt = c.turns.now()
	c.byNumber[one.number] = one
	if one.kind == kindWait {
		on.waits++
	} else {
		on.commands++
	}
	on.send(command)
	return true
}

// failSoon fails the call in another turn, because its callback may begin more calls.
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
	// The callback may have begun another call, for example to give a late grant back.
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
	if at := slices.Index(c.queues[one.kind], one); one.usage == nil && at >= 0 {
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
	if one.usage == nil {
		return
	}
	one.wasSent = one.mayBeKnown()
	delete(c.byNumber, one.number)
	if one.kind == kindWait {
		one.usage.waits--
	} else {
		one.usage.commands--
	}
	one.usage = nil
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
	within = within.Round(time.Millisecond)
	why := c.lastError()
	if why != nil && why.isOfCredentials() {
		return why
	}
	if diagnoses := c.diagnoses(); len(diagnoses) > 0 {
		return noServer(fmt.Sprintf("no server has answered within %v", within), diagnoses)
	}
	message := fmt.Sprintf("no answer within %v from %s", within, strings.Join(c.config.Addresses, ", "))
	if why == nil {
		return newError(ErrNoServer, codes.Unavailable, message)
	}
	return newError(ErrNoServer, codes.Unavailable, message+": "+why.Message, why)
}

func inDoubt(err *Error) *Error {
	return newError(ErrConnectionLost, codes.Unavailable,
		"the connection was lost before the answer came, so the call may have taken effect or not: "+err.Message, err)
}

func unsendable(cause error) *Error {
	return newError(ErrBadRequest, codes.InvalidArgument, "the request cannot be encoded: "+cause.Error(), cause)
}

func tooLarge(bytes, bytesMax int) *Error {
	err := newError(ErrMessageTooLarge, codes.ResourceExhausted,
		fmt.Sprintf("the command has %d bytes, but the server accepts at most %d", bytes, bytesMax))
	err.Metadata = map[string]string{"bytes_max": fmt.Sprint(bytesMax)}
	return err
}

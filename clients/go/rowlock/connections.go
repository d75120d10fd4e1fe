// Which connection a client has. This file knows nothing of the commands on it.

package rowlock

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// bytesMaxAtFirst is what any server accepts before it has announced its bound: the least that can be configured.
	bytesMaxAtFirst = 1_024
	// lasted: a connection that ends sooner counts as a failure, which may delay the next one.
	lasted = time.Second
)

// hopelessCodes: another server would answer the same.
var hopelessCodes = []codes.Code{codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied}

// sessionRefusedCodes are the codes that gRPC reports when a stream does not get through: the server lacks the method,
// or a proxy answers with an HTTP status or resets the stream.
var sessionRefusedCodes = []codes.Code{codes.Unimplemented, codes.Internal, codes.PermissionDenied, codes.Unknown}

// connectionsListener is notified of all connections, in turns.
type connectionsListener interface {
	// isNeeding reports whether anything is held or asked for.
	isNeeding() bool
	// begun: commands can be sent on this connection, whose server has not answered yet.
	begun(on connection)
	// responded takes a response, which was true at basis or later.
	responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration)
	// leaving: the server stops or the connection has ended. Send nothing more there; answers may still come.
	leaving(from connection)
	// ended: the connection is gone, after leaving or without it.
	ended(from connection, err *Error)
	// hopeless: no server will accept this client as it is configured.
	hopeless(err *Error)
}

// connections keeps one connection open while it is needed. It tries servers until one answers, and replaces the
// connection when it is lost or its server stops. It knows nothing of the commands.
type connections struct {
	turns    *turns
	config   Config
	listener connectionsListener
	observer *observer

	// all are the connections that have not ended: the current one, and those whose servers stop.
	all       []connection
	current   connection
	timer     *timer
	openTimer *timer
	addressAt int
	failures  int
	bytesMax  int
	openedAt  time.Duration
	isClosed  bool
	// isAskedAgain: since a server has last answered, a connection was opened at once because the credentials of the one
	// before were refused.
	isAskedAgain bool
	// lastError is why the last connection ended or could not be opened.
	lastError *Error
	// reach knows what is wrong with addresses without a server.
	reach *reachability
	// complaint logs that no server answers; nil while there is a server, and after the log line.
	complaint *timer
	// hasComplained: that was logged since a server has last answered.
	hasComplained bool
}

func newConnections(turns *turns, config Config, listener connectionsListener, observer *observer) *connections {
	c := &connections{turns: turns, config: config, listener: listener, observer: observer, bytesMax: bytesMaxAtFirst}
	c.reach = newReachability(turns, config, c.diagnosed)
	return c
}

// diagnosed fails the calls if no waiting can help.
func (c *connections) diagnosed() {
	if !c.isClosed && !c.isOpen() && c.reach.isHopeless() {
		c.listener.hopeless(noServer("no server can be reached in this way", c.reach.all()))
	}
}

// complainSoon logs after a second that no server answers, once until one does.
func (c *connections) complainSoon() {
	if c.complaint != nil || c.hasComplained || c.isClosed {
		return
	}
	c.complaint = c.turns.after(silentTooLong, func() {
		c.complaint = nil
		if !c.isOpen() && c.listener.isNeeding() {
			c.hasComplained = true
			c.observer.noServer(c.reach.all(), c.lastError)
		}
	})
}

// isOpen reports whether the server of the current connection has answered.
func (c *connections) isOpen() bool {
	return c.current != nil && c.current.opened() != nil
}

// need opens a connection unless there is one.
func (c *connections) need() {
	if c.current != nil || c.timer != nil || c.isClosed {
		return
	}
	address := c.config.Addresses[c.addressAt]
	c.begin(openSession(c.turns, c.config, address, c.bytesMax, c))
}

// leave moves to another server, because this one answers but cannot do what is asked. It does nothing if there is only
// one address or if the connection is new.
func (c *connections) leave(err *Error) {
	from := c.current
	if from == nil || !c.hasLasted(from) || len(c.config.Addresses) < 2 {
		return
	}
	from.destroy()
	c.ended(from, err)
}

// hurry tries the servers again at once, because little time is left.
func (c *connections) hurry() {
	c.failures = 0
	if c.timer == nil {
		return
	}
	c.timer.stop()
	c.timer = nil
	if c.listener.isNeeding() {
		c.need()
	}
}

// close ends all connections in good order within this time. The returned channels are closed when they have ended.
func (c *connections) close(within time.Duration) []<-chan struct{} {
	c.isClosed = true
	c.reach.stop()
	c.complaint.stop()
	c.timer.stop()
	c.openTimer.stop()
	var over []<-chan struct{}
	for _, one := range c.all {
		if one.opened() == nil {
			one.destroy()
		}
		over = append(over, one.close(within))
	}
	c.all, c.current = nil, nil
	return over
}

func (c *connections) begin(on connection) {
	c.all = append(c.all, on)
	c.current = on
	c.openTimer.stop()
	c.openTimer = c.turns.after(c.config.ConnectTimeout, func() {
		on.destroy()
		message := fmt.Sprintf("%s did not answer within %v", on.address(), c.config.ConnectTimeout)
		c.ended(on, newError(ErrUnknown, codes.Unavailable, message))
	})
	c.listener.begun(on)
}

func (c *connections) responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration) {
	if opened := response.GetOpened(); opened != nil && from == c.current {
		c.openTimer.stop()
		c.openedAt = c.turns.now()
		c.isAskedAgain = false
		c.reach.answers(from.address())
		c.complaint.stop()
		c.complaint, c.hasComplained = nil, false
		c.observer.connection(ConnectionEvent{
			Address: from.address(), IsConnected: true, Replica: opened.GetReplica(), Via: from.via(),
		}, true)
		if bytesMax := opened.GetMessageBytesMax(); bytesMax > 0 {
			c.bytesMax = int(bytesMax)
		}
	}
	if response.GetGoingAway() && from == c.current {
		c.current = nil
		c.openTimer.stop()
		c.observer.goingAway(from.address())
		c.listener.leaving(from)
		c.next(newError(ErrShuttingDown, codes.Unavailable, from.address()+" is stopping"), c.hasLasted(from), false)
	}
	c.listener.responded(from, response, basis)
}

func (c *connections) ended(from connection, err *Error) {
	at := slices.Index(c.all, from)
	if at < 0 {
		return
	}
	c.all = slices.Delete(c.all, at, at+1)
	wasCurrent := from == c.current
	if wasCurrent {
		c.current = nil
		c.openTimer.stop()
		if isSessionRefused(from, err) {
			// Before the listener is notified, since it then asks for a connection: this is the one.
			unary := openUnary(c.turns, c.config, from.address(), c)
			c.current = unary
			c.listener.ended(from, err)
			c.begin(unary)
			return
		}
	}
	c.observer.connection(ConnectionEvent{Address: from.address(), Err: err}, from.opened() != nil)
	c.complainSoon()
	isRefused := wasCurrent && from.opened() == nil
	// The next connection asks the source of the credentials again, which may have others by now.
	isAskingAgain := isRefused && err.isOfCredentials() && !c.isAskedAgain && c.config.mayGetCredentials()
	// Before the listener is notified, since it then asks for a connection at once.
	if wasCurrent {
		c.isAskedAgain = c.isAskedAgain || isAskingAgain
		c.next(err, c.hasLasted(from), isAskingAgain)
		c.listener.leaving(from)
	}
	c.listener.ended(from, err)
	isHopeless := slices.Contains(hopelessCodes, err.Code) || err.Reason == ErrMessageTooLarge
	switch {
	case isRefused && isHopeless && !isAskingAgain:
		c.listener.hopeless(err)
	case isRefused && !isAskingAgain && !c.isClosed:
		c.reach.failed(from.address(), err)
	}
}

// next opens the next connection: at once, or after a pause if all servers have failed in turn.
func (c *connections) next(err *Error, hasLasted, isAtOnce bool) {
	c.lastError = err
	c.failures++
	if hasLasted {
		c.failures = 0
	}
	count := len(c.config.Addresses)
	c.addressAt = (c.addressAt + 1) % count
	if c.isClosed {
		return
	}
	pause := time.Duration(0)
	if c.failures > 0 && c.failures%count == 0 && !isAtOnce {
		pause = backoff(c.failures/count, 0)
	}
	c.timer = c.turns.after(pause, func() {
		c.timer = nil
		if c.listener.isNeeding() {
			c.need()
		}
	})
}

func (c *connections) hasLasted(on connection) bool {
	return on.opened() != nil && c.turns.now()-c.openedAt >= lasted
}

// isSessionRefused reports whether a session was refused by something other than a Rowlock server, or by a server that
// does not have sessions yet.
func isSessionRefused(from connection, err *Error) bool {
	return from.via() == ViaSession && from.opened() == nil && !err.isOfServer() &&
		slices.Contains(sessionRefusedCodes, err.Code)
}

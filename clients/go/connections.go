package rowlock

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// lastedMin: a connection that does not last so long counts as a failure, and its successor is not opened at once.
const lastedMin = time.Second

// hopelessCodes: another server would say the same.
var hopelessCodes = []codes.Code{codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied}

// refusedStreamCodes are what gRPC makes of a way that lets no streams through: a server without the method, or a proxy that
// answers by a status of HTTP, or resets the stream.
var refusedStreamCodes = []codes.Code{codes.Unimplemented, codes.Internal, codes.PermissionDenied, codes.Unknown}

// connectionsOwner is told of all connections, in turns.
type connectionsOwner interface {
	// isNeeding says whether anything is held or asked for.
	isNeeding() bool
	// begun: commands can be sent, but nothing was heard of the server yet.
	begun(on connection)
	// responded brings a response: what it says was so at basis or later.
	responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration)
	// leaving: its server stops; nothing is to be sent there any more, but answers may still come.
	leaving(from connection)
	// ended, after leaving or without it.
	ended(from connection, err *Error)
	// hopeless: no server will have this client as it is.
	hopeless(err *Error)
}

// connections keeps one connection open while it is needed: through the first server that answers, and through another one
// when it is lost or its server stops. It knows nothing of what is asked for.
type connections struct {
	turns  *turns
	config Config
	owner  connectionsOwner
	events *events

	// all that have not ended: the current one, and those whose servers stop.
	all       []connection
	current   connection
	timer     *timer
	openTimer *timer
	addressAt int
	failures  int
	bytesMax  int
	openedAt  time.Duration
	isClosed  bool
	// lastError is why the last connection has ended, or could not be had.
	lastError *Error
}

// isOpen says whether there is a connection whose server has answered.
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

// leave tries another server, where there is one and this one had its time: it answers, but cannot do what is asked.
func (c *connections) leave(err *Error) {
	from := c.current
	if from == nil || !c.hasLasted(from) || len(c.config.Addresses) < 2 {
		return
	}
	from.destroy()
	c.ended(from, err)
}

// hurry has servers tried again at once, as there is little time left.
func (c *connections) hurry() {
	c.failures = 0
	if c.timer == nil {
		return
	}
	c.timer.stop()
	c.timer = nil
	if c.owner.isNeeding() {
		c.need()
	}
}

// close ends all connections in good order, within the time; what it answers is closed when they have ended.
func (c *connections) close(within time.Duration) []<-chan struct{} {
	c.isClosed = true
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
		message := fmt.Sprintf("%s has not answered within %v", on.address(), c.config.ConnectTimeout)
		c.ended(on, newError(ErrUnknown, codes.Unavailable, message))
	})
	c.owner.begun(on)
}

func (c *connections) responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration) {
	if opened := response.GetOpened(); opened != nil && from == c.current {
		c.openTimer.stop()
		c.openedAt = c.turns.now()
		c.events.tell(ConnectionEvent{
			Address: from.address(), IsConnected: true, Replica: opened.GetReplica(), IsUnary: !from.followsTickets(),
		})
		if bytesMax := opened.GetMessageBytesMax(); bytesMax > 0 {
			c.bytesMax = int(bytesMax)
		}
	}
	if response.GetGoingAway() && from == c.current {
		c.current = nil
		c.openTimer.stop()
		c.owner.leaving(from)
		c.next(newError(ErrShuttingDown, codes.Unavailable, from.address()+" is stopping"), c.hasLasted(from))
	}
	c.owner.responded(from, response, basis)
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
		if isStreamRefused(from, err) {
			// Before who is told asks for a connection: this is it.
			unary := openUnary(c.turns, c.config, from.address(), c)
			c.current = unary
			c.owner.ended(from, err)
			c.begin(unary)
			return
		}
	}
	c.events.tell(ConnectionEvent{Address: from.address(), Err: err})
	// First of all, as whoever is told asks for a connection at once.
	if wasCurrent {
		c.next(err, c.hasLasted(from))
		c.owner.leaving(from)
	}
	c.owner.ended(from, err)
	isHopeless := slices.Contains(hopelessCodes, err.Code) || err.Reason == ErrMessageTooLarge
	if wasCurrent && isHopeless && from.opened() == nil {
		c.owner.hopeless(err)
	}
}

// next opens the next connection: at once, unless all servers have failed in turn.
func (c *connections) next(err *Error, hasLasted bool) {
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
	if c.failures > 0 && c.failures%count == 0 {
		pause = backoff(c.failures/count, 0)
	}
	c.timer = c.turns.after(pause, func() {
		c.timer = nil
		if c.owner.isNeeding() {
			c.need()
		}
	})
}

func (c *connections) hasLasted(on connection) bool {
	return on.opened() != nil && c.turns.now()-c.openedAt >= lastedMin
}

// isStreamRefused says whether it is no server of Rowlock that has refused a session, or one that has none yet.
func isStreamRefused(from connection, err *Error) bool {
	return from.followsTickets() && from.opened() == nil && !err.isOfServer() &&
		slices.Contains(refusedStreamCodes, err.Code)
}

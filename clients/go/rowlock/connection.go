package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// connection sends commands to one server, and reports their results to its listener. A [sessionConnection] is one session;
// [unaryConnection] is for servers and proxies without streams. All methods are called in a turn and do not block.
type connection interface {
	address() string
	// opened is what the server has announced; nil until it has answered.
	opened() *rowlockv1.SessionOpened
	// commandBytesMax is the largest size of one command.
	commandBytesMax() int
	// renewalsMax is how many leases one command may renew.
	renewalsMax() int
	// via is the kind of the connection. Only over a session may a wait name its ticket; otherwise a wait always asks
	// for the lock under its request id.
	via() Via
	// send takes a command, which the caller must not change any more.
	send(command *rowlockv1.SessionCommand)
	// cancel ends a command. It reports whether the command was sent: then an answer may still come.
	cancel(call uint64) bool
	// hasSent reports whether the server may know of a command that this connection has taken.
	hasSent(call uint64) bool
	// acknowledge acknowledges to the server what this client has read.
	acknowledge()
	// close ends the connection in good order within this time, and its listener is not notified any more. The channel is
	// closed when the connection has ended.
	close(within time.Duration) <-chan struct{}
	// destroy ends the connection at once, and its listener is not notified any more.
	destroy()
}

// connectionListener is notified by a connection, in turns.
type connectionListener interface {
	// responded takes a response, which was true at basis or later.
	responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration)
	// ended is called once, unless the listener itself has ended the connection.
	ended(from connection, err *Error)
}

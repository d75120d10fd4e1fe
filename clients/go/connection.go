package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// connection is one way to one server: it takes commands, and tells its owner what became of them. A [sessionStream] is one
// session; [unaryCalls] is for ways that let no streams through. All methods are to be called in a turn, and do not block.
type connection interface {
	address() string
	// opened is what is in force; nil until the server has answered.
	opened() *rowlockv1.SessionOpened
	// commandBytesMax is how large one command may be.
	commandBytesMax() int
	// leasesAtOnce is how many leases one command may renew.
	leasesAtOnce() int
	// followsTickets says whether a wait may name its ticket; otherwise it always asks for the lock, under its request id.
	followsTickets() bool
	// send takes a command, which must not be changed any more.
	send(command *rowlockv1.SessionCommand)
	// cancel ends a command of which nothing more is wanted, and says whether it was sent: then it may be answered still.
	cancel(call uint64) bool
	// hasSent says whether the server may know of a command that this connection has taken.
	hasSent(call uint64) bool
	// touch has the server told how far this client has read.
	touch()
	// close ends it in good order, within the time; the channel is closed when it has ended. Its owner hears nothing more.
	close(within time.Duration) <-chan struct{}
	// destroy ends it at once. Its owner hears nothing more.
	destroy()
}

// connectionOwner is told of a connection, in turns.
type connectionOwner interface {
	// responded brings a response: what it says was so at basis or later.
	responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration)
	// ended is called once, unless it was ended by its owner.
	ended(from connection, err *Error)
}

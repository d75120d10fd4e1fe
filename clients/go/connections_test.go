// The change from one connection to the next.

package rowlock

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/internal/boottime"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// quietConnection does nothing.
type quietConnection struct{ connection }

func (*quietConnection) address() string                  { return "quiet" }
func (*quietConnection) opened() *rowlockv1.SessionOpened { return &rowlockv1.SessionOpened{} }
func (*quietConnection) followsTickets() bool             { return true }

// countingOwner counts its notifications.
type countingOwner struct{ begins, responses, leavings, ends int }

func (o *countingOwner) isNeeding() bool  { return false }
func (o *countingOwner) begun(connection) { o.begins++ }
func (o *countingOwner) responded(connection, *rowlockv1.SessionResponse, time.Duration) {
	o.responses++
}
func (o *countingOwner) leaving(connection)       { o.leavings++ }
func (o *countingOwner) ended(connection, *Error) { o.ends++ }
func (o *countingOwner) hopeless(*Error)          {}

// When a server says that it stops, the next connection takes up what is held. The end of the old one leaves no doubt.
func TestAServerThatStopsIsLeftOnce(t *testing.T) {
	owner := &countingOwner{}
	turns := &turns{now: boottime.Now}
	stopping, next := &quietConnection{}, &quietConnection{}
	connections := &connections{
		turns: turns, owner: owner, events: &events{turns: turns},
		config: Config{Addresses: []string{"one", "two"}, ConnectTimeout: time.Hour},
	}
	gone := newError(ErrUnknown, codes.Unavailable, "gone")
	turns.take(func() {
		connections.begin(stopping)
		connections.responded(stopping, &rowlockv1.SessionResponse{GoingAway: true}, 0)
	})
	if owner.leavings != 1 || connections.current != nil {
		t.Fatalf("%+v", owner)
	}
	turns.take(func() {
		connections.begin(next)
		connections.ended(stopping, gone)
	})
	if owner.leavings != 1 || owner.ends != 1 || connections.current != next {
		t.Fatalf("%+v", owner)
	}
	turns.take(func() { connections.ended(next, gone) })
	if owner.leavings != 2 || owner.ends != 2 {
		t.Fatalf("%+v", owner)
	}
}

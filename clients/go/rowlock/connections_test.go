// The change from one connection to the next.

package rowlock

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/rowlock/rowlock/clients/go/internal/clock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// quietConnection does nothing.
type quietConnection struct{ connection }

func (*quietConnection) address() string                  { return "quiet" }
func (*quietConnection) opened() *rowlockv1.SessionOpened { return &rowlockv1.SessionOpened{} }
func (*quietConnection) via() Via                         { return ViaSession }

// countingListener counts its notifications.
type countingListener struct{ begins, responses, leavings, ends int }

func (o *countingListener) isNeeding() bool  { return false }
func (o *countingListener) begun(connection) { o.begins++ }
func (o *countingListener) responded(connection, *rowlockv1.SessionResponse, time.Duration) {
	o.responses++
}
func (o *countingListener) leaving(connection)       { o.leavings++ }
func (o *countingListener) ended(connection, *Error) { o.ends++ }
func (o *countingListener) hopeless(*Error)          {}

// When a server says that it stops, the next connection takes up what is held. The end of the old one leaves no doubt.
func TestAServerThatStopsIsLeftOnce(t *testing.T) {
	listener := &countingListener{}
	turns := &turns{now: clock.Now}
	stopping, next := &quietConnection{}, &quietConnection{}
	connections := &connections{
		turns: turns, listener: listener, observer: newObserver(turns, Config{}),
		config: Config{Addresses: []string{"one", "two"}, ConnectTimeout: time.Hour},
	}
	gone := newError(ErrUnknown, codes.Unavailable, "gone")
	turns.take(func() {
		connections.begin(stopping)
		connections.responded(stopping, &rowlockv1.SessionResponse{GoingAway: true}, 0)
	})
	if listener.leavings != 1 || connections.current != nil {
		t.Fatalf("%+v", listener)
	}
	turns.take(func() {
		connections.begin(next)
		connections.ended(stopping, gone)
	})
	if listener.leavings != 1 || listener.ends != 1 || connections.current != next {
		t.Fatalf("%+v", listener)
	}
	turns.take(func() { connections.ended(next, gone) })
	if listener.leavings != 2 || listener.ends != 2 {
		t.Fatalf("%+v", listener)
	}
}

// sendingConnection remembers the commands that it is to send.
type sendingConnection struct {
	quietConnection
	sent []*rowlockv1.SessionCommand
}

func (s *sendingConnection) send(command *rowlockv1.SessionCommand) { s.sent = append(s.sent, command) }
func (*sendingConnection) commandBytesMax() int                     { return 1_000 }
func (*sendingConnection) opened() *rowlockv1.SessionOpened {
	return &rowlockv1.SessionOpened{CommandsMax: 9}
}

func TestACommandHasTheTraceContextOfItsCaller(t *testing.T) {
	turns := &turns{now: clock.Now}
	calls := &calls{turns: turns, need: func() {}, open: map[*call]struct{}{}, byNumber: map[uint64]*call{}}
	verbs := &verbs{turns: turns, calls: calls, giveUpAfter: Forever}
	on := &sendingConnection{}
	turns.take(func() {
		calls.begun(on)
		of := releaseQuestion(&rowlockv1.ReleaseRequest{LeaseId: "a"})
		of.traceparent = "the caller's"
		verbs.begin(of, nil)
		verbs.endUnused("b", false, Forever)
	})
	if len(on.sent) != 2 || on.sent[0].GetTraceparent() != "the caller's" || on.sent[1].GetTraceparent() != "" {
		t.Fatal(on.sent)
	}
}

// openingConnection has no server that has answered.
type openingConnection struct{ sendingConnection }

func (*openingConnection) opened() *rowlockv1.SessionOpened { return nil }

// A second release could not tell whether the first one has ended the lease.
func TestAReleaseIsSentFirstToAServerThatHasAnswered(t *testing.T) {
	turns := &turns{now: clock.Now}
	calls := &calls{turns: turns, need: func() {}, open: map[*call]struct{}{}, byNumber: map[uint64]*call{}}
	verbs := &verbs{turns: turns, calls: calls, giveUpAfter: Forever}
	opening, open := &openingConnection{}, &sendingConnection{}
	gone := newError(ErrUnknown, codes.Unavailable, "gone")
	var sent *call
	turns.take(func() {
		calls.begun(opening)
		sent = verbs.begin(releaseQuestion(&rowlockv1.ReleaseRequest{LeaseId: "a"}), nil)
		calls.ended(opening, gone)
		calls.begun(open)
	})
	if len(opening.sent) != 0 || len(open.sent) != 1 || sent.timesSent != 1 {
		t.Fatal(opening.sent, open.sent, sent.timesSent)
	}
}

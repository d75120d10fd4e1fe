// The connection of choice: one session, one stream for all commands.

package rowlock

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// frameBytes bounds the size of a request without its commands; commandFrameBytes is the overhead of each command.
	frameBytes        = 64
	commandFrameBytes = 6
	// silentTicksMax: silence is counted in ticks, because at most one tick passes while this process is frozen.
	silentTicksMax = 4
	// renewalsMax is the most leases of one command, and renewalBytes the most bytes of each.
	renewalsMax  = 500
	renewalBytes = 64
)

// sessionConnection is one session with one server. It gathers commands into requests, records when each request was sent,
// sends heartbeats, and notices a server that falls silent. It knows nothing of what commands mean.
type sessionConnection struct {
	turns    *turns
	at       string
	listener connectionListener
	stop     context.CancelFunc
	// over is closed when the session has ended.
	over chan struct{}
	// wake holds one element when there is something to send.
	wake chan struct{}

	inForce  *rowlockv1.SessionOpened
	bytesMax int
	open     *rowlockv1.SessionOpen
	commands []*rowlockv1.SessionCommand
	// sentUpTo is the number of the last call in a request. Calls are numbered in the order of sending.
	sentUpTo   uint64
	isTouched  bool
	isClosing  bool
	isOver     bool
	lastSentAt time.Duration
	// sentAt is when each request was sent that the server has not reported as heard yet. The first has number heard +
	// 1.
	sentAt      []time.Duration
	heard       uint64
	heardSentAt time.Duration
	received    uint64
	// hasReceived: a response has come since the last tick.
	hasReceived bool
	silentTicks int
	beatTimer   *timer
	listenTimer *timer
}

// openSession begins to connect. bytesMax is the bound for a request until the server announces its own.
func openSession(turns *turns, config Config, address string, bytesMax int, listener connectionListener) *sessionConnection {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sessionConnection{
		turns:       turns,
		at:          address,
		listener:    listener,
		stop:        cancel,
		over:        make(chan struct{}),
		wake:        make(chan struct{}, 1),
		bytesMax:    bytesMax,
		open:        &rowlockv1.SessionOpen{Owner: config.Owner, Labels: config.Labels},
		hasReceived: true,
		heardSentAt: turns.now(),
	}
	turns.start(func() {
		err := s.converse(ctx, config)
		turns.take(func() { s.end(err) })
	})
	s.acknowledge()
	return s
}

func (s *sessionConnection) address() string {
	return s.at
}

func (s *sessionConnection) opened() *rowlockv1.SessionOpened {
	return s.inForce
}

func (s *sessionConnection) commandBytesMax() int {
	return s.bytesMax - frameBytes
}

// renewalsMax stays within the bytes of a command.
func (s *sessionConnection) renewalsMax() int {
	return max(1, min(renewalsMax, s.commandBytesMax()/renewalBytes))
}

func (s *sessionConnection) via() Via {
	return ViaSession
}

func (s *sessionConnection) send(command *rowlockv1.SessionCommand) {
	s.commands = append(s.commands, command)
	s.acknowledge()
}

func (s *sessionConnection) cancel(call uint64) bool {
	// A cancel in the same request would be decided before the command that it ends.
	isIt := func(command *rowlockv1.SessionCommand) bool { return command.GetCall() == call }
	if at := slices.IndexFunc(s.commands, isIt); at >= 0 {
		s.commands = slices.Delete(s.commands, at, at+1)
		return false
	}
	s.send(&rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Cancel{Cancel: call}})
	return true
}

func (s *sessionConnection) hasSent(call uint64) bool {
	return call <= s.sentUpTo
}

// acknowledge sends a request soon, even an empty one.
func (s *sessionConnection) acknowledge() {
	s.isTouched = true
	s.wakeUp()
}

func (s *sessionConnection) close(within time.Duration) <-chan struct{} {
	if !s.isOver {
		s.isClosing = true
		s.wakeUp()
		s.turns.after(within, s.destroy)
	}
	return s.over
}

func (s *sessionConnection) destroy() {
	if s.isOver {
		return
	}
	s.isOver = true
	s.beatTimer.stop()
	s.listenTimer.stop()
	s.stop()
	close(s.over)
}

func (s *sessionConnection) end(err *Error) {
	if s.isOver {
		return
	}
	if s.inForce == nil && err.refusesSession() {
		s.sentUpTo = 0
	}
	s.destroy()
	if !s.isClosing {
		s.listener.ended(s, err)
	}
}

func (s *sessionConnection) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// converse opens the session and reads it to its end, outside of turns.
func (s *sessionConnection) converse(ctx context.Context, config Config) *Error {
	ctx, conn, failed := connectTo(ctx, s.turns, s.at, config)
	if failed != nil {
		return failed
	}
	defer conn.Close()
	stream, err := rowlockv1.NewLockServiceClient(conn).Session(ctx)
	if err != nil {
		return errorOfCall(err)
	}
	s.turns.start(func() { s.write(stream) })
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return newError(ErrUnknown, codes.Unavailable, fmt.Sprintf("%s has ended the session", s.at))
		}
		if err != nil {
			return errorOfCall(err)
		}
		s.turns.take(func() { s.take(response) })
	}
}

// write sends requests until the session is over. The reader gets the error when a request cannot be sent.
func (s *sessionConnection) write(stream rowlockv1.LockService_SessionClient) {
	for {
		select {
		case <-s.wake:
			// Let goroutines that the same response has woken run first, so that their commands go into one request.
			runtime.Gosched()
		case <-stream.Context().Done():
			return
		}
		for {
			request, isLast := s.next()
			if request != nil && stream.Send(request) != nil {
				return
			}
			if isLast {
				_ = stream.CloseSend()
				return
			}
			if request == nil {
				break
			}
		}
	}
}

// next is the next request, if there is anything to send, and whether it is the last one.
func (s *sessionConnection) next() (request *rowlockv1.SessionRequest, isLast bool) {
	s.turns.take(func() {
		if s.isTouched {
			request = s.gather()
		}
		isLast = s.isClosing && !s.isTouched
	})
	return request, isLast
}

// gather makes a request of the waiting commands, as far as they fit.
func (s *sessionConnection) gather() *rowlockv1.SessionRequest {
	bytes := frameBytes
	request := &rowlockv1.SessionRequest{Open: s.open, Received: s.received}
	if s.open != nil {
		bytes += proto.Size(s.open)
		s.open = nil
	}
	taken := 0
	for ; taken < len(s.commands); taken++ {
		bytes += proto.Size(s.commands[taken]) + commandFrameBytes
		if bytes > s.bytesMax && taken > 0 {
			break
		}
		s.sentUpTo = max(s.sentUpTo, s.commands[taken].GetCall())
	}
	request.Commands = s.commands[:taken:taken]
	s.commands = s.commands[taken:]
	s.isTouched = len(s.commands) > 0
	s.lastSentAt = s.turns.now()
	s.sentAt = append(s.sentAt, s.lastSentAt)
	return request
}

func (s *sessionConnection) take(response *rowlockv1.SessionResponse) {
	if s.isOver {
		return
	}
	s.received++
	s.hasReceived = true
	for s.heard < response.GetHeard() && len(s.sentAt) > 0 {
		s.heard++
		s.heardSentAt, s.sentAt = s.sentAt[0], s.sentAt[1:]
	}
	if opened := response.GetOpened(); opened != nil && s.inForce == nil {
		s.begin(opened)
	}
	s.listener.responded(s, response, s.heardSentAt)
}

func (s *sessionConnection) begin(opened *rowlockv1.SessionOpened) {
	s.inForce = opened
	s.bytesMax = int(opened.GetMessageBytesMax())
	if interval := opened.GetHeartbeatInterval().AsDuration(); interval > 0 {
		s.beat(interval)
	}
	if silence := opened.GetSilenceMax().AsDuration(); silence > 0 {
		s.listen(silence / silentTicksMax)
	}
}

// beat sends a request if none was sent in this interval.
func (s *sessionConnection) beat(interval time.Duration) {
	wait := s.lastSentAt + interval - s.turns.now()
	if wait <= 0 {
		s.acknowledge()
		wait = interval
	}
	s.beatTimer = s.turns.after(wait, func() { s.beat(interval) })
}

// listen ends the session if its server is gone. The server answers every request, so silence after a request means
// that.
func (s *sessionConnection) listen(tick time.Duration) {
	s.listenTimer = s.turns.after(tick, func() {
		s.silentTicks++
		if s.hasReceived || len(s.sentAt) == 0 {
			s.silentTicks = 0
		}
		s.hasReceived = false
		if s.silentTicks >= silentTicksMax {
			s.end(newError(ErrUnknown, codes.Unavailable, fmt.Sprintf("%s has stopped answering", s.at)))
			return
		}
		s.listen(tick)
	})
}

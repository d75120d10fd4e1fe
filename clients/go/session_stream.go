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
	// bytesMaxAtFirst is what any server accepts before it has announced its bound: the least that can be configured.
	bytesMaxAtFirst = 1_024
	// silentTicksMax: silence is counted in ticks, because at most one tick passes while this process is frozen.
	silentTicksMax = 4
	// leasesAtOnceMax leases in one renewal are well within the default size of a request.
	leasesAtOnceMax = 500
)

// sessionStream is one session with one server. It gathers commands into requests, records when each request was sent,
// sends heartbeats, and notices a server that falls silent. It knows nothing of what commands mean.
type sessionStream struct {
	turns *turns
	at    string
	owner connectionOwner
	stop  context.CancelFunc
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
func openSession(turns *turns, config Config, address string, bytesMax int, owner connectionOwner) *sessionStream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sessionStream{
		turns:       turns,
		at:          address,
		owner:       owner,
		stop:        cancel,
		over:        make(chan struct{}),
		wake:        make(chan struct{}, 1),
		bytesMax:    bytesMax,
		open:        &rowlockv1.SessionOpen{Owner: config.Owner, Labels: config.Labels},
		hasReceived: true,
		heardSentAt: turns.now(),
	}
	turns.goroutines.Go(func() {
		err := s.converse(ctx, config)
		turns.take(func() { s.end(err) })
	})
	s.touch()
	return s
}

func (s *sessionStream) address() string {
	return s.at
}

func (s *sessionStream) opened() *rowlockv1.SessionOpened {
	return s.inForce
}

func (s *sessionStream) commandBytesMax() int {
	return s.bytesMax - frameBytes
}

func (s *sessionStream) leasesAtOnce() int {
	return leasesAtOnceMax
}

func (s *sessionStream) followsTickets() bool {
	return true
}

func (s *sessionStream) send(command *rowlockv1.SessionCommand) {
	s.commands = append(s.commands, command)
	s.touch()
}

func (s *sessionStream) cancel(call uint64) bool {
	// A cancel in the same request would be decided before the command that it ends.
	isIt := func(command *rowlockv1.SessionCommand) bool { return command.GetCall() == call }
	if at := slices.IndexFunc(s.commands, isIt); at >= 0 {
		s.commands = slices.Delete(s.commands, at, at+1)
		return false
	}
	s.send(&rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_Cancel{Cancel: call}})
	return true
}

func (s *sessionStream) hasSent(call uint64) bool {
	return call <= s.sentUpTo
}

// touch sends a request soon, even an empty one.
func (s *sessionStream) touch() {
	s.isTouched = true
	s.wakeUp()
}

func (s *sessionStream) close(within time.Duration) <-chan struct{} {
	if !s.isOver {
		s.isClosing = true
		s.wakeUp()
		s.turns.after(within, s.destroy)
	}
	return s.over
}

func (s *sessionStream) destroy() {
	if s.isOver {
		return
	}
	s.isOver = true
	s.beatTimer.stop()
	s.listenTimer.stop()
	s.stop()
	close(s.over)
}

func (s *sessionStream) end(err *Error) {
	if s.isOver {
		return
	}
	if s.inForce == nil && err.refusesSession() {
		s.sentUpTo = 0
	}
	s.destroy()
	if !s.isClosing {
		s.owner.ended(s, err)
	}
}

func (s *sessionStream) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// converse opens the session and reads it to its end, outside of turns.
func (s *sessionStream) converse(ctx context.Context, config Config) *Error {
	ctx, conn, failed := connectTo(ctx, s.at, config)
	if failed != nil {
		return failed
	}
	defer conn.Close()
	stream, err := rowlockv1.NewLockServiceClient(conn).Session(ctx)
	if err != nil {
		return errorOfCall(err)
	}
	s.turns.goroutines.Go(func() { s.write(stream) })
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
func (s *sessionStream) write(stream rowlockv1.LockService_SessionClient) {
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
func (s *sessionStream) next() (request *rowlockv1.SessionRequest, isLast bool) {
	s.turns.take(func() {
		if s.isTouched {
			request = s.gather()
		}
		isLast = s.isClosing && !s.isTouched
	})
	return request, isLast
}

// gather makes a request of the waiting commands, as far as they fit.
func (s *sessionStream) gather() *rowlockv1.SessionRequest {
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

func (s *sessionStream) take(response *rowlockv1.SessionResponse) {
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
	s.owner.responded(s, response, s.heardSentAt)
}

func (s *sessionStream) begin(opened *rowlockv1.SessionOpened) {
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
func (s *sessionStream) beat(interval time.Duration) {
	wait := s.lastSentAt + interval - s.turns.now()
	if wait <= 0 {
		s.touch()
		wait = interval
	}
	s.beatTimer = s.turns.after(wait, func() { s.beat(interval) })
}

// listen ends the session if its server is gone. The server answers every request, so silence after a request means
// that.
func (s *sessionStream) listen(tick time.Duration) {
	s.listenTimer = s.turns.after(tick, func() {
		s.silentTicks++
		if s.hasReceived || len(s.sentAt) == 0 {
			s.silentTicks = 0
		}
		s.hasReceived = false
		if s.silentTicks >= silentTicksMax {
			s.end(newError(ErrUnknown, codes.Unavailable, fmt.Sprintf("%s does not answer any more", s.at)))
			return
		}
		s.listen(tick)
	})
}

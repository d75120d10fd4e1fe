package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// sessionTick is how often an idle session checks whether to send something: the server expects to hear within a second
// how far the client has read.
const sessionTick = 500 * time.Millisecond

// Upper bounds for a request's bytes beside its commands, and for the tag and length in front of each command.
const (
	otherFieldsBytes  = 32
	commandFrameBytes = 6
)

// session is the client's end of one Session: calls of many callers over one stream. One goroutine sends all gathered
// commands as one request, another one reads responses and passes each result to its call.
type session struct {
	stream    rowlockv1.LockService_SessionClient
	opened    chan *rowlockv1.SessionOpened
	wake      chan struct{}
	heartbeat time.Duration
	// commandsBytesMax is the limit for all commands of one request.
	commandsBytesMax int
	// received counts the responses that were read.
	received atomic.Uint64

	mu       sync.Mutex
	gathered []*rowlockv1.SessionCommand
	calls    map[uint64]func(*rowlockv1.SessionResult)
	lastCall uint64
	// failed is closed when the session has ended; err then holds the reason.
	failed chan struct{}
	err    error
}

func openSession(ctx context.Context, service rowlockv1.LockServiceClient) (*session, error) {
	stream, err := service.Session(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{
		stream: stream,
		opened: make(chan *rowlockv1.SessionOpened, 1),
		wake:   make(chan struct{}, 1),
		calls:  map[uint64]func(*rowlockv1.SessionResult){},
		failed: make(chan struct{}),
	}
	if err := stream.Send(&rowlockv1.SessionRequest{Open: &rowlockv1.SessionOpen{Owner: "bench"}}); err != nil {
		return nil, err
	}
	go s.read()
	select {
	case opened := <-s.opened:
		s.heartbeat = opened.HeartbeatInterval.AsDuration()
		s.commandsBytesMax = int(opened.MessageBytesMax) - otherFieldsBytes
	case <-s.failed:
		return nil, s.err
	}
	go s.write()
	return s, nil
}

// begin sends a command and passes each of its results to onResult, which must not block.
func (s *session) begin(command *rowlockv1.SessionCommand, onResult func(*rowlockv1.SessionResult)) {
	s.mu.Lock()
	s.lastCall++
	command.Call = s.lastCall
	s.calls[command.Call] = onResult
	s.gathered = append(s.gathered, command)
	s.mu.Unlock()
	s.wakeUp()
}

// do sends a command that has one result, and waits for it. It returns a result that is an error as an error.
func (s *session) do(command *rowlockv1.SessionCommand) (*rowlockv1.SessionResult, error) {
	answer := make(chan *rowlockv1.SessionResult, 1)
	s.begin(command, func(result *rowlockv1.SessionResult) { answer <- result })
	select {
	case result := <-answer:
		return result, errorOf(result)
	case <-s.failed:
		return nil, s.err
	}
}

func (s *session) write() {
	tick := time.NewTicker(sessionTick)
	defer tick.Stop()
	var acknowledged uint64
	sentAt := time.Now()
	for {
		idle := false
		select {
		case <-s.wake:
			// Lets the callers woken by the same response run first, so that their commands go together.
			runtime.Gosched()
		case <-tick.C:
			idle = true
		case <-s.failed:
			return
		}
		commands := s.take()
		received := s.received.Load()
		// An empty request is due to acknowledge what was read since the last one, and as a sign of life.
		due := idle && (received != acknowledged || s.heartbeat > 0 && time.Since(sentAt) > s.heartbeat-sessionTick)
		if len(commands) == 0 && !due {
			continue
		}
		// If this fails, the reader gets the reason.
		if s.stream.Send(&rowlockv1.SessionRequest{Commands: commands, Received: received}) != nil {
			return
		}
		acknowledged, sentAt = received, time.Now()
	}
}

// take takes as many gathered commands as fit into one request, and leaves the rest for the next one.
func (s *session) take() []*rowlockv1.SessionCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, bytes := 0, 0
	for ; taken < len(s.gathered); taken++ {
		if bytes += proto.Size(s.gathered[taken]) + commandFrameBytes; bytes > s.commandsBytesMax {
			s.wakeUp()
			break
		}
	}
	commands := s.gathered[:taken:taken]
	s.gathered = s.gathered[taken:]
	return commands
}

func (s *session) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) read() {
	for {
		response, err := s.stream.Recv()
		if err == nil && response.GoingAway {
			err = fmt.Errorf("the server goes away")
		}
		if err != nil {
			if err == io.EOF {
				err = fmt.Errorf("the server has closed the session")
			}
			s.err = err
			close(s.failed)
			return
		}
		s.received.Add(1)
		if response.Opened != nil {
			s.opened <- response.Opened
		}
		for _, result := range response.Results {
			s.mu.Lock()
			onResult := s.calls[result.Call]
			if isLast(result) {
				delete(s.calls, result.Call)
			}
			s.mu.Unlock()
			if onResult != nil {
				onResult(result)
			}
		}
	}
}

// isLast reports whether the call is over, which any result but a position in the queue means.
func isLast(result *rowlockv1.SessionResult) bool {
	return result.GetWaitInQueue().GetPosition() == nil
}

func errorOf(result *rowlockv1.SessionResult) error {
	if status := result.GetError(); status != nil {
		return &sessionError{status}
	}
	if status := result.GetRejected(); status != nil {
		return &sessionError{status}
	}
	return nil
}

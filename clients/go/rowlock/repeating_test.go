// A scripted server, and which calls are repeated after a lost answer.

package rowlock_test

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// scriptedServer hands each command of its sessions to the test.
type scriptedServer struct {
	rowlockv1.UnimplementedLockServiceServer
	commands chan *rowlockv1.SessionCommand
	mu       sync.Mutex
	stop     func()
	// say sends a response in the latest session.
	say func(*rowlockv1.SessionResponse)
	// received is how many responses the client has acknowledged.
	received atomic.Uint64
}

func (s *scriptedServer) Session(stream grpc.BidiStreamingServer[rowlockv1.SessionRequest, rowlockv1.SessionResponse]) error {
	over := make(chan struct{})
	s.mu.Lock()
	s.stop = sync.OnceFunc(func() { close(over) })
	var saying sync.Mutex
	s.say = func(response *rowlockv1.SessionResponse) {
		saying.Lock()
		defer saying.Unlock()
		stream.Send(response)
	}
	say := s.say
	s.mu.Unlock()
	go func() {
		for heard := uint64(1); ; heard++ {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			response := &rowlockv1.SessionResponse{Heard: heard}
			if request.GetOpen() != nil {
				response.Opened = &rowlockv1.SessionOpened{
					Replica: "scripted", HeartbeatInterval: durationpb.New(time.Hour), SilenceMax: durationpb.New(time.Hour),
					WaitsMax: 100, CommandsMax: 100, MessageBytesMax: 65_536,
				}
			}
			s.received.Store(request.GetReceived())
			say(response)
			for _, command := range request.GetCommands() {
				s.commands <- command
			}
		}
	}()
	<-over
	return nil
}

// cut ends the latest session.
func (s *scriptedServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// answer sends the result of a command.
func (s *scriptedServer) answer(command *rowlockv1.SessionCommand, result *rowlockv1.SessionResult) {
	result.Call = command.GetCall()
	s.mu.Lock()
	say := s.say
	s.mu.Unlock()
	say(&rowlockv1.SessionResponse{Results: []*rowlockv1.SessionResult{result}})
}

// After a lost connection, the client repeats the calls that are safe to repeat, and no others.
func TestOnlyWhatIsSafeIsRepeated(t *testing.T) {
	for how, asked := range map[string]struct {
		ask      func(*rowlock.Client) error
		isUnsafe bool
	}{
		"a limit": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.SetLimit(background, rowlock.ForName("x"), 1)
			return err
		}},
		"a rate": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.SetRate(background, rowlock.ForName("x"), rowlock.Rate{Permits: 1, Per: time.Minute})
			return err
		}},
		"a record": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.UpdateRecord(background, "x", rowlock.Status("new"))
			return err
		}},
		"a record's end": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.DeleteRecord(background, "x")
			return err
		}},
		"the end of all holders": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.ForceRelease(background, "x", "test")
			return err
		}},
		"a look": {ask: func(client *rowlock.Client) error {
			_, err := client.GetLock(background, "x")
			return err
		}},
		"the end of one claim": {ask: func(client *rowlock.Client) error {
			_, err := client.ForceReleaseClaim(background, "x", 1, "test")
			return err
		}},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
			client := connectTo(t, serve(t, scripted))
			failed := make(chan error, 1)
			go func() { failed <- asked.ask(client) }()
			within(t, "the command", scripted.commands)
			scripted.cut()
			if !asked.isUnsafe {
				within(t, "the command again", scripted.commands)
				return
			}
			if err := within(t, "the failure", failed); !errors.Is(err, rowlock.ErrConnectionLost) {
				t.Error(err)
			}
		})
	}
}

// A call that the server reports as not done is repeated, even if it must not be done twice.
func TestCallsReportedAsNotDoneAreRepeated(t *testing.T) {
	for reason, isUndone := range map[string]bool{
		"DATABASE_UNAVAILABLE": true, "SHUTTING_DOWN": true, "SESSION_SILENT": false, "OUTCOME_UNKNOWN": false,
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
			client := connectTo(t, serve(t, scripted))
			failed := make(chan error, 1)
			go func() {
				_, err := client.SetLimit(background, rowlock.ForName("x"), 1)
				failed <- err
			}()
			info, err := anypb.New(&errdetails.ErrorInfo{Domain: "rowlock", Reason: reason})
			if err != nil {
				t.Fatal(err)
			}
			refused := &statuspb.Status{Code: int32(codes.Unavailable), Details: []*anypb.Any{info}}
			command := within(t, "the command", scripted.commands)
			scripted.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Error{Error: refused}})
			if isUndone {
				within(t, "the command again", scripted.commands)
				return
			}
			if err := within(t, "the failure", failed); !errors.Is(err, rowlock.Reason(reason)) {
				t.Error(err)
			}
		})
	}
}

// serve starts a server of the test's own, and returns its address.
func serve(t *testing.T, own rowlockv1.LockServiceServer, options ...grpc.ServerOption) string {
	t.Helper()
	address, begin := serveLater(t, own, options...)
	begin()
	return address
}

// serveLater listens, but answers nothing until begin is called.
func serveLater(t *testing.T, own rowlockv1.LockServiceServer, options ...grpc.ServerOption) (address string, begin func()) {
	t.Helper()
	service := grpc.NewServer(options...)
	rowlockv1.RegisterLockServiceServer(service, own)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Stop()
		listener.Close()
	})
	return listener.Addr().String(), func() { go service.Serve(listener) }
}

// reasoned is an error status as the server sends it.
func reasoned(code codes.Code, reason string, more ...protoadapt.MessageV1) *statuspb.Status {
	details := append(more, &errdetails.ErrorInfo{Domain: "rowlock", Reason: reason})
	detailed, err := status.New(code, "no").WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return detailed.Proto()
}

package rowlock_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	rowlock "github.com/rowlock/rowlock/clients/go"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// scriptedServer has sessions that hand each of their commands to the test.
type scriptedServer struct {
	rowlockv1.UnimplementedLockServiceServer
	commands chan *rowlockv1.SessionCommand
	mu       sync.Mutex
	stop     func()
}

func (s *scriptedServer) Session(stream grpc.BidiStreamingServer[rowlockv1.SessionRequest, rowlockv1.SessionResponse]) error {
	over := make(chan struct{})
	s.mu.Lock()
	s.stop = sync.OnceFunc(func() { close(over) })
	s.mu.Unlock()
	go func() {
		for heard := uint64(1); ; heard++ {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			for _, command := range request.GetCommands() {
				s.commands <- command
			}
			response := &rowlockv1.SessionResponse{Heard: heard}
			if request.GetOpen() != nil {
				response.Opened = &rowlockv1.SessionOpened{
					Replica: "scripted", HeartbeatInterval: durationpb.New(time.Second), SilenceMax: durationpb.New(time.Minute),
					WaitsMax: 100, CommandsMax: 100, MessageBytesMax: 65_536,
				}
			}
			stream.Send(response)
		}
	}()
	<-over
	return nil
}

// cut ends the session that there is.
func (s *scriptedServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// What is safe is asked for again when the connection was lost before its answer came, and nothing else.
func TestOnlyWhatIsSafeIsRepeated(t *testing.T) {
	for how, asked := range map[string]struct {
		ask      func(*rowlock.Client) error
		isUnsafe bool
	}{
		"a limit": {ask: func(client *rowlock.Client) error {
			_, err := client.SetLimit(background, rowlock.ForName("x"), 1)
			return err
		}},
		"a limit of a version": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.SetLimit(background, rowlock.ForName("x"), 1, rowlock.IfVersion(1))
			return err
		}},
		"the end of all holders": {isUnsafe: true, ask: func(client *rowlock.Client) error {
			_, err := client.ForceRelease(background, "x", "test")
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

// serve has a server of the test's own listen, and answers with its address.
func serve(t *testing.T, own rowlockv1.LockServiceServer) string {
	t.Helper()
	service := grpc.NewServer()
	rowlockv1.RegisterLockServiceServer(service, own)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go service.Serve(listener)
	t.Cleanup(service.Stop)
	return listener.Addr().String()
}

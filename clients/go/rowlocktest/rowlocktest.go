// Package rowlocktest gives a test a lock server of its own, which keeps everything in memory and ends with the test:
//
//	func TestLoad(t *testing.T) {
//		server := rowlocktest.Start(t)
//		err := load(server.Client(t))
//		...
//		server.Lose("etl/load") // as if the lease had run out
//	}
//
// It runs the command `rowlock serve --ephemeral`. The command is that of the option [Command], or of the environment
// variable ROWLOCK_BIN, or rowlock on the PATH.
package rowlocktest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

const (
	// startWithin and stopWithin bound the start and the end of a server.
	startWithin = 30 * time.Second
	stopWithin  = 5 * time.Second
	// loseWithin bounds a forced release.
	loseWithin = 10 * time.Second
)

// Server is a lock server that runs. All methods can be called from any goroutine.
type Server struct {
	address, metrics string
	process          *exec.Cmd
	stdin            io.Closer
	exited           chan struct{}
	operator         *rowlock.Client
}

// Option is an option of a server.
type Option func(*options)

type options struct {
	command []string
}

// Command is the command that `serve --ephemeral` is added to, such as "npx", "rowlock".
func Command(name string, arguments ...string) Option {
	return func(o *options) { o.command = append([]string{name}, arguments...) }
}

// Start starts a server for one test, which fails if that does not work. The server stops when the test and its subtests
// are complete.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	started, err := Launch(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
	return started
}

// Launch starts a server for several tests, for example in TestMain. Call [Server.Stop] at the end. If the program ends
// without that, the server ends with it.
func Launch(more ...Option) (*Server, error) {
	o := &options{command: []string{"rowlock"}}
	if own := os.Getenv("ROWLOCK_BIN"); own != "" {
		o.command = []string{own}
	}
	for _, option := range more {
		option(o)
	}
	process := exec.Command(o.command[0], append(o.command[1:len(o.command):len(o.command)], "serve", "--ephemeral")...)
	process.Stderr = os.Stderr
	process.WaitDelay = stopWithin
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	process.Stdout = writer
	err = process.Start()
	writer.Close()
	if err != nil {
		return nil, fmt.Errorf("rowlocktest: %w: install the server, set ROWLOCK_BIN to its path (bin/rowlock.mjs of a "+
			"checkout), or pass rowlocktest.Command", err)
	}
	started := &Server{process: process, stdin: stdin, exited: make(chan struct{})}
	go func() {
		// How it has ended is in the process.
		_ = process.Wait()
		close(started.exited)
	}()
	if err := started.read(reader); err != nil {
		started.kill()
		return nil, fmt.Errorf("rowlocktest: %v does not serve: %w", process.Args, err)
	}
	started.operator, err = rowlock.Connect(rowlock.Config{Addresses: []string{started.address}, Owner: "rowlocktest"})
	if err != nil {
		started.kill()
		return nil, err
	}
	return started, nil
}

// read reads the line with the addresses.
func (s *Server) read(from *os.File) error {
	if err := from.SetReadDeadline(time.Now().Add(startWithin)); err != nil {
		return err
	}
	line, err := bufio.NewReader(from).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it says %q: %w", line, err)
	}
	said := struct{ GRPC, Metrics string }{}
	if err := json.Unmarshal(line, &said); err != nil || said.GRPC == "" {
		return fmt.Errorf("it says %q", line)
	}
	s.address, s.metrics = said.GRPC, said.Metrics
	return nil
}

// Address is where the server listens, as host:port.
func (s *Server) Address() string {
	return s.address
}

// Metrics is the URL of its metrics.
func (s *Server) Metrics() string {
	return s.metrics
}

// Client makes a client of this server, which is closed when the test is complete.
func (s *Server) Client(t testing.TB) *rowlock.Client {
	t.Helper()
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{s.address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// Lose ends the leases of all who hold the lock, as an operator would: their clients report the loss, and the next waiter
// is granted the lock. It fails if nobody has ever named the lock.
func (s *Server) Lose(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), loseWithin)
	defer cancel()
	_, err := s.operator.ForceRelease(ctx, name, "a test loses it")
	return err
}

// Stop stops the server, once. Leases and limits are gone with it.
func (s *Server) Stop() error {
	s.operator.Close()
	_ = s.stdin.Close()
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopWithin):
		s.kill()
		return errors.New("rowlocktest: the server did not stop by itself")
	}
}

func (s *Server) kill() {
	_ = s.process.Process.Kill()
	<-s.exited
}

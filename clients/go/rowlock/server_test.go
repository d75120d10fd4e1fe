// Real servers for the tests, and helpers that all tests use.

package rowlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// painfullyLong is how long a test waits before it fails.
const painfullyLong = time.Minute

// server is a server of this repository, in a process of its own on an SQLite file.
type server struct {
	address string
	process *exec.Cmd
	exited  chan struct{}
}

// shared is one server for all tests that do not disturb it. Their locks have different names.
var shared = sync.OnceValues(func() (*server, error) {
	directory, err := os.MkdirTemp("", "rowlock-go-")
	if err != nil {
		return nil, err
	}
	sharedDirectory = directory
	return launch("127.0.0.1:0", filepath.Join(directory, "rowlock.db"))
})
var sharedDirectory string

func TestMain(m *testing.M) {
	if os.Getenv(childAddress) != "" {
		askOnce()
		return
	}
	code := m.Run()
	if sharedDirectory != "" {
		if running, err := shared(); err == nil {
			running.end(syscall.SIGKILL)
		}
		os.RemoveAll(sharedDirectory)
	}
	os.Exit(code)
}

func sharedAddress(t *testing.T) string {
	t.Helper()
	running, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return running.address
}

// startServer starts a server for this test alone.
func startServer(t *testing.T, listen, database string, more ...string) *server {
	t.Helper()
	running, err := launch(listen, database, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.end(syscall.SIGKILL) })
	return running
}

func freshDatabase(t *testing.T) string {
	return filepath.Join(t.TempDir(), "rowlock.db")
}

func launch(listen, database string, more ...string) (*server, error) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "../../..")
	node := filepath.Join(root, "node_modules/.bin/node")
	if _, err := os.Stat(node); err != nil {
		return nil, fmt.Errorf("run npm ci in the repository first: %w", err)
	}
	args := append([]string{"server/main.ts", "serve", "--listen", listen, "--metrics-listen", "off",
		"--database-url", "sqlite:" + database, "--log-level", "error"}, more...)
	process := exec.Command(node, args...)
	process.Dir = root
	process.Stderr = os.Stderr
	// The node of node_modules is a script that starts the real one. A process group delivers signals to both.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	banner := &bannerReader{told: make(chan struct{})}
	process.Stdout = banner
	if err := process.Start(); err != nil {
		return nil, err
	}
	running := &server{process: process, exited: make(chan struct{})}
	go func() {
		process.Wait()
		close(running.exited)
	}()
	select {
	case <-banner.told:
		running.address = banner.address
		return running, nil
	case <-running.exited:
		return nil, fmt.Errorf("the server has ended: %s", banner.said.String())
	case <-time.After(painfullyLong):
		running.end(syscall.SIGKILL)
		return nil, fmt.Errorf("the server does not say its address: %s", banner.said.String())
	}
}

// bannerReader reads the server's address from its start message, as a person would.
type bannerReader struct {
	said    bytes.Buffer
	address string
	told    chan struct{}
}

var (
	bannerEnd     = regexp.MustCompile(`LockService/Acquire\n`)
	bannerAddress = regexp.MustCompile(`gRPC +(\S+)`)
)

func (b *bannerReader) Write(text []byte) (int, error) {
	b.said.Write(text)
	if b.address == "" && bannerEnd.Match(b.said.Bytes()) {
		b.address = string(bannerAddress.FindSubmatch(b.said.Bytes())[1])
		close(b.told)
	}
	return len(text), nil
}

func (s *server) signal(signal syscall.Signal) {
	syscall.Kill(-s.process.Process.Pid, signal)
}

// end sends the signal and waits until the server has ended.
func (s *server) end(signal syscall.Signal) {
	s.signal(signal)
	<-s.exited
}

// connect makes a client that is closed after the test.
func connect(t *testing.T, config rowlock.Config) *rowlock.Client {
	t.Helper()
	client, err := rowlock.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func connectTo(t *testing.T, addresses ...string) *rowlock.Client {
	t.Helper()
	return connect(t, rowlock.Config{Addresses: addresses, Owner: "tester"})
}

// nameOf is a lock that no other test uses.
func nameOf(t *testing.T) string {
	return strings.ReplaceAll(t.Name(), " ", "_")
}

func mustLock(t *testing.T, client *rowlock.Client, name string, options ...rowlock.LockOption) *rowlock.Lock {
	t.Helper()
	lock, err := client.Lock(context.Background(), name, options...)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func look(t *testing.T, client *rowlock.Client, name string) rowlock.LockView {
	t.Helper()
	info, err := client.GetLock(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// until polls until a condition holds.
func until(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(painfullyLong); !isSo(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// asType is what errors.AsType of newer versions of Go is.
func asType[Wanted error](err error) (found Wanted, ok bool) {
	ok = errors.As(err, &found)
	return found, ok
}

// begin runs something in a goroutine that the group waits for.
func begin(group *sync.WaitGroup, run func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		run()
	}()
}

func within[Value any](t *testing.T, what string, from <-chan Value) Value {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(painfullyLong):
		t.Fatalf("waited too long: %s", what)
		panic("unreachable")
	}
}

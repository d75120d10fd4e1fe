// What Close leaves behind, with and without a server.

package rowlock_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestCloseFreesEverythingAndLeavesNothingBehind(t *testing.T) {
	other := connectTo(t, sharedAddress(t))
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t))
	failed := make(chan error)
	go func() {
		_, err := client.Lock(background, nameOf(t))
		failed <- err
	}()
	until(t, "the place", func() bool { return look(t, other, nameOf(t)).WaiterCount == 1 })
	for range 2 {
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := within(t, "the wait's end", failed); !errors.Is(err, rowlock.ErrClosed) {
		t.Error(err)
	}
	if err := lock.Err(); !errors.Is(err, rowlock.ErrReleased) {
		t.Error(err)
	}
	if info := look(t, other, nameOf(t)); info.HolderCount != 0 || info.WaiterCount != 0 {
		t.Errorf("%+v", info)
	}
	if _, err := client.Lock(background, nameOf(t)); !errors.Is(err, rowlock.ErrClosed) {
		t.Error(err)
	}
	if _, err := client.GetLock(background, nameOf(t)); !errors.Is(err, rowlock.ErrClosed) {
		t.Error(err)
	}
	other.Close()
	// The goroutines of gRPC end by themselves, but Close does not wait for them.
	until(t, "all goroutines to end", func() bool {
		return !strings.Contains(stacks(), "rowlock.(*") && !strings.Contains(stacks(), "grpc/internal/transport")
	})
}

func TestCloseWithoutAServer(t *testing.T) {
	t.Parallel()
	client := connectTo(t, deadAddress(t))
	failed := make(chan error)
	go func() {
		_, err := client.Lock(background, nameOf(t))
		failed <- err
	}()
	// The client may be closed before or after the wait has begun.
	client.Close()
	if err := within(t, "the wait's end", failed); !errors.Is(err, rowlock.ErrClosed) {
		t.Error(err)
	}
}

func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}

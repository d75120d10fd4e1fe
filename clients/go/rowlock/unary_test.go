// The client without streams.

package rowlock_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestUnaryCallsReplaceStreamsThatDoNotGetThrough(t *testing.T) {
	t.Parallel()
	for how, refuse := range refusals {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			told := make(chan rowlock.ConnectionEvent, 10)
			client := connect(t, rowlock.Config{
				Addresses:    []string{startRefusingProxy(t, sharedAddress(t), refuse)},
				Owner:        "tester",
				Labels:       map[string]string{"way": "unary"},
				OnConnection: func(event rowlock.ConnectionEvent) { told <- event },
			})
			lock := mustLock(t, client, nameOf(t), rowlock.TTL(slowTTL))
			if event := within(t, "the connection", told); !event.IsConnected || event.Via != rowlock.ViaUnary {
				t.Fatalf("%+v", event)
			}
			holder := look(t, client, nameOf(t)).Holders[0]
			if holder.Owner != "tester" || holder.Labels["way"] != "unary" {
				t.Fatalf("%+v", holder)
			}
			places := make(chan rowlock.Place, 10)
			granted := make(chan *rowlock.Lock)
			go func() {
				next, err := client.Lock(background, nameOf(t), rowlock.PositionInterval(100*time.Millisecond),
					rowlock.OnPosition(func(place rowlock.Place) { places <- place }))
				if err != nil {
					t.Error(err)
				}
				granted <- next
			}()
			if place := within(t, "a place", places); place.Ahead != 0 || place.QueueLength != 1 {
				t.Fatalf("%+v", place)
			}
			_, err := client.Lock(background, nameOf(t), rowlock.Wait(300*time.Millisecond))
			if !errors.Is(err, rowlock.ErrTimedOut) || lock.State() != rowlock.Held {
				t.Fatal(err, lock.State())
			}
			untilRenewed(t, client, nameOf(t))
			if released, err := lock.Release(background); !released || err != nil {
				t.Fatal(released, err)
			}
			next := within(t, "the grant", granted)
			if next.Token() != 2 || next.Remaining() < 20*time.Second {
				t.Fatal(next.Token(), next.Remaining())
			}
			if _, err := client.ForceRelease(background, nameOf(t), "test"); err != nil {
				t.Fatal(err)
			}
			_, err = client.SetLimit(background, rowlock.ForName(nameOf(t)), 2, rowlock.IfVersion(5))
			if !errors.Is(err, rowlock.ErrVersionMismatch) {
				t.Fatal(err)
			}
		})
	}
}

func TestWithoutStreamsALossIsReportedInTime(t *testing.T) {
	t.Parallel()
	running := startServer(t, "127.0.0.1:0", freshDatabase(t))
	client := connectTo(t, startRefusingProxy(t, running.address, refusals["unimplemented"]))
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(slowTTL))
	if _, err := connectTo(t, running.address).ForceRelease(background, nameOf(t), "test"); err != nil {
		t.Fatal(err)
	}
	within(t, "word of the end", lock.Done())
	if failed, _ := asType[*rowlock.Error](lock.Err()); failed.End == nil || failed.End.Reason != rowlock.ErrForceReleased || failed.End.Note != "test" {
		t.Fatal(lock.Err())
	}
	lock = mustLock(t, client, nameOf(t), rowlock.TTL(3*time.Second), rowlock.Margin(time.Second))
	running.signal(syscall.SIGSTOP)
	within(t, "the loss", lock.Done())
	running.signal(syscall.SIGCONT)
	if failed, _ := asType[*rowlock.Error](lock.Err()); failed.End == nil || *failed.End != (rowlock.ClaimEndView{Reason: rowlock.ErrExpired}) {
		t.Fatal(lock.Err())
	}
	again := mustLock(t, client, nameOf(t))
	if again.Token() != 3 {
		t.Fatal(again.Token())
	}
}

func TestWithoutStreamsACancelledWaitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	client := connectTo(t, startRefusingProxy(t, sharedAddress(t), refusals["HTTP 403"]))
	mustLock(t, client, nameOf(t))
	ctx, cancel := context.WithCancel(background)
	failed := make(chan error)
	go func() {
		_, err := client.Lock(ctx, nameOf(t))
		failed <- err
	}()
	until(t, "the place", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	cancel()
	if err := within(t, "the failure", failed); !errors.Is(err, rowlock.ErrCancelled) {
		t.Fatal(err)
	}
	until(t, "the queue to be empty", func() bool { return look(t, client, nameOf(t)).WaiterCount == 0 })
	client.Close()
	if info := look(t, connectTo(t, sharedAddress(t)), nameOf(t)); info.HolderCount != 0 {
		t.Fatalf("%+v", info)
	}
}

func TestWithoutStreamsLocksOutliveAServer(t *testing.T) {
	t.Parallel()
	database := freshDatabase(t)
	running := startServer(t, "127.0.0.1:0", database)
	client := connectTo(t, startRefusingProxy(t, running.address, refusals["unimplemented"]))
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(longTTL))
	next := waitFor(t, client, nameOf(t), 1)
	running.end(syscall.SIGTERM)
	until(t, "the loss of the server", func() bool { return lock.State() == rowlock.Uncertain })
	startServer(t, running.address, database)
	until(t, "the next renewal", func() bool { return lock.State() == rowlock.Held })
	lock.Close()
	if granted := within(t, "the grant", next); granted.Token() != 2 {
		t.Fatal(granted.Token())
	}
}

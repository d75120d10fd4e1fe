// Captures against a real server, over a session and over unary calls.

package rowlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// ways are the two kinds of connection: a session, and unary calls behind a proxy without streams.
var ways = map[string]func(t *testing.T, address string) string{
	"a session":          func(_ *testing.T, address string) string { return address },
	"calls of their own": func(t *testing.T, address string) string { return startRefusingProxy(t, address, refusals["HTTP 403"]) },
}

func overEachWay(t *testing.T, run func(t *testing.T, address string)) {
	t.Parallel()
	for way, addressOf := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			run(t, addressOf(t, sharedAddress(t)))
		})
	}
}

// put creates a task with this status for each name, which is the last part of the lock's name.
func put(t *testing.T, client *rowlock.Client, tasks ...string) {
	t.Helper()
	for _, task := range tasks {
		update(t, client, nameOf(t)+"/"+task, rowlock.Status("new"))
	}
}

func update(t *testing.T, client *rowlock.Client, name string, options ...rowlock.UpdateOption) rowlock.RecordView {
	t.Helper()
	record, err := client.UpdateRecord(background, name, options...)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// capture captures some of this test's tasks.
func capture(t *testing.T, client *rowlock.Client, options ...rowlock.CaptureOption) rowlock.Captured {
	t.Helper()
	captured, err := client.Capture(background, append([]rowlock.CaptureOption{rowlock.Prefix(nameOf(t) + "/")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return captured
}

// tasksOf are the last parts of the locks' names, in order.
func tasksOf(captured rowlock.Captured) string {
	var tasks []string
	for _, lock := range captured.Locks {
		tasks = append(tasks, lock.Name()[strings.LastIndex(lock.Name(), "/")+1:])
	}
	return strings.Join(tasks, " ")
}

func TestACaptureTakesDueLocksInAWantedStatus(t *testing.T) {
	overEachWay(t, func(t *testing.T, address string) {
		client := connect(t, rowlock.Config{Addresses: []string{address}, Owner: "worker", Labels: map[string]string{"host": "a1"}})
		put(t, client, "1", "2", "3")
		update(t, client, nameOf(t)+"/2", rowlock.NotBefore(time.Unix(1, 0)))
		update(t, client, nameOf(t)+"/later", rowlock.Status("new"), rowlock.NotBeforeIn(time.Hour))
		update(t, client, nameOf(t)+"/done", rowlock.Status("done"))
		wanted := []rowlock.CaptureOption{rowlock.IfStatus("new"), rowlock.Count(2), rowlock.TTL(slowTTL)}
		first := capture(t, client, append(wanted, rowlock.Labels(map[string]string{"job": "7"}))...)
		if tasksOf(first) != "1 3" || first.RetryAfter != 0 {
			t.Fatalf("%q %v", tasksOf(first), first.RetryAfter)
		}
		for _, lock := range first.Locks {
			if lock.Token() != 1 || lock.State() != rowlock.Held || lock.Mode() != rowlock.Permit || lock.Permits() != 1 {
				t.Errorf("%s %d %s", lock.Name(), lock.Token(), lock.State())
			}
		}
		holder := look(t, client, nameOf(t)+"/3").Holders[0]
		if holder.Owner != "worker" || holder.Labels["host"] != "a1" || holder.Labels["job"] != "7" {
			t.Errorf("%+v", holder)
		}
		if second := capture(t, client, wanted...); tasksOf(second) != "2" {
			t.Fatal(tasksOf(second))
		}
		if none := capture(t, client, wanted...); len(none.Locks) != 0 || none.RetryAfter <= 0 {
			t.Fatalf("%q %v", tasksOf(none), none.RetryAfter)
		}
		untilRenewed(t, client, nameOf(t)+"/1")
		if released, err := first.Locks[0].Release(background, rowlock.Status("done")); !released || err != nil {
			t.Fatal(released, err)
		}
		among, err := client.Capture(background, rowlock.Names(nameOf(t)+"/1", nameOf(t)+"/unheard-of"), rowlock.Count(9))
		if err != nil || tasksOf(among) != "1 unheard-of" {
			t.Fatal(tasksOf(among), err)
		}
	})
}

// begun starts a capture of this test's tasks, and returns when the server has received the request.
func begun(ctx context.Context, t *testing.T, client *rowlock.Client, options ...rowlock.CaptureOption) (
	<-chan rowlock.Captured, <-chan error,
) {
	t.Helper()
	captured, failed := make(chan rowlock.Captured, 1), make(chan error, 1)
	go func() {
		got, err := client.Capture(ctx, append(options, rowlock.Prefix(nameOf(t)+"/"))...)
		if err != nil {
			failed <- err
		} else {
			captured <- got
		}
	}()
	rowlock.UntilAsking(client)
	// The server answers this read after it has received the capture.
	look(t, client, nameOf(t))
	return captured, failed
}

func TestACaptureWaitsForAFreeLock(t *testing.T) {
	overEachWay(t, func(t *testing.T, address string) {
		client := connectTo(t, address)
		put(t, client, "1")
		first := capture(t, client)
		waits, failed := begun(background, t, client, rowlock.Wait(rowlock.Forever))
		if none := capture(t, client, rowlock.Wait(20*time.Millisecond)); len(none.Locks) != 0 {
			t.Fatal(tasksOf(none))
		}
		first.Locks[0].Close()
		select {
		case err := <-failed:
			t.Fatal(err)
		case captured := <-waits:
			lock := captured.Locks[0]
			if tasksOf(captured) != "1" || lock.Token() != 2 {
				t.Fatal(tasksOf(captured), lock.Token())
			}
			// After a wait, the lease has its whole ttl only when it is confirmed.
			until(t, "the confirmation", func() bool { return lock.Remaining() > 20*time.Second })
		case <-time.After(painfullyLong):
			t.Fatal("it waits still")
		}
	})
}

func TestACancelledCaptureTakesNothing(t *testing.T) {
	overEachWay(t, func(t *testing.T, address string) {
		client := connectTo(t, address)
		put(t, client, "1")
		first := capture(t, client)
		ctx, cancel := context.WithCancelCause(background)
		_, failed := begun(ctx, t, client, rowlock.Wait(time.Hour), rowlock.MinInterval(time.Hour))
		enough := errors.New("enough")
		cancel(enough)
		if err := within(t, "the failure", failed); !errors.Is(err, rowlock.ErrCancelled) || !errors.Is(err, enough) {
			t.Fatal(err)
		}
		first.Locks[0].Close()
		// If the cancelled capture still waited, it would get this task first, and hold it for an hour.
		if next := capture(t, client, rowlock.Wait(painfullyLong)); tasksOf(next) != "1" {
			t.Fatal(tasksOf(next))
		}
		if _, err := client.Capture(ctx, rowlock.Prefix(nameOf(t))); !errors.Is(err, enough) {
			t.Fatal(err)
		}
	})
}

func TestTheSameRequestIDMeansTheSameCapture(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	put(t, client, "1", "2")
	asked := rowlock.RequestID(nameOf(t))
	first := capture(t, client, asked)
	if again := capture(t, client, asked); !slices.Equal(again.Locks, first.Locks) {
		t.Fatal("it is another lock, and only one of the two is renewed")
	}
	if other := capture(t, connectTo(t, sharedAddress(t)), asked); other.Locks[0].LeaseID() != first.Locks[0].LeaseID() {
		t.Fatal("it is another lease")
	}
	first.Locks[0].Close()
	if none := capture(t, client, asked); len(none.Locks) != 0 {
		t.Fatal(tasksOf(none))
	}
}

func TestACaptureGoesOnThroughAnotherServer(t *testing.T) {
	t.Parallel()
	database := freshDatabase(t)
	running := startServer(t, "127.0.0.1:0", database)
	client := connectTo(t, running.address)
	put(t, client, "1")
	first := capture(t, client, rowlock.TTL(longTTL))
	waits, failed := begun(background, t, client, rowlock.Wait(rowlock.Forever))
	running.end(syscall.SIGKILL)
	startServer(t, running.address, database)
	until(t, "the next renewal", func() bool { return first.Locks[0].State() == rowlock.Held })
	first.Locks[0].Close()
	select {
	case err := <-failed:
		t.Fatal(err)
	case captured := <-waits:
		if tasksOf(captured) != "1" {
			t.Fatal(tasksOf(captured))
		}
	case <-time.After(painfullyLong):
		t.Fatal("it waits still")
	}
}

func TestOneErrorNamesAllMistakesOfACapture(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	_, err := client.Capture(background, rowlock.Names("b", "b"), rowlock.Count(101),
		rowlock.IfStatus(strings.Repeat("x", 64)), rowlock.StatusIfLost(strings.Repeat("x", 64)), rowlock.LockDelay(-1))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || !errors.Is(err, rowlock.ErrBadRequest) {
		t.Fatal(err)
	}
	var fields []string
	for _, violation := range failed.Violations {
		fields = append(fields, violation.Field)
	}
	slices.Sort(fields)
	if want := "max_leases names.names[1] terms.if_status[0] terms.lock_delay terms.status_if_lost"; strings.Join(fields, " ") != want {
		t.Fatal(fields)
	}
}

func TestACaptureThatCannotWork(t *testing.T) {
	t.Parallel()
	client := connectTo(t, deadAddress(t))
	for name, option := range map[string]rowlock.CaptureOption{
		"Margin": rowlock.Margin(15 * time.Second),
		"Wait":   rowlock.Wait(-1),
		"Count":  rowlock.Count(-1),
		"TTL":    rowlock.TTL(rowlock.Forever),
	} {
		_, err := client.Capture(background, rowlock.Prefix(""), option)
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACaptureIsFromAPrefixOrFromNames(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for _, names := range []rowlock.CaptureOption{rowlock.Names(nameOf(t)), rowlock.Names()} {
		_, err := client.Capture(background, names, rowlock.Prefix(""))
		if _, ok := asType[*rowlock.OptionError](err); !ok || !strings.Contains(err.Error(), "Prefix and Names: set one of them") {
			t.Error(err)
		}
	}
	for field, options := range map[string][]rowlock.CaptureOption{"from": nil, "names.names": {rowlock.Names()}} {
		_, err := client.Capture(background, options...)
		failed, ok := asType[*rowlock.Error](err)
		if !ok || len(failed.Violations) != 1 || failed.Violations[0].Field != field {
			t.Error(field, err)
		}
	}
}

func TestCloseCancelsCapturesAndReleasesTheirLocks(t *testing.T) {
	t.Parallel()
	other := connectTo(t, sharedAddress(t))
	put(t, other, "1", "2")
	client := connectTo(t, sharedAddress(t))
	captured := capture(t, client, rowlock.Count(2))
	_, failed := begun(background, t, client, rowlock.Wait(rowlock.Forever))
	client.Close()
	if err := within(t, "the wait's end", failed); !errors.Is(err, rowlock.ErrClosed) {
		t.Error(err)
	}
	for _, lock := range captured.Locks {
		if err := lock.Err(); !errors.Is(err, rowlock.ErrReleased) {
			t.Error(err)
		}
	}
	if next := capture(t, other, rowlock.Count(2), rowlock.Wait(painfullyLong)); tasksOf(next) != "1 2" {
		t.Error(tasksOf(next))
	}
	if _, err := client.Capture(background, rowlock.Prefix("")); !errors.Is(err, rowlock.ErrClosed) {
		t.Error(err)
	}
}

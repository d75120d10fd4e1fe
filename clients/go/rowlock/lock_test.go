// Locks and waits against a real server.

package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

var background = context.Background()

func TestALockIsHeldUntilItIsReleased(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t), rowlock.Labels(map[string]string{"job": "7"}))
	if lock.Token() != 1 || lock.Permits() != 1 || lock.Mode() != rowlock.Permit || lock.State() != rowlock.Held {
		t.Fatalf("%+v", lock)
	}
	if left := lock.Remaining(); left < 20*time.Second || left > 28*time.Second {
		t.Fatalf("has %v left", left)
	}
	info := look(t, client, nameOf(t))
	if info.HolderCount != 1 || info.Holders[0].Owner != "tester" || info.Holders[0].Labels["job"] != "7" {
		t.Fatalf("%+v", info)
	}
	for range 2 {
		if released, err := lock.Release(background); !released || err != nil {
			t.Fatal(released, err)
		}
	}
	within(t, "the lock's end", lock.Done())
	if err := lock.Err(); !errors.Is(err, rowlock.ErrReleased) || lock.State() != rowlock.Released {
		t.Fatal(err, lock.State())
	}
	if info := look(t, client, nameOf(t)); info.HolderCount != 0 || info.LastToken != 1 {
		t.Fatalf("%+v", info)
	}
}

func TestABusyLockIsRefused(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	mustLock(t, client, nameOf(t))
	if lock, ok, err := client.TryLock(background, nameOf(t)); lock != nil || ok || err != nil {
		t.Fatal(lock, ok, err)
	}
	_, refusal, err := client.Acquire(background, nameOf(t), rowlock.Wait(0))
	if err != nil || refusal.Reason != rowlock.ErrBusy || refusal.Holders[0].Token != 1 || refusal.RetryAfter <= 0 {
		t.Fatalf("%+v %v", refusal, err)
	}
	_, err = client.Lock(background, nameOf(t), rowlock.Wait(50*time.Millisecond))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || !errors.Is(err, rowlock.ErrTimedOut) || failed.Refusal == nil {
		t.Fatal(err)
	}
	if info := look(t, client, nameOf(t)); info.WaiterCount != 0 {
		t.Fatalf("%+v", info)
	}
}

func TestAFreeLockIsTaken(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock, ok, err := client.TryLock(background, nameOf(t))
	if !ok || err != nil || lock.Token() != 1 {
		t.Fatal(lock, ok, err)
	}
}

func TestWaitersMoveUp(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	first := mustLock(t, client, nameOf(t))
	places := make(chan rowlock.Place, 10)
	granted := make(chan *rowlock.Lock)
	second := waitFor(t, client, nameOf(t), 1)
	go func() {
		lock, _ := client.Lock(background, nameOf(t), rowlock.PositionInterval(0),
			rowlock.OnPosition(func(place rowlock.Place) { places <- place }))
		granted <- lock
	}()
	if place := within(t, "a place", places); place.Ahead != 1 || place.PermitsAhead != 1 || place.QueueLength != 2 {
		t.Fatalf("%+v", place)
	}
	first.Close()
	if place := within(t, "the next place", places); place.Ahead != 0 {
		t.Fatalf("%+v", place)
	}
	within(t, "the grant", second).Close()
	lock := within(t, "the last grant", granted)
	if lock.Token() != 3 || lock.State() != rowlock.Held {
		t.Fatal(lock.Token(), lock.State())
	}
	// After a wait, the lease has its whole ttl only when it is confirmed.
	until(t, "the confirmation", func() bool { return lock.Remaining() > 20*time.Second })
}

// waitFor waits in the queue, and returns when the queue has this length.
func waitFor(t *testing.T, client *rowlock.Client, name string, length uint32) <-chan *rowlock.Lock {
	t.Helper()
	granted := make(chan *rowlock.Lock, 1)
	go func() {
		lock, err := client.Lock(background, name)
		if err != nil {
			t.Error(err)
		}
		granted <- lock
	}()
	until(t, "a place in the queue", func() bool { return look(t, client, name).WaiterCount == length })
	return granted
}

func TestACancelledWaitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t))
	ctx, cancel := context.WithCancelCause(background)
	reason := errors.New("no more time")
	failed := make(chan error)
	go func() {
		_, err := client.Lock(ctx, nameOf(t))
		failed <- err
	}()
	until(t, "the place", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	cancel(reason)
	err := within(t, "the failure", failed)
	if !errors.Is(err, rowlock.ErrCancelled) || !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	until(t, "the queue to be empty", func() bool { return look(t, client, nameOf(t)).WaiterCount == 0 })
	lock.Close()
	if info := look(t, client, nameOf(t)); info.HolderCount != 0 || info.LastToken != 1 {
		t.Fatalf("%+v", info)
	}
	if _, err := client.Lock(ctx, nameOf(t)); !errors.Is(err, reason) {
		t.Fatal(err)
	}
}

func TestADeadlineEndsAWait(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	mustLock(t, client, nameOf(t))
	ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
	defer cancel()
	_, err := client.Lock(ctx, nameOf(t))
	if !errors.Is(err, rowlock.ErrCancelled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestAPanicInOnPositionEndsTheWait(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	mustLock(t, client, nameOf(t))
	func() {
		defer func() {
			if recover() != "told" {
				t.Error("it did not come through")
			}
		}()
		client.Lock(background, nameOf(t), rowlock.OnPosition(func(rowlock.Place) { panic("told") }))
	}()
	until(t, "the queue to be empty", func() bool { return look(t, client, nameOf(t)).WaiterCount == 0 })
}

func TestReadersShareALock(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	mustLock(t, client, nameOf(t), rowlock.As(rowlock.Shared))
	if lock := mustLock(t, client, nameOf(t), rowlock.As(rowlock.Shared)); lock.Mode() != rowlock.Shared {
		t.Fatal(lock.Mode())
	}
	if _, ok, err := client.TryLock(background, nameOf(t), rowlock.As(rowlock.Exclusive)); ok || err != nil {
		t.Fatal(ok, err)
	}
}

func TestTheSameRequestIDMeansTheSameClaim(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	first := mustLock(t, client, nameOf(t), rowlock.RequestID(nameOf(t)))
	if again := mustLock(t, client, nameOf(t), rowlock.RequestID(nameOf(t))); again != first {
		t.Fatal("it is another lock, and only one of the two is renewed")
	}
	other := connectTo(t, sharedAddress(t))
	second := mustLock(t, other, nameOf(t), rowlock.RequestID(nameOf(t)))
	if first.LeaseID() != second.LeaseID() || second.Token() != 1 {
		t.Fatal(second.Token())
	}
	_, err := other.Lock(background, nameOf(t)+"/other", rowlock.RequestID(nameOf(t)))
	if !errors.Is(err, rowlock.ErrRequestIDReused) {
		t.Fatal(err)
	}
}

func TestAHandedOverLeaseBelongsToTheHolderOfItsID(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t))
	if err := lock.HandOver(background, time.Minute); err != nil {
		t.Fatal(err)
	}
	if released, err := lock.Release(background); released || err != nil {
		t.Fatal(released, err)
	}
	other := connectTo(t, sharedAddress(t))
	lease, err := other.Renew(background, lock.LeaseID(), 0)
	if err != nil || lease.Name != nameOf(t) || lease.Token != 1 || lease.TTL <= 50*time.Second {
		t.Fatalf("%+v %v", lease, err)
	}
	if released, err := other.Release(background, lock.LeaseID()); !released || err != nil {
		t.Fatal(released, err)
	}
}

func TestALeaseWithoutEnd(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(rowlock.Forever))
	if lock.Remaining() != rowlock.Forever || lock.State() != rowlock.Held {
		t.Fatal(lock.Remaining(), lock.State())
	}
	if !look(t, client, nameOf(t)).Holders[0].ExpiresAt.IsZero() {
		t.Fatal("it has an end")
	}
}

func TestOneErrorNamesAllMistakes(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	_, err := client.Lock(background, "", rowlock.TTL(time.Millisecond), rowlock.Permits(2_000_000))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || !errors.Is(err, rowlock.ErrBadRequest) || len(failed.Violations) != 3 {
		t.Fatalf("%+v", err)
	}
}

func TestTextThatIsNotUTF8FailsOnlyItsOwnCall(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	held := mustLock(t, client, nameOf(t))
	for name, config := range map[string]rowlock.Config{
		"Owner":   {Addresses: []string{"x:1"}, Owner: "\xff"},
		"Labels":  {Addresses: []string{"x:1"}, Labels: map[string]string{"key": "\xff"}},
		"Headers": {Addresses: []string{"x:1"}, Headers: map[string]string{"x-caller": "M\u00fcller"}},
	} {
		_, err := rowlock.Connect(config)
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != name {
			t.Error(name, err)
		}
	}
	if _, err := client.Lock(background, "\xff"); !errors.Is(err, rowlock.ErrBadRequest) {
		t.Error(err)
	}
	if _, err := client.UpdateRecord(background, nameOf(t), rowlock.Status("\xff")); !errors.Is(err, rowlock.ErrBadRequest) {
		t.Error(err)
	}
	if held.State() != rowlock.Held {
		t.Error("its session was ended:", held.State())
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	client := connectTo(t, "127.0.0.1:1")
	for name, option := range map[string]rowlock.LockOption{
		"Margin":  rowlock.Margin(15 * time.Second),
		"Wait":    rowlock.Wait(-1),
		"Permits": rowlock.Permits(-1),
		"As":      rowlock.As("sideways"),
	} {
		_, err := client.Lock(background, nameOf(t), option)
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, addresses := range [][]string{nil, {""}, {"localhost"}, {"http://x:1"}, {"x:"}, {":1"}, {"x:65536"}} {
		_, err := rowlock.Connect(rowlock.Config{Addresses: addresses})
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != "Addresses" {
			t.Error(addresses, err)
		}
	}
	_, err := client.Lock(background, nameOf(t), rowlock.Wait(-1), rowlock.Permits(-1), rowlock.As("sideways"))
	const all = "rowlock: Wait: must not be below 0; Permits: -1 is not between 0 and 4294967295; As: \"sideways\" is not a mode"
	if err == nil || err.Error() != all {
		t.Error("not all faults in one message:", err)
	}
	if _, err := client.SetLimit(background, rowlock.ForName("x"), -1); err == nil {
		t.Error("a limit cannot be negative")
	}
}

// Locks as a sync.Locker.

package rowlock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestALockerLetsOneGoroutineInAtATime(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	locker := client.Locker(nameOf(t), nil)
	var working sync.WaitGroup
	inside, rounds := 0, 0
	for range 4 {
		begin(&working, func() {
			var lock sync.Locker = locker
			lock.Lock()
			defer lock.Unlock()
			if inside++; inside != 1 || locker.Held().State() != rowlock.Held {
				t.Error("two are inside")
			}
			rounds++
			inside--
		})
	}
	working.Wait()
	if info := look(t, client, nameOf(t)); rounds != 4 || info.HolderCount != 0 || info.LastToken != 4 {
		t.Fatalf("%d %+v", rounds, info)
	}
	other := connectTo(t, sharedAddress(t)).Locker(nameOf(t), nil)
	if !other.TryLock() || other.TryLock() || locker.TryLock() {
		t.Fatal("a lock that is held was given again, or a free one was not")
	}
	other.Unlock()
	if !locker.TryLock() {
		t.Fatal("a free lock was not given")
	}
	locker.Unlock()
}

func TestALockerReportsALoss(t *testing.T) {
	t.Parallel()
	client, operator := connectTo(t, sharedAddress(t)), connectTo(t, sharedAddress(t))
	lost := make(chan error, 2)
	locker := client.Locker(nameOf(t), func(err error) { lost <- err })
	locker.Lock()
	if _, err := operator.ForceRelease(background, nameOf(t), "test"); err != nil {
		t.Fatal(err)
	}
	if err := within(t, "the report", lost); !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
	locker.Unlock()
	if len(lost) > 0 {
		t.Error("it was reported twice")
	}
	silent := client.Locker(nameOf(t), nil)
	silent.Lock()
	held := silent.Held()
	if _, err := operator.ForceRelease(background, nameOf(t), "test"); err != nil {
		t.Fatal(err)
	}
	<-held.Done()
	if err, ok := panicOf(silent.Unlock).(error); !ok || !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Error("a loss is not reported:", err)
	}
}

func panicOf(run func()) (cause any) {
	defer func() { cause = recover() }()
	run()
	return nil
}

func TestALockerPanicsIfNoWaitingHelps(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	mustLock(t, client, nameOf(t))
	locker := client.Locker(nameOf(t), nil, rowlock.Wait(time.Millisecond))
	for range 2 {
		if err, ok := panicOf(locker.Lock).(error); !ok || !errors.Is(err, rowlock.ErrTimedOut) {
			t.Fatal(err)
		}
	}
}

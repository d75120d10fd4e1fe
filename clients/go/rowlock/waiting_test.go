// What a client says about waits that last, and about locks that it holds itself.

package rowlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// waits asks for the lock, and returns the notices of that wait.
func waits(t *testing.T, client *rowlock.Client, options ...rowlock.LockOption) <-chan rowlock.Waiting {
	t.Helper()
	notices := make(chan rowlock.Waiting, 10)
	options = append(options, rowlock.OnWaiting(func(notice rowlock.Waiting) { notices <- notice }))
	go func() {
		if lock, err := client.Lock(background, nameOf(t), options...); err == nil {
			lock.Close()
		}
	}()
	return notices
}

func TestALongWaitSaysWhoHoldsTheLockAndThePlace(t *testing.T) {
	t.Parallel()
	holder := connect(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, Owner: "the-holder"})
	mustLock(t, holder, nameOf(t))
	client, _, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: 200 * time.Millisecond})
	first := within(t, "the notice", waits(t, client))
	second := within(t, "the notice of the next", waits(t, client))
	if first.HeldByYou || first.Name != nameOf(t) || first.Waited < 200*time.Millisecond ||
		!strings.Contains(first.Summary, "the-holder") || len(first.Causes) == 0 || first.Place.Ahead != 0 {
		t.Errorf("%+v", first)
	}
	if second.Place.Ahead != 1 || !strings.Contains(second.Summary, "the-holder") {
		t.Errorf("%+v", second)
	}
	// Of the waits for one lock, the log has the first.
	until(t, "the line in the log", func() bool {
		return log.has("INFO", "waiting for a lock", "lock="+nameOf(t), "ahead=0", "the-holder")
	})
	if log.has("INFO", "waiting for a lock", "lock="+nameOf(t), "ahead=1") {
		t.Error("the log has the second wait, too")
	}
}

func TestOfSeveralWaitsForOneLockOnlyTheFirstIsInTheLog(t *testing.T) {
	t.Parallel()
	mustLock(t, connectTo(t, sharedAddress(t)), nameOf(t))
	client, _, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: 200 * time.Millisecond})
	for range 20 {
		placed := make(chan struct{}, 10)
		go func() {
			_, _ = client.Lock(background, nameOf(t), rowlock.OnPosition(func(rowlock.Place) { placed <- struct{}{} }))
		}()
		within(t, "the place", placed)
	}
	// It is told after those before it had their turns.
	within(t, "the notice of the last", waits(t, client))
	if lines := log.count("waiting for a lock"); lines != 1 {
		t.Errorf("%d lines", lines)
	}
}

func TestAWaitIsExplainedOnlyByItsPlaceIfTheServerDoesNotSayWhy(t *testing.T) {
	t.Parallel()
	holder := connectTo(t, sharedAddress(t))
	mustLock(t, holder, nameOf(t))
	line := startLine(t, sharedAddress(t), 0)
	client := connect(t, rowlock.Config{Addresses: []string{line.address}, ExplainAfter: 200 * time.Millisecond})
	waiting := make(chan struct{}, 1)
	notices := waits(t, client, rowlock.OnPosition(func(rowlock.Place) { waiting <- struct{}{} }))
	within(t, "the place", waiting)
	line.isMuted.Store(true)
	if notice := within(t, "the notice", notices); notice.Summary != "" || notice.Place.QueueLength != 1 {
		t.Errorf("%+v", notice)
	}
}

// One client for a program is the recommended set-up, and its goroutines and HTTP handlers take turns.
func TestAWaitForAnotherGoroutineOfTheProgramIsNoWarning(t *testing.T) {
	t.Parallel()
	client, _, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: 200 * time.Millisecond})
	err := client.WithLock(background, nameOf(t), func(ctx context.Context, _ *rowlock.Lock) error {
		notice := within(t, "the notice", waits(t, client))
		if !notice.HeldByYou || notice.Waited < 200*time.Millisecond || !strings.Contains(notice.Summary, "you hold") {
			t.Errorf("%+v", notice)
		}
		until(t, "the line", func() bool { return log.has("INFO", "rowlock: waiting for a lock", "you hold") })
		return nil
	})
	if err != nil || log.has("WARN", "waiting for a lock") {
		t.Error("it warns", err)
	}
}

// A lease that is over is not the caller's any more, and neither is that of another lock.
func TestAContextShowsOnlyWhatItsCallerStillHolds(t *testing.T) {
	t.Parallel()
	client, _, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: 200 * time.Millisecond})
	first := mustLock(t, client, nameOf(t))
	ctx, cancel := first.Context(background)
	defer cancel()
	other := mustLock(t, client, nameOf(t)+"/other")
	nested, cancelNested := other.Context(ctx)
	defer cancelNested()
	first.Close()
	held := mustLock(t, client, nameOf(t))
	notices := make(chan rowlock.Waiting, 1)
	group := sync.WaitGroup{}
	begin(&group, func() {
		lock, err := client.Lock(context.WithoutCancel(nested), nameOf(t), rowlock.OnWaiting(func(notice rowlock.Waiting) { notices <- notice }))
		if err != nil {
			t.Error(err)
			return
		}
		lock.Close()
	})
	within(t, "the notice", notices)
	held.Close()
	group.Wait()
	if log.has("WARN", "waiting for a lock") || nested.Err() == nil {
		t.Error("it warns", nested.Err())
	}
}

func TestALockThatTheClientHoldsItselfIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	client, _, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: time.Hour})
	held := mustLock(t, client, nameOf(t))
	const said = "yourself, since 0 s; locks are not reentrant"
	notices := make(chan rowlock.Waiting, 1)
	group := sync.WaitGroup{}
	defer group.Wait()
	begin(&group, func() {
		ctx, cancel := held.Context(context.WithValue(background, struct{}{}, "another value"))
		defer cancel()
		// Its context ends with the lock. Asking it for its error takes a turn of the client.
		_, err := client.Lock(ctx, nameOf(t), rowlock.OnWaiting(func(notice rowlock.Waiting) { notices <- notice }))
		if !errors.Is(err, rowlock.ErrCancelled) {
			t.Error(err)
		}
	})
	if notice := within(t, "the notice", notices); !notice.HeldByYou || !strings.Contains(notice.Summary, said) {
		t.Errorf("%+v", notice)
	}
	until(t, "the warning in the log", func() bool { return log.has("WARN", "waiting for a lock", "locks are not reentrant") })
	_, refusal, err := client.Acquire(background, nameOf(t), rowlock.Wait(0))
	if err != nil || refusal.Reason != rowlock.ErrBusy || !refusal.HeldByYou || !strings.Contains(refusal.Message, said) {
		t.Errorf("%+v %v", refusal, err)
	}
	other := connectTo(t, sharedAddress(t))
	if _, refusal, err := other.Acquire(background, nameOf(t), rowlock.Wait(0)); err != nil || refusal.HeldByYou {
		t.Errorf("%+v %v", refusal, err)
	}
	held.Close()
}

// A server that is told such a deadline by gRPC ends the call at once: its timers end at 24.8 days.
func TestADeadlineBeyond24DaysIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	for way, address := range map[string]string{
		"session": sharedAddress(t), "unary": startRefusingProxy(t, sharedAddress(t), refusals["unimplemented"]),
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			held := mustLock(t, connectTo(t, sharedAddress(t)), nameOf(t))
			client := connect(t, rowlock.Config{Addresses: []string{address}, GiveUpAfter: 60 * 24 * time.Hour})
			ctx, cancel := context.WithTimeout(background, 60*24*time.Hour)
			defer cancel()
			waiting, granted := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := client.Lock(ctx, nameOf(t), rowlock.OnPosition(func(rowlock.Place) { close(waiting) }))
				granted <- err
			}()
			select {
			case <-waiting:
			case err := <-granted:
				t.Fatal(err)
			}
			held.Close()
			if err := within(t, "the grant", granted); err != nil {
				t.Fatal(err)
			}
		})
	}
}

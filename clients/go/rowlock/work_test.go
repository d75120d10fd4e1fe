// Worker loops.

package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// tasks creates tasks, and returns their prefix.
func tasks(t *testing.T, client *rowlock.Client, count int) string {
	t.Helper()
	for task := range count {
		name := fmt.Sprint(nameOf(t), "/", task)
		if _, err := client.UpdateRecord(background, name, rowlock.Status("new")); err != nil {
			t.Fatal(err)
		}
	}
	return nameOf(t) + "/"
}

func TestAWorkerRunsItsHandlerWithSoManyLocksAtOnce(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	prefix := tasks(t, client, 6)
	ctx, stop := context.WithCancel(background)
	var running, most, done atomic.Int32
	err := client.Work(ctx, prefix, func(_ context.Context, lock *rowlock.Lock) error {
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		time.Sleep(50 * time.Millisecond)
		running.Add(-1)
		if done.Add(1) == 6 {
			stop()
		}
		if lock.Name() == prefix+"3" {
			return errors.New("broken")
		}
		return nil
	}, rowlock.Concurrency(2), rowlock.IfStatus("new"), rowlock.StatusWhenDone("done"), rowlock.StatusIfLost("failed"))
	if err != nil || most.Load() != 2 || running.Load() != 0 {
		t.Fatal(err, most.Load(), running.Load())
	}
	for task := range 6 {
		expected := "done"
		if task == 3 {
			expected = "failed"
		}
		if info := look(t, client, fmt.Sprint(prefix, task)); info.HolderCount != 0 || info.Record.Status != expected {
			t.Errorf("%d is %+v", task, info.Record)
		}
	}
}

func TestALockWhoseHandlerFailsRestsLongerWithEachTime(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for how, of := range map[string]struct {
		options []rowlock.WorkOption
		rest    time.Duration
	}{
		"by default":      {rest: 4 * time.Second},
		"as it is asked":  {options: []rowlock.WorkOption{rowlock.Backoff(time.Hour, 2*time.Hour)}, rest: 2 * time.Hour},
		"for an interval": {options: []rowlock.WorkOption{rowlock.MinInterval(3 * time.Hour)}, rest: 3 * time.Hour},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			prefix := tasks(t, client, 1)
			// It has failed twice before, so that the test has to wait for no rest.
			for range 2 {
				if _, err := mustLock(t, client, prefix+"0").Release(background, rowlock.Failed()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(background)
			err := client.Work(ctx, prefix, func(context.Context, *rowlock.Lock) error {
				stop()
				return errors.New("broken")
			}, append(of.options, rowlock.StatusWhenFailed("failed"))...)
			if err != nil {
				t.Fatal(err)
			}
			record := look(t, client, prefix+"0").Record
			since := record.LastRun.EndedAt
			if how == "for an interval" {
				since = record.LastRun.GrantedAt
			}
			if record.Failures != 3 || record.Status != "failed" || record.LastRun.EndReason != rowlock.ErrFailed ||
				!record.NotBefore.Equal(since.Add(of.rest)) {
				t.Errorf("%+v %+v", record, record.LastRun)
			}
		})
	}
}

func TestAWorkerThatIsStoppedWaitsForItsHandlers(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	prefix := tasks(t, client, 1)
	ctx, stop := context.WithCancel(background)
	began, finish, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- client.Work(ctx, prefix, func(ctx context.Context, _ *rowlock.Lock) error {
			close(began)
			<-finish
			return ctx.Err()
		}, rowlock.IfStatus("new"), rowlock.StatusWhenDone("done"))
	}()
	within(t, "the handler", began)
	stop()
	select {
	case err := <-ended:
		t.Fatal("it did not wait:", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(finish)
	if err := within(t, "the end", ended); err != nil {
		t.Fatal(err)
	}
	// The handler's own context has not ended.
	if info := look(t, client, prefix+"0"); info.Record.Status != "done" {
		t.Errorf("%+v", info.Record)
	}
}

func TestAHandlerLearnsOfALossAndTheWorkerGoesOn(t *testing.T) {
	t.Parallel()
	client, operator := connectTo(t, sharedAddress(t)), connectTo(t, sharedAddress(t))
	prefix := tasks(t, client, 2)
	ctx, stop := context.WithCancel(background)
	handled := 0
	err := client.Work(ctx, prefix, func(ctx context.Context, lock *rowlock.Lock) error {
		if handled++; handled == 2 {
			stop()
			return nil
		}
		if _, err := operator.ForceRelease(background, lock.Name(), "test"); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}, rowlock.IfStatus("new"), rowlock.StatusWhenDone("done"), rowlock.StatusIfLost("lost"))
	if err != nil || handled != 2 {
		t.Fatal(err, handled)
	}
}

func TestALockWhoseStatusIsRefusedRestsLongerWithEachTime(t *testing.T) {
	t.Parallel()
	client, _, written := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	prefix := tasks(t, client, 1)
	ctx, stop := context.WithCancel(background)
	var begun []time.Time
	err := client.Work(ctx, prefix, func(context.Context, *rowlock.Lock) error {
		if begun = append(begun, time.Now()); len(begun) == 3 {
			stop()
		}
		return nil
	}, rowlock.Concurrency(2), rowlock.IfStatus("new"), rowlock.StatusWhenDone(strings.Repeat("x", 64)))
	if err != nil || len(begun) != 3 {
		t.Fatal(err, begun)
	}
	for run, seconds := range []time.Duration{1, 2} {
		// By the clock of the database, which begins earlier.
		if rested := begun[run+1].Sub(begun[run]); rested < seconds*time.Second-100*time.Millisecond {
			t.Errorf("it rested for %v after run %d", rested, run+1)
		}
		if rests := fmt.Sprintf("rest=%ds", seconds); !written.has("the lock was given back", "lock="+prefix+"0", rests) {
			t.Errorf("the log has no %s", rests)
		}
	}
	record := look(t, client, prefix+"0").Record
	if record.Status != "new" || record.NotBefore.Before(record.LastRun.EndedAt.Add(4*time.Second)) {
		t.Errorf("%+v", record)
	}
}

func TestALeaseWhoseReleaseIsRepeatedHadNotEnded(t *testing.T) {
	t.Parallel()
	line := startLine(t, sharedAddress(t), 0)
	client, _, written := watched(t, rowlock.Config{Addresses: []string{line.address}})
	direct := connectTo(t, sharedAddress(t))
	prefix := tasks(t, direct, 2)
	ctx, stop := context.WithCancel(background)
	begun, ended := make(chan string, 2), make(chan error, 1)
	go func() {
		ended <- client.Work(ctx, prefix, func(_ context.Context, lock *rowlock.Lock) error {
			if begun <- lock.Name(); len(begun) == 1 {
				line.isMuted.Store(true)
				return nil
			}
			stop()
			return errors.New("this is logged last")
		}, rowlock.IfStatus("new"), rowlock.StatusWhenDone("done"))
	}()
	until(t, "the first release", func() bool {
		return len(begun) == 1 && look(t, direct, prefix+"0").Record.Status+look(t, direct, prefix+"1").Record.Status != "newnew"
	})
	line.takeDown()
	line.putUp()
	if err := within(t, "the end", ended); err != nil {
		t.Fatal(err)
	}
	until(t, "all is logged", func() bool { return written.has("this is logged last") })
	if written.has("had ended before its release") {
		t.Error("the first try of the release has ended it")
	}
}

func TestAWorkerWithoutWorkStopsAtOnceAndWithItsClient(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	nothing := func(context.Context, *rowlock.Lock) error { return nil }
	ctx, stop := context.WithCancel(background)
	ended := make(chan error, 2)
	go func() { ended <- client.Work(ctx, nameOf(t), nothing) }()
	rowlock.UntilAsking(client)
	stop()
	if err := within(t, "the end", ended); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- client.Work(background, nameOf(t), nothing) }()
	rowlock.UntilAsking(client)
	client.Close()
	if err := within(t, "the end", ended); err != nil {
		t.Fatal(err)
	}
}

func TestAWorkerFailsIfNoOtherTryHelps(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *rowlock.Lock) error { return nil }
	hopeless := connectTo(t, listening(t, "SSH-2.0-OpenSSH_9.2\r\n"))
	if err := hopeless.Work(background, nameOf(t), nothing); !errors.Is(err, rowlock.ErrNoServer) {
		t.Error(err)
	}
	for name, option := range map[string]rowlock.WorkOption{
		"Wait": rowlock.Wait(1), "RequestID": rowlock.RequestID("x"), "Concurrency": rowlock.Concurrency(0),
		"TTL": rowlock.TTL(rowlock.Forever),
	} {
		err := hopeless.Work(background, nameOf(t), nothing, option)
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != name {
			t.Error(name, err)
		}
	}
}

// How a scope ends whose lease had ended, and a release of which the server refuses a part.

package rowlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestAScopeThatIsReleasedTooLateHasLostItsLock(t *testing.T) {
	t.Parallel()
	// Without a session, the client learns of the forced release only at the next renewal.
	client := connectTo(t, startRefusingProxy(t, sharedAddress(t), refusals["unimplemented"]))
	operator := connectTo(t, sharedAddress(t))
	err := client.WithLock(background, nameOf(t), func(context.Context, *rowlock.Lock) error {
		_, err := operator.ForceRelease(background, nameOf(t), "test")
		return err
	}, rowlock.TTL(time.Minute))
	if !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
}

func TestAScopeEndsAtTheLatestWithItsLease(t *testing.T) {
	t.Parallel()
	line := startLine(t, sharedAddress(t), 0)
	client := connectTo(t, line.address)
	began := time.Now()
	err := client.WithLock(background, nameOf(t), func(context.Context, *rowlock.Lock) error {
		line.isMuted.Store(true)
		return errors.New("broken")
	}, rowlock.TTL(3*time.Second), rowlock.Margin(time.Second))
	took := time.Since(began)
	if !errors.Is(err, rowlock.ErrLeaseLost) || took > 3*time.Second {
		t.Fatal(err, took)
	}
	if text := err.Error(); !strings.Contains(text, "broken") || strings.Contains(text, "\n") {
		t.Error("the error of the work is hidden, or there are two lines:", text)
	}
}

func TestAScopeWaitsOnlyBrieflyWhenItsCallerIsDone(t *testing.T) {
	t.Parallel()
	line := startLine(t, sharedAddress(t), 0)
	client := connectTo(t, line.address)
	ctx, cancel := context.WithCancel(background)
	began := time.Now()
	err := client.WithLock(ctx, nameOf(t), func(context.Context, *rowlock.Lock) error {
		line.isMuted.Store(true)
		cancel()
		return nil
	}, rowlock.TTL(time.Hour))
	if took := time.Since(began); !errors.Is(err, context.Canceled) || took > 10*time.Second {
		t.Fatal(err, took)
	}
}

func TestALockThatWasReleasedIsNotLost(t *testing.T) {
	t.Parallel()
	lock := mustLock(t, connectTo(t, sharedAddress(t)), nameOf(t))
	for range 2 {
		if wasHeld, err := lock.Release(background); !wasHeld || err != nil || lock.State() != rowlock.Released {
			t.Fatal(wasHeld, err, lock.State())
		}
	}
}

func TestAReleaseThatIsRefusedStillGivesTheLockBack(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t))
	wasHeld, err := lock.Release(background, rowlock.Status(strings.Repeat("a", 64)), rowlock.AttemptsLeft(7))
	if wasHeld || !errors.Is(err, rowlock.ErrBadRequest) || !strings.Contains(err.Error(), "; the lock was given back") {
		t.Fatal(wasHeld, err)
	}
	if info := look(t, client, nameOf(t)); info.HolderCount != 0 || info.Record.Status != "" || info.Record.AttemptsLeft != 7 {
		t.Errorf("%+v", info.Record)
	}
	lock = mustLock(t, client, nameOf(t))
	if _, err := lock.Release(background, rowlock.Status("\xff")); !errors.Is(err, rowlock.ErrBadRequest) {
		t.Fatal(err)
	}
	if info := look(t, client, nameOf(t)); info.HolderCount != 0 {
		t.Error("a status that cannot be sent leaves the lock held")
	}
}

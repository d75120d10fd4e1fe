// Work under a lock.

package rowlock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestWithLockReleasesWhenTheWorkIsDone(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	var working context.Context
	err := client.WithLock(background, nameOf(t), func(ctx context.Context, lock *rowlock.Lock) error {
		working = ctx
		if ctx.Err() != nil || look(t, client, nameOf(t)).HolderCount != 1 {
			t.Error("it is not held")
		}
		return nil
	})
	if err != nil || working.Err() == nil || look(t, client, nameOf(t)).HolderCount != 0 {
		t.Fatal(err, working.Err())
	}
}

func TestWithLockFailsWithItsWork(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	broken := errors.New("broken")
	err := client.WithLock(background, nameOf(t), func(context.Context, *rowlock.Lock) error { return broken })
	if err != broken || look(t, client, nameOf(t)).HolderCount != 0 {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		client.WithLock(background, nameOf(t), func(context.Context, *rowlock.Lock) error { panic(broken) })
	}()
	if look(t, client, nameOf(t)).HolderCount != 0 {
		t.Fatal("it is held still")
	}
}

func TestWithLockCancelsItsWorkWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	entered := make(chan struct{})
	left := make(chan error)
	go func() {
		left <- client.WithLock(background, nameOf(t), func(ctx context.Context, lock *rowlock.Lock) error {
			close(entered)
			// A derived context is cancelled, too.
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			<-derived.Done()
			if !errors.Is(context.Cause(ctx), rowlock.ErrLeaseLost) || lock.State() != rowlock.Lost {
				t.Error(context.Cause(ctx), lock.State())
			}
			return derived.Err()
		})
	}()
	within(t, "the lock", entered)
	ended, err := connectTo(t, sharedAddress(t)).ForceRelease(background, nameOf(t), "test")
	if err != nil || len(ended.Ended) != 1 || ended.Remaining != 0 {
		t.Fatalf("%+v %v", ended, err)
	}
	err = within(t, "the end of the work", left)
	failed, ok := asType[*rowlock.Error](err)
	if !ok || failed.Reason != rowlock.ErrLeaseLost || failed.End == nil || failed.End.Reason != rowlock.ErrForceReleased || failed.End.Note != "test" {
		t.Fatal(err)
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatal("what the work has failed with is not told:", err)
	}
}

func TestWithLockReportsALossTheWorkDidNotNotice(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	err := client.WithLock(background, nameOf(t), func(ctx context.Context, lock *rowlock.Lock) error {
		if _, err := client.ForceRelease(background, nameOf(t), "test"); err != nil {
			return err
		}
		<-lock.Done()
		return nil
	})
	if !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
}

func TestLocksWithinLocks(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	err := client.WithLock(background, nameOf(t)+"/outer", func(ctx context.Context, outer *rowlock.Lock) error {
		return client.WithLock(ctx, nameOf(t)+"/inner", func(ctx context.Context, inner *rowlock.Lock) error {
			if _, err := client.ForceRelease(background, nameOf(t)+"/outer", "test"); err != nil {
				return err
			}
			<-ctx.Done()
			if inner.State() != rowlock.Held || outer.State() != rowlock.Lost {
				t.Error(inner.State(), outer.State())
			}
			return nil
		})
	})
	if !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
}

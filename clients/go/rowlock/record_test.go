// What a lock remembers.

package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestALockRemembersWhatWasSet(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	if record := look(t, client, nameOf(t)).Record; record != nil {
		t.Fatalf("%+v", record)
	}
	due := time.Date(2020, 2, 2, 20, 20, 20, 202_000_000, time.UTC)
	first := update(t, client, nameOf(t),
		rowlock.NotBefore(due), rowlock.AttemptsLeft(3), rowlock.Status("new"), rowlock.IfVersion(0))
	if !first.NotBefore.Equal(due) || first.AttemptsLeft != 3 || first.Status != "new" || first.LastRun != nil {
		t.Fatalf("%+v", first)
	}
	if shown := look(t, client, nameOf(t)).Record; shown == nil || *shown != first {
		t.Fatalf("%+v", shown)
	}
	for lock, err := range client.ListLocks(background, rowlock.ListOptions{Prefix: nameOf(t)}) {
		if err != nil || lock.Record == nil || *lock.Record != first {
			t.Fatalf("%+v %v", lock.Record, err)
		}
	}
	_, err := client.UpdateRecord(background, nameOf(t), rowlock.Status("old"), rowlock.IfVersion(0))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || failed.Reason != rowlock.ErrVersionMismatch || failed.Metadata["version"] != fmt.Sprint(first.Version) {
		t.Fatal(err)
	}
	second := update(t, client, nameOf(t),
		rowlock.NotBefore(time.Time{}), rowlock.AttemptsLeft(rowlock.Unlimited), rowlock.IfVersion(first.Version))
	if !second.NotBefore.IsZero() || second.AttemptsLeft != rowlock.Unlimited || second.Status != "new" {
		t.Fatalf("%+v", second)
	}
}

func TestARecordIsDeleted(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	version := update(t, client, nameOf(t), rowlock.Status("new")).Version
	lock := mustLock(t, client, nameOf(t))
	if _, err := client.DeleteRecord(background, nameOf(t)); !errors.Is(err, rowlock.ErrLockInUse) {
		t.Fatal(err)
	}
	lock.Close()
	if _, err := client.DeleteRecord(background, nameOf(t), rowlock.IfVersion(version)); !errors.Is(err, rowlock.ErrVersionMismatch) {
		t.Fatal(err)
	}
	version = look(t, client, nameOf(t)).Record.Version
	for _, was := range []bool{true, false} {
		deleted, err := client.DeleteRecord(background, nameOf(t), rowlock.IfVersion(version))
		if deleted != was || err != nil {
			t.Fatal(deleted, err)
		}
		version = 0
	}
	if record := look(t, client, nameOf(t)).Record; record != nil {
		t.Fatalf("%+v", record)
	}
}

func TestALockRemembersHowTheLastRunWent(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t), rowlock.IfStatus("", "new"))
	released, err := lock.Release(background,
		rowlock.Status("done"), rowlock.AttemptsLeft(5), rowlock.CoolDown(time.Minute))
	if !released || err != nil {
		t.Fatal(released, err)
	}
	record := look(t, client, nameOf(t)).Record
	if record == nil || record.LastRun == nil || record.Status != "done" || record.AttemptsLeft != 5 {
		t.Fatalf("%+v", record)
	}
	run := *record.LastRun
	if run.Owner != "tester" || run.Token != 1 || run.EndReason != rowlock.ErrReleased || run.Status != "done" {
		t.Fatalf("%+v", run)
	}
	if run.EndedAt.Before(run.GrantedAt) || !record.NotBefore.Equal(run.EndedAt.Add(time.Minute)) {
		t.Fatalf("%+v %v", run, record.NotBefore)
	}
}

func TestALockIsDueAgainAfterARun(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	hourly := rowlock.MinInterval(time.Hour)
	nothing := func(context.Context, *rowlock.Lock) error { return nil }
	if err := client.WithLock(background, nameOf(t), nothing, hourly); err != nil {
		t.Fatal(err)
	}
	if lock, ok, err := client.TryLock(background, nameOf(t), hourly); lock != nil || ok || err != nil {
		t.Fatal(lock, ok, err)
	}
	_, refusal, err := client.Acquire(background, nameOf(t), rowlock.Wait(0))
	if err != nil || refusal.Reason != rowlock.ErrNotBefore || refusal.RetryAfter < 50*time.Minute {
		t.Fatalf("%+v %v", refusal, err)
	}
	waits := waitFor(t, client, nameOf(t), 1)
	update(t, client, nameOf(t), rowlock.NotBefore(time.Time{}))
	if lock := within(t, "the grant", waits); lock.Token() != 2 {
		t.Fatal(lock.Token())
	}
}

func TestARecordCanForbidAGrant(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	update(t, client, nameOf(t), rowlock.AttemptsLeft(1), rowlock.Status("new"))
	_, refusal, err := client.Acquire(background, nameOf(t), rowlock.IfStatus("done", "failed"))
	if err != nil || refusal.Reason != rowlock.ErrStatusMismatch || refusal.Status != "new" {
		t.Fatalf("%+v %v", refusal, err)
	}
	lock := mustLock(t, client, nameOf(t))
	if released, err := client.Release(background, lock.LeaseID(), rowlock.Status("failed")); !released || err != nil {
		t.Fatal(released, err)
	}
	if lock.State() != rowlock.Released {
		t.Error("it does not know of its release")
	}
	if _, err := client.Lock(background, nameOf(t)); !errors.Is(err, rowlock.ErrExhausted) {
		t.Fatal(err)
	}
	if _, _, err := client.TryLock(background, nameOf(t)); !errors.Is(err, rowlock.ErrExhausted) {
		t.Fatal(err)
	}
	if record := look(t, client, nameOf(t)).Record; record.Status != "failed" || record.AttemptsLeft != 0 {
		t.Fatalf("%+v", record)
	}
}

func TestAFailedRunIsCountedAndTheLockRestsLongerEachTime(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	// No time has to pass, as the record is due again by an update.
	run := func(options ...rowlock.ReleaseOption) rowlock.RecordView {
		update(t, client, nameOf(t), rowlock.NotBefore(time.Time{}))
		lock := mustLock(t, client, nameOf(t), rowlock.Backoff(time.Hour, 90*time.Minute), rowlock.Wait(0))
		if released, err := lock.Release(background, options...); !released || err != nil {
			t.Fatal(released, err)
		}
		return *look(t, client, nameOf(t)).Record
	}
	if record := run(); record.Failures != 0 || !record.NotBefore.IsZero() || *record.LastSuccess != *record.LastRun {
		t.Fatalf("%+v", record)
	}
	for failures, rest := range []time.Duration{time.Hour, 90 * time.Minute, 90 * time.Minute} {
		record := run(rowlock.Failed(), rowlock.Status("failed"))
		if record.Failures != failures+1 || record.LastRun.EndReason != rowlock.ErrFailed || record.Status != "failed" {
			t.Fatalf("%+v", record)
		}
		if record.LastSuccess.Token != 1 || record.LastSuccess.EndReason != rowlock.ErrReleased {
			t.Fatalf("%+v", record.LastSuccess)
		}
		if rested := record.NotBefore.Sub(record.LastRun.EndedAt); rested != rest {
			t.Fatal(rested)
		}
	}
	if record := run(rowlock.Failed(), rowlock.CoolDown(0)); record.Failures != 4 || !record.NotBefore.IsZero() {
		t.Fatalf("%+v", record)
	}
	if record := run(); record.Failures != 0 || record.LastSuccess.Token != 6 {
		t.Fatalf("%+v", record)
	}
	for claim, err := range client.ListClaims(background, rowlock.ListClaimsOptions{LockName: nameOf(t)}) {
		if err != nil || claim.Token > 1 && claim.End.Status != "failed" {
			t.Fatalf("%+v %v", claim.End, err)
		}
	}
}

func TestWithoutAMaxABackoffStaysTheSame(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for range 2 {
		update(t, client, nameOf(t), rowlock.NotBefore(time.Time{}))
		lock := mustLock(t, client, nameOf(t), rowlock.Backoff(time.Hour, 0))
		if released, err := lock.Release(background, rowlock.Failed()); !released || err != nil {
			t.Fatal(released, err)
		}
	}
	record := look(t, client, nameOf(t)).Record
	if record.Failures != 2 || record.LastSuccess != nil || !record.NotBefore.Equal(record.LastRun.EndedAt.Add(time.Hour)) {
		t.Fatalf("%+v", record)
	}
	_, err := client.Lock(background, nameOf(t), rowlock.Backoff(0, -1), rowlock.MinInterval(-1))
	if failed, ok := asType[*rowlock.Error](err); !ok || len(failed.Violations) < 3 {
		t.Fatalf("%+v", err)
	}
}

func TestALockRemembersThatItWasLost(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t),
		rowlock.StatusIfLost("crashed"), rowlock.LockDelay(time.Minute), rowlock.MinInterval(time.Hour))
	if _, err := client.ForceRelease(background, nameOf(t), "it hangs"); err != nil {
		t.Fatal(err)
	}
	within(t, "the loss", lock.Done())
	// The lease has ended, so the release does not set the status.
	if released, err := lock.Release(background, rowlock.Status("done")); released || err != nil {
		t.Fatal(released, err)
	}
	record := look(t, client, nameOf(t)).Record
	if record.Status != "crashed" || record.LastRun.EndReason != rowlock.ErrForceReleased {
		t.Fatalf("%+v", record)
	}
	if !record.NotBefore.Equal(record.LastRun.EndedAt.Add(time.Minute)) {
		t.Fatalf("%+v", record)
	}
}

// If only the client's own clock has ended the lease, the server must still record the loss.
func TestALeaseLostByTheClientsClockEndsAsLost(t *testing.T) {
	t.Parallel()
	for how, of := range map[string]struct {
		option rowlock.LeaseOption
		isSent bool
	}{
		"a status":    {option: rowlock.StatusIfLost("crashed")},
		"a delay":     {option: rowlock.LockDelay(time.Minute)},
		"an interval": {option: rowlock.MinInterval(time.Hour)},
		"a backoff":   {option: rowlock.Backoff(time.Hour, 0)},
		"nothing":     {option: rowlock.IfStatus(""), isSent: true},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			client, sleep := connectSleeper(t)
			other := connectTo(t, sharedAddress(t))
			lock := mustLock(t, client, nameOf(t), rowlock.TTL(time.Minute), of.option)
			sleep(59 * time.Second)
			if released, err := lock.Release(background); released || err != nil {
				t.Fatal(released, err)
			}
			// The server answers this read after the release, if one was sent.
			look(t, client, nameOf(t))
			if count := look(t, other, nameOf(t)).HolderCount; count != 1 && !of.isSent || count != 0 && of.isSent {
				t.Fatal(count)
			}
		})
	}
}

func TestAWaitCancelledBeforeItsGrantLeavesNoRun(t *testing.T) {
	t.Parallel()
	// The grace period is longer than this test waits, so the place does not lapse.
	client := connectTo(t, startServer(t, "127.0.0.1:0", freshDatabase(t), "--grace", "10m").address)
	held := mustLock(t, client, nameOf(t))
	ctx, cancel := context.WithCancel(background)
	failed := make(chan error)
	go func() {
		_, err := client.Lock(ctx, nameOf(t), rowlock.MinInterval(time.Hour))
		failed <- err
	}()
	until(t, "the place", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	cancel()
	if err := within(t, "the failure", failed); !errors.Is(err, rowlock.ErrCancelled) {
		t.Fatal(err)
	}
	until(t, "the queue to be empty", func() bool { return look(t, client, nameOf(t)).WaiterCount == 0 })
	held.Close()
	if _, ok, err := client.TryLock(background, nameOf(t)); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

func TestOneErrorNamesAllMistakesOfARecord(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	long := rowlock.Status(string(make([]byte, 64)))
	_, err := client.UpdateRecord(background, nameOf(t), long, rowlock.AttemptsLeft(1_000_001),
		rowlock.NotBefore(time.Unix(-1, 0)), rowlock.Because(strings.Repeat("x", 256)))
	if failed, ok := asType[*rowlock.Error](err); !ok || failed.Reason != rowlock.ErrBadRequest || len(failed.Violations) != 4 {
		t.Fatalf("%+v", err)
	}
	lock := mustLock(t, client, nameOf(t))
	_, err = client.Release(background, lock.LeaseID(), long, rowlock.CoolDown(-1))
	if failed, ok := asType[*rowlock.Error](err); !ok || failed.Reason != rowlock.ErrBadRequest || len(failed.Violations) != 2 {
		t.Fatalf("%+v", err)
	}
}

func TestARecordIsNotDueAtTwoTimes(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for _, at := range []time.Time{time.Now().Add(time.Minute), {}} {
		_, err := client.UpdateRecord(background, nameOf(t), rowlock.NotBeforeIn(time.Hour), rowlock.NotBefore(at), rowlock.AttemptsLeft(-1))
		wrong, ok := asType[*rowlock.OptionError](err)
		if !ok || len(wrong.Others) != 1 || !strings.Contains(err.Error(), "NotBefore and NotBeforeIn: set one of them") {
			t.Error(err)
		}
	}
	if record := look(t, client, nameOf(t)).Record; record != nil {
		t.Errorf("it was changed all the same: %+v", record)
	}
}

func TestRecordsThatCannotWork(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t))
	for how, ask := range map[string]func() error{
		"negative": func() error {
			_, err := client.UpdateRecord(background, nameOf(t), rowlock.AttemptsLeft(-1))
			return err
		},
		"no end at a release": func() error {
			_, err := lock.Release(background, rowlock.AttemptsLeft(rowlock.Unlimited))
			return err
		},
		"negative at a release": func() error {
			_, err := client.Release(background, "1.999.AAAAAAAAAAAAAAAAAAAAAA", rowlock.AttemptsLeft(-1))
			return err
		},
	} {
		if wrong, ok := asType[*rowlock.OptionError](ask()); !ok || wrong.Option != "AttemptsLeft" {
			t.Errorf("%s: %v", how, ask())
		}
	}
	if lock.State() != rowlock.Held {
		t.Error("it was released all the same")
	}
}

// Limits, listings and force releases.

package rowlock_test

import (
	"errors"
	"testing"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestLimitsAreSetAndUnset(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	name, pattern := nameOf(t)+"/one", nameOf(t)+"/*"
	set, err := client.SetLimit(background, rowlock.ForPattern(pattern), 3, rowlock.Because("night shift"))
	if err != nil || set.Limit != 3 || set.Version != 1 {
		t.Fatalf("%+v %v", set, err)
	}
	mustLock(t, client, name, rowlock.Permits(2))
	info := look(t, client, name)
	if info.Limit != (rowlock.LimitView{Permits: 3, Source: rowlock.FromPattern, Pattern: pattern, Version: 1, Reason: "night shift"}) {
		t.Fatalf("%+v", info.Limit)
	}
	_, err = client.SetLimit(background, rowlock.ForName(name), 1, rowlock.IfVersion(7))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || failed.Reason != rowlock.ErrVersionMismatch || failed.Metadata["version"] != "0" {
		t.Fatal(err)
	}
	set, err = client.SetLimit(background, rowlock.ForName(name), 1, rowlock.IfVersion(0))
	if err != nil || !set.Draining || set.HeldPermits != 2 {
		t.Fatalf("%+v %v", set, err)
	}
	_, refusal, err := client.Acquire(background, name, rowlock.Permits(5))
	if err != nil || refusal.Reason != rowlock.ErrNeverFits || refusal.Limit.Permits != 1 {
		t.Fatalf("%+v %v", refusal, err)
	}
	var limits []rowlock.LimitSetting
	for setting, err := range client.ListLimits(background, nameOf(t)) {
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, setting)
	}
	if len(limits) != 2 || limits[0].Pattern != pattern || limits[1].Name != name || limits[1].Limit != 1 {
		t.Fatalf("%+v", limits)
	}
	if set, err = client.UnsetLimit(background, rowlock.ForName(name)); err != nil || set.Limit != 3 {
		t.Fatalf("%+v %v", set, err)
	}
}

func TestListingsGoOverAllPages(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for _, last := range []string{"a", "b", "c", "d", "e"} {
		mustLock(t, client, nameOf(t)+"/"+last)
	}
	options := rowlock.ListOptions{Prefix: nameOf(t) + "/", BusyOnly: true, PageSize: 2}
	var names string
	for lock, err := range client.ListLocks(background, options) {
		if err != nil {
			t.Fatal(err)
		}
		names += lock.Name[len(nameOf(t)):]
	}
	if names != "/a/b/c/d/e" {
		t.Fatal(names)
	}
	for lock := range client.ListLocks(background, options) {
		if lock.Name != nameOf(t)+"/a" {
			t.Fatal(lock.Name)
		}
		break
	}
	for _, err := range client.ListLocks(background, rowlock.ListOptions{Order: "by colour"}) {
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != "Order" {
			t.Fatal(err)
		}
	}
}

func TestOneClaimIsEnded(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	mustLock(t, client, nameOf(t))
	failed := make(chan error)
	go func() {
		_, err := client.Lock(background, nameOf(t))
		failed <- err
	}()
	until(t, "the place", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	waiter := look(t, client, nameOf(t)).Waiters[0]
	ended, err := client.ForceReleaseClaim(background, nameOf(t), waiter.TicketNumber, "test")
	if err != nil || len(ended.Ended) != 1 || ended.Ended[0].State == rowlock.ClaimHeld {
		t.Fatalf("%+v %v", ended, err)
	}
	if err := within(t, "the wait's end", failed); !errors.Is(err, rowlock.ErrForceReleased) {
		t.Fatal(err)
	}
	if _, err := client.ForceRelease(background, nameOf(t)+"/unknown", "test"); !errors.Is(err, rowlock.ErrUnknownLock) {
		t.Fatal(err)
	}
	if _, err := client.Renew(background, "1.999.AAAAAAAAAAAAAAAAAAAAAA", 0); !errors.Is(err, rowlock.ErrUnknownClaim) {
		t.Fatal(err)
	}
}

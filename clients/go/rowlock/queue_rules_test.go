// Queue rules: what is set and shown, who is granted first, and what a superseded waiter hears.

package rowlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

func TestQueueRulesAreSetShownAndRemoved(t *testing.T) {
	t.Parallel()
	client, _, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	target := rowlock.ForName(nameOf(t))
	newest := rowlock.QueueRules{WaitingMax: 1, WhenFull: rowlock.EndLongestWaiting}
	two := rowlock.QueueRules{WaitingMax: 2, WhenFull: rowlock.Refuse}
	set, err := client.SetLimit(background, target, 3, rowlock.WithQueueRules(rowlock.QueueRules{WaitingMax: 2}))
	if err != nil || set.Limit != 3 || *set.QueueRules != two {
		t.Fatalf("%+v %v", set, err)
	}
	set, err = client.SetQueueRules(background, target, newest, rowlock.IfVersion(set.Version), rowlock.Because("CI"))
	if err != nil || set.Limit != 3 || *set.QueueRules != newest {
		t.Fatalf("%+v %v", set, err)
	}
	wanted := rowlock.QueueRulesView{QueueRules: newest, Source: rowlock.FromName, Version: set.Version, Reason: "CI"}
	if view := look(t, client, nameOf(t)); *view.QueueRules != wanted {
		t.Errorf("%+v", view)
	}
	if settings := all(t, client.ListLimits(background, nameOf(t))); len(settings) != 1 || *settings[0].QueueRules != newest {
		t.Errorf("%+v", settings)
	}
	if set, err = client.UnsetQueueRules(background, target); err != nil || set.QueueRules != nil || set.Limit != 3 {
		t.Errorf("%+v %v", set, err)
	}
	changes := all(t, client.ListChanges(background, rowlock.ListChangesOptions{LockName: nameOf(t)}))
	if len(changes) != 3 || *changes[0].Limit.QueueRulesFrom != newest || changes[0].Limit.QueueRulesTo != nil {
		t.Errorf("%+v", changes)
	}
	_, err = client.SetQueueRules(background, target, newest, rowlock.WithoutQueueRules())
	if _, isMistake := asType[*rowlock.OptionError](err); !isMistake {
		t.Errorf("%v", err)
	}
}

func TestFairSharesAreSetAndShown(t *testing.T) {
	t.Parallel()
	client, _, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	target := rowlock.ForName(nameOf(t))
	for _, rules := range []rowlock.QueueRules{
		{ShareBy: "principal", WhenFull: rowlock.Refuse},
		{ShareBy: "label:tenant", WhenFull: rowlock.Refuse, WaitingMax: 5},
	} {
		set, err := client.SetQueueRules(background, target, rules)
		if err != nil || *set.QueueRules != rules {
			t.Fatalf("%+v %v", set, err)
		}
		if view := look(t, client, nameOf(t)); view.QueueRules.QueueRules != rules {
			t.Errorf("%+v", view.QueueRules)
		}
		if settings := all(t, client.ListLimits(background, nameOf(t))); len(settings) != 1 || *settings[0].QueueRules != rules {
			t.Errorf("%+v", settings)
		}
		changes := all(t, client.ListChanges(background, rowlock.ListChangesOptions{LockName: nameOf(t)}))
		if *changes[0].Limit.QueueRulesTo != rules {
			t.Errorf("%+v", changes[0].Limit)
		}
	}
}

func TestHeadStartsAreSetAndShown(t *testing.T) {
	t.Parallel()
	client, _, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	target := rowlock.ForName(nameOf(t))
	for _, rules := range []rowlock.QueueRules{
		{HeadStartMax: 90 * time.Second, WhenFull: rowlock.Refuse},
		{HeadStartMax: time.Hour, WhenFull: rowlock.Refuse, WaitingMax: 5},
	} {
		set, err := client.SetQueueRules(background, target, rules)
		if err != nil || *set.QueueRules != rules {
			t.Fatalf("%+v %v", set, err)
		}
		if view := look(t, client, nameOf(t)); view.QueueRules.QueueRules != rules {
			t.Errorf("%+v", view.QueueRules)
		}
		changes := all(t, client.ListChanges(background, rowlock.ListChangesOptions{LockName: nameOf(t)}))
		if *changes[0].Limit.QueueRulesTo != rules {
			t.Errorf("%+v", changes[0].Limit)
		}
	}
	both := rowlock.QueueRules{HeadStartMax: time.Hour, ShareBy: "principal"}
	if _, err := client.SetQueueRules(background, target, both); !errors.Is(err, rowlock.ErrBadRequest) {
		t.Error(err)
	}
}

func TestAHeadStartIsGrantedFirst(t *testing.T) {
	overEachWay(t, func(t *testing.T, address string) {
		client, _, _ := watched(t, rowlock.Config{Addresses: []string{address}})
		rules := rowlock.QueueRules{HeadStartMax: time.Hour}
		if _, err := client.SetQueueRules(background, rowlock.ForName(nameOf(t)), rules); err != nil {
			t.Fatal(err)
		}
		held := mustLock(t, client, nameOf(t))
		granted := make(chan *rowlock.Lock, 2)
		ask := func(options ...rowlock.LockOption) {
			waiting := look(t, client, nameOf(t)).WaiterCount
			go func() {
				lock, _ := client.Lock(background, nameOf(t), options...)
				granted <- lock
			}()
			until(t, "it waits", func() bool { return look(t, client, nameOf(t)).WaiterCount == waiting+1 })
		}
		ask(rowlock.Owner("first"))
		ask(rowlock.Owner("ahead"), rowlock.HeadStart(time.Minute))
		for _, owner := range []string{"ahead", "first"} {
			if _, err := held.Release(background); err != nil {
				t.Error(err)
			}
			if held = within(t, "a grant", granted); held == nil {
				t.Fatal("it is not granted")
			}
			if holders := look(t, client, nameOf(t)).Holders; len(holders) != 1 || holders[0].Owner != owner {
				t.Errorf("%s: %+v", owner, holders)
			}
		}
		if _, _, err := client.Acquire(background, nameOf(t), rowlock.HeadStart(-time.Second)); !errors.Is(err, rowlock.ErrBadRequest) {
			t.Error(err)
		}
	})
}

func TestEachRequestOfAClaimHasItsHeadStart(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	if first := stage.ask(rowlock.HeadStart(0)); first.GetAcquire().GetHeadStart() != nil {
		t.Error(first)
	}
	first := stage.ask(rowlock.HeadStart(time.Minute))
	if first.GetAcquire().GetHeadStart().AsDuration() != time.Minute {
		t.Error(first)
	}
	wait := stage.ask(rowlock.HeadStart(time.Minute), rowlock.Wait(rowlock.Forever))
	if wait.GetWaitInQueue().GetRequest().GetHeadStart().AsDuration() != time.Minute {
		t.Error(wait)
	}
	stage.answerWait(wait, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Ended{
		Ended: &rowlockv1.ClaimEnd{Reason: rowlockv1.EndReason_END_REASON_LAPSED},
	}})
	if anew := stage.next(); anew.GetWaitInQueue().GetRequest().GetHeadStart().AsDuration() != time.Minute {
		t.Error(anew)
	}
}

func TestTheNewestWins(t *testing.T) {
	t.Parallel()
	client, _, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	rules := rowlock.QueueRules{WaitingMax: 1, WhenFull: rowlock.EndLongestWaiting}
	if _, err := client.SetQueueRules(background, rowlock.ForName(nameOf(t)), rules); err != nil {
		t.Fatal(err)
	}
	held, err := client.Lock(background, nameOf(t))
	if err != nil {
		t.Fatal(err)
	}
	ends := make(chan error, 1)
	go func() {
		_, err := client.Lock(background, nameOf(t), rowlock.RequestID("older"))
		ends <- err
	}()
	until(t, "it waits", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	newer := make(chan *rowlock.Lock, 1)
	go func() {
		lock, _ := client.Lock(background, nameOf(t))
		newer <- lock
	}()
	if err := within(t, "the end", ends); !errors.Is(err, rowlock.ErrSuperseded) {
		t.Errorf("%v", err)
	}
	if _, err := client.Lock(background, nameOf(t), rowlock.RequestID("older")); !errors.Is(err, rowlock.ErrSuperseded) {
		t.Errorf("a repeat: %v", err)
	}
	if _, err := held.Release(background); err != nil {
		t.Error(err)
	}
	if lock := within(t, "the grant", newer); lock == nil {
		t.Error("the newest has not won")
	} else if _, err := lock.Release(background); err != nil {
		t.Error(err)
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	client, _, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	if _, err := client.SetQueueRules(background, rowlock.ForName(nameOf(t)), rowlock.QueueRules{WaitingMax: 1}); err != nil {
		t.Fatal(err)
	}
	held, err := client.Lock(background, nameOf(t))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan *rowlock.Lock, 1)
	go func() {
		lock, _ := client.Lock(background, nameOf(t))
		waiting <- lock
	}()
	until(t, "it waits", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	_, refusal, err := client.Acquire(background, nameOf(t))
	if err != nil || refusal.Reason != rowlock.ErrQueueFull || refusal.QueueRules == nil || refusal.QueueRules.WaitingMax != 1 {
		t.Errorf("%+v %v", refusal, err)
	}
	if _, err := held.Release(background); err != nil {
		t.Error(err)
	}
	if lock := within(t, "the grant", waiting); lock != nil {
		_, _ = lock.Release(background)
	}
}

// Tests of unexported parts: the version, backoff, and a lease by the clock.

package rowlock

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

func TestTheVersionIsThatOfTheServer(t *testing.T) {
	text, err := os.ReadFile("../../../package.json")
	if err != nil {
		t.Fatal(err)
	}
	var server struct{ Version string }
	if err := json.Unmarshal(text, &server); err != nil || server.Version != Version {
		t.Fatalf("%q is not %q (%v)", Version, server.Version, err)
	}
}

func TestTheBackoffRisesToItsBound(t *testing.T) {
	for failures := 1; failures < 100; failures++ {
		full := min(backoffMax, backoffFirst<<min(failures-1, 10))
		if pause := backoff(failures, 0); pause < full/2 || pause > full {
			t.Fatalf("%v after %d failures", pause, failures)
		}
	}
	if pause := backoff(1, time.Minute); pause != time.Minute {
		t.Fatal(pause)
	}
}

// A lease of 30 s from second 100, with a margin of 2 s, as time goes by.
func TestALeaseByTheClock(t *testing.T) {
	clock := 103 * time.Second
	turns := &turns{now: func() time.Duration { return clock }}
	lease := &rowlockv1.Lease{LeaseId: "id", Ttl: durationpb.New(30 * time.Second)}
	held := newHeldLease(turns, lease, 100*time.Second, 2*time.Second)
	if held.renewAt != 110*time.Second || held.mayRenewAt() != 105*time.Second || held.isTooEarly(false) {
		t.Fatal(held.renewAt, held.mayRenewAt(), held.isTooEarly(false))
	}
	for _, at := range []struct {
		second    time.Duration
		state     LockState
		remaining time.Duration
	}{{103, Held, 25}, {119, Held, 9}, {120, Uncertain, 8}, {127, Uncertain, 1}, {128, Lost, 0}, {103, Lost, 0}} {
		clock = at.second * time.Second
		if state := held.state(); state != at.state || held.remaining() != at.remaining*time.Second {
			t.Errorf("at %d s: %s, %v left", at.second, state, held.remaining())
		}
	}
	held.prolonged(lease, 128*time.Second)
	if held.state() != Lost {
		t.Error("a loss is final")
	}
}

func TestALateGrantIsTooEarlyToUse(t *testing.T) {
	turns := &turns{now: func() time.Duration { return 119 * time.Second }}
	lease := &rowlockv1.Lease{Ttl: durationpb.New(30 * time.Second)}
	if !newHeldLease(turns, lease, 100*time.Second, 2*time.Second).isTooEarly(false) {
		t.Error("with 9 s of 30 left")
	}
	provisional := &rowlockv1.Lease{Ttl: durationpb.New(7 * time.Second), Provisional: true}
	if !newHeldLease(turns, provisional, 119*time.Second, 2*time.Second).isTooEarly(false) {
		t.Error("its confirmation may come too late")
	}
	for _, set := range []LeaseOption{MinInterval(time.Second), LockDelay(time.Second), StatusIfLost(""), IfStatus("new"), Backoff(1, 0)} {
		asked := &leaseOptions{}
		set(asked)
		lease := &rowlockv1.Lease{Ttl: durationpb.New(30 * time.Second), Provisional: true}
		held := newHeldLease(turns, lease, 119*time.Second, 2*time.Second)
		if !held.isTooEarly(asked.terms.areSet()) || held.isTooEarly(false) {
			t.Errorf("%+v", asked.terms)
		}
		lease.Provisional = false
		if newHeldLease(turns, lease, 119*time.Second, 2*time.Second).isTooEarly(true) {
			t.Error("it is confirmed")
		}
	}
}

func TestAnEmptyListOfStatusesIsNoTerm(t *testing.T) {
	for _, statuses := range [][]string{nil, {}} {
		asked := &leaseOptions{}
		IfStatus(statuses...)(asked)
		if asked.terms.areSet() {
			t.Errorf("%#v", statuses)
		}
	}
	asked := &leaseOptions{}
	if IfStatus("")(asked); !asked.terms.areSet() {
		t.Error("the status of a lock without a record")
	}
}

func TestARenewalStaysWithinTheBytesOfACommand(t *testing.T) {
	for bytesMax, count := range map[int]int{100: 1, 1_024: 15, 1 << 20: 500} {
		if found := (&sessionConnection{bytesMax: bytesMax}).renewalsMax(); found != count {
			t.Errorf("%d leases in %d bytes", found, bytesMax)
		}
	}
}

// countingTelemetry counts late renewals.
type countingTelemetry struct {
	noTelemetry
	late int
}

func (c *countingTelemetry) RenewalLate() { c.late++ }

func TestARenewalThatIsLateIsReportedOnce(t *testing.T) {
	clock := 100 * time.Second
	turns := &turns{now: func() time.Duration { return clock }}
	counted := &countingTelemetry{}
	keeper := &leaseKeeper{turns: turns, observer: newObserver(turns, Config{Telemetry: counted}), held: map[string]*heldLease{}}
	lease := &rowlockv1.Lease{LeaseId: "id", Ttl: durationpb.New(30 * time.Second)}
	held := newHeldLease(turns, lease, clock, 2*time.Second)
	keeper.held[held.id] = held
	for _, at := range []struct {
		second time.Duration
		late   int
		do     func()
	}{
		{119, 0, keeper.lookAtAll},
		{120, 1, keeper.lookAtAll},
		{121, 1, keeper.lookAtAll},
		{122, 1, func() { keeper.prolong(held, lease, 122*time.Second) }},
		// Nobody has looked before the answer was there.
		{143, 2, func() { keeper.prolong(held, lease, 143*time.Second) }},
		{150, 2, func() { keeper.prolong(held, lease, 150*time.Second) }},
	} {
		clock = at.second * time.Second
		if turns.take(at.do); counted.late != at.late {
			t.Errorf("at %d s: %d are late", at.second, counted.late)
		}
	}
}

func TestAWaitByPollsAsksForItsHeadStart(t *testing.T) {
	asked := &rowlockv1.QueueRequest{Name: "a", Terms: &rowlockv1.LeaseTerms{}, HeadStart: durationpb.New(time.Minute)}
	if request := (&unaryConnection{}).enqueueing(asked); request.GetHeadStart().AsDuration() != time.Minute {
		t.Error(request)
	}
}

func TestAWaitByPollsAsksForAllLocks(t *testing.T) {
	asked := &rowlockv1.QueueRequest{Name: "a", Terms: &rowlockv1.LeaseTerms{}, Also: []*rowlockv1.WantedLock{{Name: "b"}}}
	if request := (&unaryConnection{}).enqueueing(asked); len(request.GetAlso()) != 1 {
		t.Error(request)
	}
}

func TestThePlaceOfAClaimForSeveralLocksIsThatWhereMostAreAhead(t *testing.T) {
	explained := explanationOf(&rowlockv1.ExplainWaitResponse{Causes: []*rowlockv1.WaitCause{
		{Cause: &rowlockv1.WaitCause_Queued{Queued: &rowlockv1.QueuedBehind{Ahead: 1}}, LockName: "a"},
		{Cause: &rowlockv1.WaitCause_Queued{Queued: &rowlockv1.QueuedBehind{Ahead: 4, PermitsAhead: 9}}, LockName: "b"},
		{Cause: &rowlockv1.WaitCause_Queued{Queued: &rowlockv1.QueuedBehind{Ahead: 2}}, LockName: "c"},
	}})
	place := Place{Ahead: 1, WaitsFor: "a"}
	place.explainedBy(explained.Causes)
	if place.Ahead != 4 || place.PermitsAhead != 9 || place.WaitsFor != "b" {
		t.Errorf("%+v", place)
	}
}

func TestAListedClaimHasItsOtherLocks(t *testing.T) {
	claim := claimOf(&rowlockv1.Claim{Also: []*rowlockv1.ClaimedLock{
		{LockName: "b", Mode: rowlockv1.Mode_MODE_EXCLUSIVE, Permits: 1},
	}})
	if len(claim.Also) != 1 || claim.Also[0] != (ClaimedLock{LockName: "b", Mode: Exclusive, Permits: 1}) {
		t.Errorf("%+v", claim.Also)
	}
}

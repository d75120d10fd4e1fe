// Spends, on a scripted server and on real ones.

package rowlock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// spendStage is a client that asks a scripted server for a spend.
type spendStage struct {
	*acquireStage
	ends chan spendEnd
}

type spendEnd struct {
	spent rowlock.Spent
	err   error
}

func stageSpend(t *testing.T, giveUpAfter time.Duration) *spendStage {
	return &spendStage{stageAcquire(t, giveUpAfter), make(chan spendEnd, 10)}
}

func (s *spendStage) spend(ctx context.Context, options ...rowlock.LockOption) *rowlockv1.SessionCommand {
	s.t.Helper()
	go func() {
		spent, err := s.client.Spend(ctx, "x", options...)
		s.ends <- spendEnd{spent, err}
	}()
	return s.next()
}

func (s *spendStage) end() spendEnd {
	s.t.Helper()
	return within(s.t, "the end", s.ends)
}

func (s *spendStage) answerSpent(command *rowlockv1.SessionCommand, spent *rowlockv1.Spent) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Acquire{
		Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Spent{Spent: spent}},
	}})
}

// expectNothing closes the client, which sends what it still wants to give back.
func (s *spendStage) expectNothing() {
	s.t.Helper()
	s.client.Close()
	select {
	case command := <-s.commands:
		s.t.Error("it has sent", command)
	default:
	}
}

func TestASpendIsAskedForAgainUnderItsRequestIDAndHoldsNothing(t *testing.T) {
	t.Parallel()
	stage := stageSpend(t, time.Hour)
	first := stage.spend(background, rowlock.Wait(0), rowlock.Permits(3), rowlock.Owner("me"), rowlock.IfStatus("new"))
	asked := first.GetAcquire()
	if !asked.GetSpendOnly() || asked.GetPermits() != 3 || asked.GetTerms().GetLasting() != nil ||
		asked.GetTerms().GetOwner() != "me" || asked.GetTerms().GetIfStatus()[0] != "new" {
		t.Fatal(first)
	}
	stage.cut()
	again := stage.next()
	if again.GetAcquire().GetRequestId() != asked.GetRequestId() {
		t.Fatal(again)
	}
	stage.answerSpent(again, &rowlockv1.Spent{
		LockName: "x", Permits: 3, FencingToken: 7, SpentAt: &timestamppb.Timestamp{Seconds: 1}, RequestId: "r",
	})
	wanted := rowlock.Spent{Name: "x", Permits: 3, Token: 7, SpentAt: time.Unix(1, 0).UTC(), RequestID: "r"}
	if end := stage.end(); end.err != nil || end.spent != wanted {
		t.Fatalf("%+v", end)
	}
	stage.expectNothing()
}

func TestAWaitingSpendComesBackToItsPlace(t *testing.T) {
	t.Parallel()
	stage := stageSpend(t, time.Hour)
	places := make(chan rowlock.Place, 10)
	wait := stage.spend(background, rowlock.OnPosition(func(place rowlock.Place) { places <- place }))
	if asked := wait.GetWaitInQueue().GetRequest(); !asked.GetSpendOnly() || asked.GetTerms().GetLasting() != nil {
		t.Fatal(wait)
	}
	stage.answerWait(wait, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Position{
		Position: &rowlockv1.Ticket{TicketId: "place", RateWait: durationpb.New(time.Minute)},
	}})
	if place := within(t, "the place", places); place.RateWait != time.Minute {
		t.Fatalf("%+v", place)
	}
	stage.cut()
	back := stage.next()
	if back.GetWaitInQueue().GetTicketId() != "place" {
		t.Fatal(back)
	}
	stage.answerWait(back, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Spent{
		Spent: &rowlockv1.Spent{LockName: "x", FencingToken: 7},
	}})
	if end := stage.end(); end.err != nil || end.spent.Token != 7 {
		t.Fatalf("%+v", end)
	}
	stage.expectNothing()
}

func TestACancelledSpendGivesItsPlaceUp(t *testing.T) {
	t.Parallel()
	stage := stageSpend(t, time.Hour)
	ctx, cancel := context.WithCancel(background)
	places := make(chan rowlock.Place, 10)
	wait := stage.spend(ctx, rowlock.OnPosition(func(place rowlock.Place) { places <- place }))
	stage.answerWait(wait, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Position{
		Position: &rowlockv1.Ticket{TicketId: "place"},
	}})
	within(t, "the place", places)
	cancel()
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrCancelled) {
		t.Fatal(end.err)
	}
	for command := stage.next(); command.GetRelease().GetLeaseId() != "place"; command = stage.next() {
		if command.GetCancel() != wait.GetCall() {
			t.Fatal(command)
		}
	}
}

// The first request may still be on its way, and would take a place that nobody wants.
func TestAFailedSpendIsLookedForUntilItHasEnded(t *testing.T) {
	t.Parallel()
	stage := stageSpend(t, 100*time.Millisecond)
	first := stage.spend(background, rowlock.Wait(0))
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrNoServer) {
		t.Fatal(end.err)
	}
	if cancel := stage.next(); cancel.GetCancel() != first.GetCall() {
		t.Fatal(cancel)
	}
	finding := stage.next()
	if asked := finding.GetAcquire(); !asked.GetSpendOnly() || asked.GetRequestId() != first.GetAcquire().GetRequestId() ||
		len(asked.GetTerms().GetIfStatus()) == 0 {
		t.Fatal(finding)
	}
	stage.answerSpent(finding, &rowlockv1.Spent{LockName: "x"})
	looked := make(chan error, 1)
	go func() {
		_, err := stage.client.GetLock(background, "x")
		looked <- err
	}()
	stage.answer(stage.next(), &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_GetLock{GetLock: &rowlockv1.GetLockResponse{}}})
	within(t, "the answer that came after", looked)
	stage.expectNothing()
}

// An older server does not know spends, and grants a lease.
func TestALeaseInsteadOfASpendIsGivenBack(t *testing.T) {
	t.Parallel()
	stage := stageSpend(t, time.Hour)
	command := stage.spend(background, rowlock.Wait(0), rowlock.RequestID("mine"))
	stage.grant(command, &rowlockv1.Lease{LeaseId: "one", LockName: "x", Ttl: durationpb.New(time.Hour)})
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrUnknown) {
		t.Fatalf("%+v", end)
	}
	if release := stage.next(); release.GetRelease().GetLeaseId() != "one" {
		t.Fatal(release)
	}
}

func TestATryThatIsTooEarlyForTheRateIsNotAnError(t *testing.T) {
	t.Parallel()
	stage := stageSpend(t, time.Hour)
	refuse := func() {
		stage.answer(stage.next(), &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Acquire{
			Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Refusal{Refusal: &rowlockv1.Refusal{
				Reason: rowlockv1.RefusalReason_REFUSAL_REASON_RATE, RetryAfter: durationpb.New(time.Second),
				Rate: &rowlockv1.RateInForce{Rate: &rowlockv1.Rate{Permits: 5, Per: durationpb.New(time.Minute), Burst: 2}},
			}}},
		}})
	}
	go refuse()
	if _, isHeld, err := stage.client.TryLock(background, "x"); isHeld || err != nil {
		t.Error(isHeld, err)
	}
	go refuse()
	if _, isSpent, err := stage.client.TrySpend(background, "x"); isSpent || err != nil {
		t.Error(isSpent, err)
	}
	go refuse()
	_, err := stage.client.Spend(background, "x", rowlock.Wait(0))
	failed, _ := asType[*rowlock.Error](err)
	if !errors.Is(err, rowlock.ErrRate) || failed.RetryAfter != time.Second ||
		failed.Refusal.Rate.Rate != (rowlock.Rate{Permits: 5, Per: time.Minute, Burst: 2}) {
		t.Errorf("%+v", failed)
	}
}

func TestASpendRefusesTheOptionsOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	client := connectTo(t, deadAddress(t))
	for option, set := range map[string]rowlock.LockOption{
		"As": rowlock.As(rowlock.Shared), "TTL": rowlock.TTL(time.Minute), "Margin": rowlock.Margin(0),
		"MinInterval": rowlock.MinInterval(0), "LockDelay": rowlock.LockDelay(0), "StatusIfLost": rowlock.StatusIfLost(""), "Backoff": rowlock.Backoff(1, 0),
	} {
		_, err := client.Spend(background, "x", set)
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != option {
			t.Error(option, err)
		}
	}
}

func TestARateIsSetBesideTheLimitAndSpent(t *testing.T) {
	t.Parallel()
	for way, addressOf := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			client, recorded, _ := watched(t, rowlock.Config{Addresses: []string{addressOf(t, sharedAddress(t))}})
			target := rowlock.ForName(nameOf(t))
			if _, err := client.SetLimit(background, target, 5); err != nil {
				t.Fatal(err)
			}
			slow := rowlock.Rate{Permits: 1, Per: time.Hour, Burst: 2}
			set, err := client.SetRate(background, target, slow, rowlock.IfVersion(1), rowlock.Because("the bank's bound"))
			if err != nil || set.Limit != 5 || set.Version != 2 || *set.Rate != slow {
				t.Fatalf("%+v %v", set, err)
			}
			first, err := client.Spend(background, nameOf(t), rowlock.Permits(2), rowlock.RequestID(nameOf(t)))
			if err != nil || first.Name != nameOf(t) || first.Permits != 2 || first.Token != 1 || first.SpentAt.IsZero() {
				t.Fatalf("%+v %v", first, err)
			}
			if again, err := client.Spend(background, nameOf(t), rowlock.Permits(2), rowlock.RequestID(nameOf(t))); again != first {
				t.Errorf("%+v %v", again, err)
			}
			view := look(t, client, nameOf(t))
			wanted := rowlock.RateView{Rate: slow, Source: rowlock.FromName, Version: 2, Reason: "the bank's bound"}
			if view.Rate == nil || *view.Rate != wanted || view.HolderCount != 0 {
				t.Errorf("%+v", view)
			}
			_, err = client.Spend(background, nameOf(t), rowlock.Wait(0))
			failed, _ := asType[*rowlock.Error](err)
			if !errors.Is(err, rowlock.ErrRate) || failed.RetryAfter <= 59*time.Minute || failed.RetryAfter > time.Hour {
				t.Errorf("%+v", failed)
			}
			_, refusal, err := client.Acquire(background, nameOf(t), rowlock.Permits(3))
			if err != nil || refusal.Reason != rowlock.ErrNeverFits || refusal.Limit != nil || refusal.Rate.Rate != slow {
				t.Errorf("%+v %v", refusal, err)
			}
			places := make(chan rowlock.Place, 10)
			ends := make(chan spendEnd, 1)
			go func() {
				spent, err := client.Spend(background, nameOf(t), rowlock.OnPosition(func(place rowlock.Place) { places <- place }))
				ends <- spendEnd{spent, err}
			}()
			if place := within(t, "the place", places); place.RateWait <= 59*time.Minute {
				t.Errorf("%+v", place)
			}
			if waiters := look(t, client, nameOf(t)).Waiters; len(waiters) != 1 || !waiters[0].SpendOnly {
				t.Errorf("%+v", waiters)
			}
			explained, err := client.ExplainWait(background, nameOf(t))
			if err != nil || !hasRate(explained.Causes, slow) {
				t.Errorf("%+v %v", explained, err)
			}
			if set, err = client.UnsetRate(background, target); err != nil || set.Rate != nil || set.Limit != 5 {
				t.Fatalf("%+v %v", set, err)
			}
			if end := within(t, "the spend", ends); end.err != nil || end.spent.Token != 2 {
				t.Errorf("%+v", end)
			}
			spends := rowlock.ListClaimsOptions{LockName: nameOf(t), EndReasons: []rowlock.Reason{rowlock.ErrSpent}}
			if found := all(t, client.ListClaims(background, spends)); len(found) != 2 || !found[0].SpendOnly {
				t.Errorf("%+v", found)
			}
			changes := all(t, client.ListChanges(background, rowlock.ListChangesOptions{LockName: nameOf(t)}))
			if len(changes) != 3 || *changes[1].Limit.RateTo != slow || changes[1].Limit.RateFrom != nil || *changes[1].Limit.To != 5 {
				t.Errorf("%+v", changes)
			}
			recorded.note(func() {
				if recorded.held != 0 || recorded.waiting != 0 || recorded.waits != 3 {
					t.Errorf("%+v", recorded)
				}
			})
		})
	}
}

func TestASpendDoesNotWaitForWhatItsCallerHolds(t *testing.T) {
	t.Parallel()
	client, _, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: 200 * time.Millisecond})
	err := client.WithLock(background, nameOf(t), func(ctx context.Context, _ *rowlock.Lock) error {
		if spent, err := client.Spend(ctx, nameOf(t)); err != nil || spent.Token != 2 {
			t.Errorf("%+v %v", spent, err)
		}
		slow := rowlock.Rate{Permits: 1, Per: time.Hour}
		if _, err := client.SetRate(ctx, rowlock.ForName(nameOf(t)), slow); err != nil {
			return err
		}
		if _, err := client.Spend(ctx, nameOf(t)); err != nil {
			return err
		}
		notices := make(chan rowlock.Waiting, 10)
		failed := make(chan error, 1)
		waiting, cancel := context.WithCancel(ctx)
		go func() {
			_, err := client.Spend(waiting, nameOf(t), rowlock.OnWaiting(func(notice rowlock.Waiting) { notices <- notice }))
			failed <- err
		}()
		notice := within(t, "the notice", notices)
		if notice.HeldByYou || len(notice.Causes) != 1 || notice.Causes[0].Rate == nil {
			t.Errorf("%+v", notice)
		}
		cancel()
		within(t, "the end", failed)
		return nil
	})
	if err != nil || log.has("you hold") {
		t.Error("it warns", err)
	}
}

func hasRate(causes []rowlock.WaitCause, rate rowlock.Rate) bool {
	return slices.ContainsFunc(causes, func(cause rowlock.WaitCause) bool {
		return cause.Rate != nil && cause.Rate.Rate.Rate == rate && !cause.Rate.Until.IsZero()
	})
}

func TestASettingMayHaveOnlyARate(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	pattern := nameOf(t) + "/*"
	if _, err := client.SetRate(background, rowlock.ForPattern(pattern), rowlock.Rate{Permits: 3, Per: time.Minute}); err != nil {
		t.Fatal(err)
	}
	settings := all(t, client.ListLimits(background, nameOf(t)))
	if len(settings) != 1 || !settings[0].RateOnly || *settings[0].Rate != (rowlock.Rate{Permits: 3, Per: time.Minute, Burst: 3}) {
		t.Fatalf("%+v", settings)
	}
	view := look(t, client, nameOf(t)+"/1")
	if view.Limit.Source != rowlock.FromDefault || view.Rate.Source != rowlock.FromPattern || view.Rate.Pattern != pattern || view.Rate.Available != 3 {
		t.Fatalf("%+v", view)
	}
}

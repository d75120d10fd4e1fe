// Claims for several locks at once, on a scripted server.

package rowlock_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

var further = []rowlock.LockOption{
	rowlock.Also("b"),
	rowlock.Also("c", rowlock.As(rowlock.Shared)),
	rowlock.Also("d", rowlock.Permits(3)),
}

// isFurther checks that a request names the further locks.
func isFurther(t *testing.T, wanted []*rowlockv1.WantedLock) {
	t.Helper()
	asked := &rowlockv1.AcquireRequest{Also: wanted}
	if !proto.Equal(asked, &rowlockv1.AcquireRequest{Also: []*rowlockv1.WantedLock{
		{Name: "b", Mode: rowlockv1.Mode_MODE_PERMIT, Permits: 1},
		{Name: "c", Mode: rowlockv1.Mode_MODE_SHARED, Permits: 1},
		{Name: "d", Mode: rowlockv1.Mode_MODE_PERMIT, Permits: 3},
	}}) {
		t.Fatal(asked)
	}
}

func leaseOfSeveral() *rowlockv1.Lease {
	return &rowlockv1.Lease{
		LeaseId: "one", LockName: "x", FencingToken: 7, Mode: rowlockv1.Mode_MODE_PERMIT, Permits: 1,
		Ttl: durationpb.New(time.Hour), Also: []*rowlockv1.ClaimedLock{
			{LockName: "b", Mode: rowlockv1.Mode_MODE_PERMIT, Permits: 1, FencingToken: 1},
			{LockName: "c", Mode: rowlockv1.Mode_MODE_SHARED, Permits: 1, FencingToken: 2},
			{LockName: "d", Mode: rowlockv1.Mode_MODE_PERMIT, Permits: 3, FencingToken: 3},
		},
	}
}

func TestAClaimForSeveralLocksHasATokenForEach(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	first := stage.ask(further...)
	isFurther(t, first.GetAcquire().GetAlso())
	stage.cut()
	again := stage.next()
	if isFurther(t, again.GetAcquire().GetAlso()); again.GetAcquire().GetRequestId() != first.GetAcquire().GetRequestId() {
		t.Fatal(again)
	}
	stage.grant(again, leaseOfSeveral())
	lock := stage.end().lock
	if tokens := lock.Tokens(); !maps.Equal(tokens, map[string]uint64{"x": 7, "b": 1, "c": 2, "d": 3}) || lock.Token() != 7 {
		t.Error(tokens)
	}
	if token, err := lock.TokenOf("d"); token != 3 || err != nil {
		t.Error(token, err)
	}
	_, err := lock.TokenOf("e")
	wanted := `rowlock: name: "e" is no lock of this claim, which has "x", "b", "c", "d"`
	if mistake, isMistake := asType[*rowlock.OptionError](err); !isMistake || mistake.Error() != wanted {
		t.Error(err)
	}
}

func TestAWaitForSeveralLocksSaysForWhichOneAndAsksForAllAgain(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	places := make(chan rowlock.Place, 10)
	options := append([]rowlock.LockOption{
		rowlock.Wait(rowlock.Forever), rowlock.OnPosition(func(place rowlock.Place) { places <- place }),
	}, further...)
	wait := stage.ask(options...)
	isFurther(t, wait.GetWaitInQueue().GetRequest().GetAlso())
	stage.answerWait(wait, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Position{
		Position: &rowlockv1.Ticket{TicketId: "place", Ahead: 2, WaitsFor: "c"},
	}})
	if place := within(t, "the place", places); place.WaitsFor != "c" {
		t.Fatalf("%+v", place)
	}
	// The place is lost, and the client asks anew.
	stage.answerWait(wait, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Ended{
		Ended: &rowlockv1.ClaimEnd{Reason: rowlockv1.EndReason_END_REASON_LAPSED},
	}})
	anew := stage.next()
	isFurther(t, anew.GetWaitInQueue().GetRequest().GetAlso())
	stage.answerWait(anew, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Granted{Granted: leaseOfSeveral()}})
	if end := stage.end(); end.err != nil || end.lock.Tokens()["c"] != 2 {
		t.Fatalf("%+v", end)
	}
}

func TestAFailedRequestForSeveralLocksIsLookedForWithAllOfThem(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, 100*time.Millisecond)
	first := stage.ask(further...)
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrNoServer) {
		t.Fatal(end.err)
	}
	finding := stage.next()
	for finding.GetAcquire() == nil {
		finding = stage.next()
	}
	isFurther(t, finding.GetAcquire().GetAlso())
	if finding.GetAcquire().GetRequestId() != first.GetAcquire().GetRequestId() {
		t.Fatal(finding)
	}
}

// An older server does not see the further locks.
func TestALeaseOfTheFirstLockAloneIsGivenBack(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	command := stage.ask(rowlock.Also("b"))
	stage.grant(command, &rowlockv1.Lease{LeaseId: "one", LockName: "x", Ttl: durationpb.New(time.Hour)})
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrUnknown) || !strings.Contains(end.err.Error(), "one lock at a time") {
		t.Fatalf("%+v", end)
	}
	if release := stage.next(); release.GetRelease().GetLeaseId() != "one" {
		t.Fatal(release)
	}
}

func TestARefusalNamesTheLockInTheWay(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	go func() {
		stage.answer(stage.next(), &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Acquire{
			Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Ended{Ended: &rowlockv1.ClaimEnd{
				Reason: rowlockv1.EndReason_END_REASON_EXHAUSTED, Message: "no attempts are left", LockName: "b",
			}}},
		}})
	}()
	_, err := stage.client.Lock(background, "x", rowlock.Wait(0), rowlock.Also("b"))
	failed, isFailed := asType[*rowlock.Error](err)
	if !isFailed || failed.Refusal.LockName != "b" || failed.Message != `the lock "b" was not granted: no attempts are left` {
		t.Fatalf("%+v", err)
	}
}

func TestAClaimIsInTheWayOfItsHolderAtEachOfItsLocks(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	stage.grant(stage.ask(further...), leaseOfSeveral())
	lock := stage.end().lock
	go func() { stage.refuse(stage.next(), rowlockv1.RefusalReason_REFUSAL_REASON_BUSY) }()
	_, refusal, err := stage.client.Acquire(background, "y", rowlock.Also("d"), rowlock.Wait(0))
	if err != nil || !refusal.HeldByYou || !strings.Contains(refusal.Message, `you hold "d" yourself`) {
		t.Fatalf("%+v %v", refusal, err)
	}
	// The context shows that the caller waits for itself.
	ctx, cancel := lock.Context(background)
	defer cancel()
	asking, giveUp := context.WithCancel(ctx)
	go func() {
		stage.answerWait(stage.next(), &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Position{
			Position: &rowlockv1.Ticket{TicketId: "place"},
		}})
	}()
	var notice rowlock.Waiting
	_, err = stage.client.Lock(asking, "c", rowlock.OnWaiting(func(news rowlock.Waiting) {
		notice = news
		giveUp()
	}))
	if !errors.Is(err, rowlock.ErrCancelled) || !notice.HeldByYou || !strings.HasPrefix(notice.Summary, `you hold "c" yourself`) {
		t.Fatalf("%+v %v", notice, err)
	}
}

func TestAllFaultsOfFurtherLocksAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	client := connectTo(t, "127.0.0.1:1")
	_, err := client.Lock(background, "x", rowlock.Permits(-1), rowlock.Also("b", rowlock.As("write"), rowlock.Permits(-2)))
	wanted := `rowlock: Permits: -1 is not between 0 and 4294967295; Also: "b": Permits: -2 is not between 0 and 4294967295; ` +
		`Also: "b": As: "write" is not a mode`
	if err == nil || err.Error() != wanted {
		t.Error(err)
	}
	_, err = client.Lock(background, "x", rowlock.Also("\xff"))
	if failed, isFailed := asType[*rowlock.Error](err); !isFailed || failed.Reason != rowlock.ErrBadRequest || len(failed.Violations) != 1 {
		t.Error(err)
	}
	_, err = client.Spend(background, "x", rowlock.Also("b"))
	if mistake, isMistake := asType[*rowlock.OptionError](err); !isMistake || mistake.Option != "Also" {
		t.Error(err)
	}
}

// How ended claims and lost leases are shown, on servers that the tests play.

package rowlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

var (
	endedAt  = time.Unix(1_000, 0).UTC()
	forced   = &rowlockv1.ClaimEnd{Reason: rowlockv1.EndReason_END_REASON_FORCE_RELEASED, EndedAt: timestamppb.New(endedAt), EndedBy: "boss", Note: "stuck"}
	wasForce = rowlock.ClaimEndView{Reason: rowlock.ErrForceReleased, EndedAt: endedAt, EndedBy: "boss", Note: "stuck"}
)

func TestTheErrorOfALostLeaseSaysHowItEnded(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	failures := make(chan error, 1)
	go func() {
		_, err := stage.client.Renew(background, "one", 0)
		failures <- err
	}()
	stage.answer(stage.next(), &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Error{
		Error: reasoned(codes.FailedPrecondition, "LEASE_LOST", forced),
	}})
	failed, ok := asType[*rowlock.Error](within(t, "the failure", failures))
	if !ok || failed.Reason != rowlock.ErrLeaseLost || failed.End == nil || *failed.End != wasForce {
		t.Fatalf("%+v", failed)
	}
}

func TestAHeldLockSaysHowItWasLost(t *testing.T) {
	t.Parallel()
	lease := &rowlockv1.Lease{LeaseId: "one", LockName: "x", Ttl: durationpb.New(time.Hour)}
	stage := stageAcquire(t, time.Hour)
	stage.grant(stage.ask(), lease)
	lock := stage.end().lock
	stage.say(&rowlockv1.SessionResponse{Lost: []*rowlockv1.LostLease{{LeaseId: "one", LockName: "x", End: forced}}})
	within(t, "the loss", lock.Done())
	if failed, ok := asType[*rowlock.Error](lock.Err()); !ok || failed.End == nil || *failed.End != wasForce {
		t.Fatalf("%+v", lock.Err())
	}
}

func TestAnEndedClaimIsARefusal(t *testing.T) {
	t.Parallel()
	end := &rowlockv1.ClaimEnd{
		Reason: rowlockv1.EndReason_END_REASON_STATUS_MISMATCH, Status: "done", Message: "it is done", RetryAfter: durationpb.New(time.Second),
		Holders: []*rowlockv1.Claim{{Owner: "anna"}}, Limit: &rowlockv1.Limit{Permits: 3},
	}
	check := func(t *testing.T, refusal *rowlock.Refusal) {
		t.Helper()
		if refusal == nil || refusal.Reason != rowlock.ErrStatusMismatch || refusal.Status != "done" || refusal.Message != "it is done" ||
			refusal.RetryAfter != time.Second || refusal.Holders[0].Owner != "anna" || refusal.Limit.Permits != 3 {
			t.Errorf("%+v", refusal)
		}
	}
	t.Run("of an Acquire", func(t *testing.T) {
		t.Parallel()
		stage := stageAcquire(t, time.Hour)
		stage.answerEnded(stage.ask(), end)
		check(t, stage.end().refusal)
	})
	t.Run("of a wait", func(t *testing.T) {
		t.Parallel()
		stage := stageAcquire(t, time.Hour)
		asked := stage.wait()
		if request := asked.GetWaitInQueue().GetRequest(); request.GetName() != "x" || request.GetMaxWait().AsDuration() > time.Minute {
			t.Fatal(asked)
		}
		if id := asked.GetWaitInQueue().GetRequest().GetRequestId(); !isUUID7(id) {
			t.Fatal(id)
		}
		stage.update(asked, &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Ended{Ended: end}})
		check(t, stage.end().refusal)
	})
	t.Run("of a wait without streams", func(t *testing.T) {
		t.Parallel()
		client := connectTo(t, serve(t, &endingServer{end: end}))
		_, refusal, err := client.Acquire(background, "x", rowlock.Wait(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		check(t, refusal)
	})
}

func TestAWaitThatTheServerRefusesIsOver(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	refusal := &rowlockv1.Refusal{Reason: rowlockv1.RefusalReason_REFUSAL_REASON_QUEUE_FULL}
	stage.update(stage.wait(), &rowlockv1.WaitInQueueResponse{Update: &rowlockv1.WaitInQueueResponse_Refusal{Refusal: refusal}})
	if end := stage.end(); end.refusal == nil || end.refusal.Reason != rowlock.ErrQueueFull {
		t.Fatalf("%+v", end)
	}
}

// A reason that this client does not know is its number.
func TestAnEndOfANewerServerIsARefusal(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	stage.answerEnded(stage.ask(), &rowlockv1.ClaimEnd{Reason: 99})
	if end := stage.end(); end.refusal == nil || end.refusal.Reason != "99" {
		t.Fatalf("%+v", end)
	}
}

// The claim of a lost answer may have ended in any way. Nobody holds it then.
func TestAnEndedClaimIsNotLookedForAgain(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, 100*time.Millisecond)
	stage.ask(rowlock.TTL(rowlock.Forever))
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrNoServer) {
		t.Fatal(end.err)
	}
	stage.next() // The cancel.
	stage.answerEnded(stage.next(), &rowlockv1.ClaimEnd{Reason: rowlockv1.EndReason_END_REASON_EXHAUSTED})
	// It would look again after a quarter of a second.
	select {
	case again := <-stage.commands:
		t.Error(again)
	case <-time.After(time.Second):
	}
}

func TestAClaimSaysHowItEnded(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	listed := make(chan rowlock.ClaimView, 2)
	go func() {
		for claim := range stage.client.ListClaims(background, rowlock.ListClaimsOptions{LockName: "x"}) {
			listed <- claim
		}
	}()
	stage.answer(stage.next(), &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_ListClaims{
		ListClaims: &rowlockv1.ListClaimsResponse{Claims: []*rowlockv1.Claim{
			{State: rowlockv1.ClaimState_CLAIM_STATE_ENDED, End: forced},
			{State: rowlockv1.ClaimState_CLAIM_STATE_HELD, Provisional: true},
		}},
	}})
	ended, held := within(t, "a claim", listed), within(t, "a claim", listed)
	if ended.End == nil || *ended.End != wasForce || ended.Provisional || held.End != nil || !held.Provisional {
		t.Errorf("%+v %+v", ended, held)
	}
	wanted := `{"reason":"FORCE_RELEASED","endedAt":"1970-01-01T00:16:40Z","endedBy":"boss","note":"stuck","status":"","lockName":""}`
	if text, err := json.Marshal(ended.End); err != nil || string(text) != wanted {
		t.Errorf("%s, and not %s: %v", text, wanted, err)
	}
}

// wait asks for the lock and waits for it.
func (s *acquireStage) wait(options ...rowlock.LockOption) *rowlockv1.SessionCommand {
	s.t.Helper()
	return s.ask(append(options, rowlock.Wait(time.Minute))...)
}

func (s *acquireStage) update(command *rowlockv1.SessionCommand, update *rowlockv1.WaitInQueueResponse) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_WaitInQueue{WaitInQueue: update}})
}

// endingServer has no sessions. With it, each claim gets a place, and has ended when it is asked for again.
type endingServer struct {
	rowlockv1.UnimplementedLockServiceServer
	end    *rowlockv1.ClaimEnd
	placed atomic.Bool
}

func (s *endingServer) GetLock(context.Context, *rowlockv1.GetLockRequest) (*rowlockv1.GetLockResponse, error) {
	return &rowlockv1.GetLockResponse{}, nil
}

func (s *endingServer) Acquire(_ context.Context, asked *rowlockv1.AcquireRequest) (*rowlockv1.AcquireResponse, error) {
	if asked.GetEnqueue().GetMaxWait() == nil || asked.GetTerms().GetOwner() != "tester" {
		return nil, status.Error(codes.InvalidArgument, asked.String())
	}
	if !s.placed.Swap(true) {
		return &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Ticket{Ticket: &rowlockv1.Ticket{TicketId: "one"}}}, nil
	}
	return &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Ended{Ended: s.end}}, nil
}

// Captures against a scripted server: what is sent, repeated and given back.

package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// capturingStage is a client that captures from a scripted server.
type capturingStage struct {
	*scriptedServer
	t        *testing.T
	client   *rowlock.Client
	giveUp   context.CancelFunc
	captured chan rowlock.Captured
	failed   chan error
}

func stageCapture(t *testing.T, options ...rowlock.CaptureOption) *capturingStage {
	t.Helper()
	t.Parallel()
	stage, begin := stageCaptureLater(t, options...)
	begin()
	return stage
}

// stageCaptureLater has a server that answers nothing until the test calls the returned function.
func stageCaptureLater(t *testing.T, options ...rowlock.CaptureOption) (*capturingStage, func()) {
	t.Helper()
	scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
	address, begin := serveLater(t, scripted)
	stage := &capturingStage{
		scriptedServer: scripted,
		t:              t,
		client:         connect(t, rowlock.Config{Addresses: []string{address}, GiveUpAfter: time.Hour}),
		captured:       make(chan rowlock.Captured, 1),
		failed:         make(chan error, 1),
	}
	ctx, cancel := context.WithCancel(background)
	t.Cleanup(cancel)
	stage.giveUp = cancel
	go func() {
		captured, err := stage.client.Capture(ctx, append(options, rowlock.Prefix("task/"))...)
		if err != nil {
			stage.failed <- err
		} else {
			stage.captured <- captured
		}
	}()
	return stage, begin
}

func (s *capturingStage) next(what string) *rowlockv1.SessionCommand {
	s.t.Helper()
	return within(s.t, what, s.commands)
}

func (s *capturingStage) nextCapture() (*rowlockv1.SessionCommand, *rowlockv1.CaptureRequest) {
	s.t.Helper()
	command := s.next("the capture")
	if command.GetCapture() == nil {
		s.t.Fatalf("asks for %v", command)
	}
	return command, command.GetCapture()
}

func (s *capturingStage) nextRelease() *rowlockv1.ReleaseRequest {
	s.t.Helper()
	command := s.next("the release")
	if command.GetRelease() == nil {
		s.t.Fatalf("asks for %v", command)
	}
	return command.GetRelease()
}

func (s *capturingStage) nextRenewal(leaseID string) *rowlockv1.SessionCommand {
	s.t.Helper()
	command := s.next("the renewal")
	if command.GetRenew().GetLeaseId() != leaseID {
		s.t.Fatalf("asks for %v", command)
	}
	return command
}

// grant answers a capture with these leases.
func (s *capturingStage) grant(command *rowlockv1.SessionCommand, leases ...*rowlockv1.Lease) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Capture{
		Capture: &rowlockv1.CaptureResponse{Leases: leases},
	}})
}

// renewed answers a renewal with this lease.
func (s *capturingStage) renewed(command *rowlockv1.SessionCommand, lease *rowlockv1.Lease) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Renew{
		Renew: &rowlockv1.RenewResponse{Lease: lease},
	}})
}

func (s *capturingStage) refuse(command *rowlockv1.SessionCommand, code codes.Code) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Error{
		Error: &statuspb.Status{Code: int32(code), Message: "no"},
	}})
}

// asksElse sends another command, and fails if the client has sent anything before it.
func (s *capturingStage) asksElse() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(background)
	s.t.Cleanup(cancel)
	go s.client.GetLock(ctx, "else")
	if command := s.next("something else"); command.GetGetLock() == nil {
		s.t.Fatalf("asks for %v", command)
	}
}

func leaseOf(name string, ttl time.Duration) *rowlockv1.Lease {
	return &rowlockv1.Lease{LeaseId: name, LockName: "task/" + name, FencingToken: 1, Ttl: durationpb.New(ttl)}
}

func provisional(name string, ttl time.Duration) *rowlockv1.Lease {
	lease := leaseOf(name, ttl)
	lease.Provisional = true
	return lease
}

func isUUID7(id string) bool {
	return len(id) == 36 && id[14] == '7'
}

func TestALongCaptureAsksInPieces(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(rowlock.Forever), rowlock.Count(3), rowlock.IfStatus("new", "failed"))
	ids := map[string]bool{}
	for range 3 {
		command, request := stage.nextCapture()
		if piece := request.GetMaxWait().AsDuration(); piece <= 14*time.Second || piece > 15*time.Second {
			t.Fatal(piece)
		}
		if request.GetMaxLeases() != 3 || len(request.GetTerms().GetIfStatus()) != 2 || request.GetPrefix() != "task/" {
			t.Fatal(request)
		}
		if !isUUID7(request.GetRequestId()) {
			t.Fatal(request)
		}
		ids[request.GetRequestId()] = true
		stage.grant(command)
	}
	// Each piece has a request id of its own, because an id whose answer was lost gets nothing else.
	if len(ids) != 3 {
		t.Fatal(ids)
	}
	command, _ := stage.nextCapture()
	stage.grant(command, leaseOf("1", time.Minute))
	if captured := within(t, "the lock", stage.captured); tasksOf(captured) != "1" {
		t.Fatal(tasksOf(captured))
	}
}

func TestACaptureKeepsTheRequestIDThatTheUserChose(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(time.Minute), rowlock.RequestID("worker-1"))
	for range 2 {
		command, request := stage.nextCapture()
		if request.GetRequestId() != "worker-1" {
			t.Fatal(request)
		}
		stage.grant(command)
	}
}

func TestACaptureWithoutAWaitAsksOnce(t *testing.T) {
	stage := stageCapture(t)
	command, request := stage.nextCapture()
	if request.GetMaxWait() != nil || request.GetMaxLeases() != 1 {
		t.Fatal(request)
	}
	stage.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Capture{
		Capture: &rowlockv1.CaptureResponse{RetryAfter: durationpb.New(time.Second)},
	}})
	if captured := within(t, "the answer", stage.captured); len(captured.Locks) != 0 || captured.RetryAfter != time.Second {
		t.Fatalf("%+v", captured)
	}
}

func TestLateLeasesOfACancelledCaptureAreReleased(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(time.Hour), rowlock.MinInterval(time.Hour))
	command, _ := stage.nextCapture()
	stage.giveUp()
	if err := within(t, "the failure", stage.failed); !errors.Is(err, rowlock.ErrCancelled) {
		t.Fatal(err)
	}
	if cancel := stage.next("word of it"); cancel.GetCancel() != command.GetCall() {
		t.Fatal(cancel)
	}
	// The server had granted it just before.
	stage.grant(command, leaseOf("1", time.Minute), provisional("2", 10*time.Second))
	for _, id := range []string{"1", "2"} {
		release := stage.nextRelease()
		// There was no run, so the next one is due at once.
		if release.GetLeaseId() != id || release.GetCoolDown() == nil || release.GetCoolDown().AsDuration() != 0 {
			t.Fatal(release)
		}
	}
	stage.asksElse()
}

func TestLateLeasesOfACancelledTryAreReleased(t *testing.T) {
	stage := stageCapture(t)
	command, _ := stage.nextCapture()
	stage.giveUp()
	within(t, "the failure", stage.failed)
	stage.grant(command, leaseOf("1", time.Minute))
	if release := stage.nextRelease(); release.GetLeaseId() != "1" || release.CoolDown != nil {
		t.Fatal(release)
	}
}

func TestACaptureGoesOnWhenItsConnectionIsLost(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(time.Hour))
	_, first := stage.nextCapture()
	stage.cut()
	command, again := stage.nextCapture()
	if again.GetRequestId() != first.GetRequestId() {
		t.Fatal("what it got and did not hear of would be lost")
	}
	if again.GetMaxWait().AsDuration() >= first.GetMaxWait().AsDuration() {
		t.Fatal("the piece begins anew")
	}
	stage.grant(command, leaseOf("1", time.Minute))
	if captured := within(t, "the lock", stage.captured); tasksOf(captured) != "1" {
		t.Fatal(tasksOf(captured))
	}
}

func TestACaptureCancelledBeforeItWasSentIsNotSent(t *testing.T) {
	t.Parallel()
	stage, begin := stageCaptureLater(t, rowlock.Wait(time.Hour))
	rowlock.UntilAsking(stage.client)
	stage.giveUp()
	within(t, "the failure", stage.failed)
	begin()
	stage.asksElse()
}

// nextFinding expects a capture that finds the leases of the request id, and that takes nothing new.
func (s *capturingStage) nextFinding(requestID string) *rowlockv1.SessionCommand {
	s.t.Helper()
	command, request := s.nextCapture()
	if request.GetRequestId() != requestID || request.GetMaxWait() != nil || len(request.GetTerms().GetIfStatus()) != 1 ||
		request.GetTerms().GetIfStatus()[0] == "new" {
		s.t.Fatal(request)
	}
	return command
}

func TestTheClientLooksForLeasesOfACancelledCapture(t *testing.T) {
	for how, options := range map[string][]rowlock.CaptureOption{
		"a wait": {rowlock.Wait(time.Hour), rowlock.IfStatus("new")},
		"a try":  {rowlock.IfStatus("new")},
	} {
		t.Run(how, func(t *testing.T) {
			stage := stageCapture(t, options...)
			command, request := stage.nextCapture()
			stage.giveUp()
			within(t, "the failure", stage.failed)
			if request.GetMaxWait() != nil {
				if cancel := stage.next("word of it"); cancel.GetCancel() != command.GetCall() {
					t.Fatal(cancel)
				}
			}
			stage.cut()
			// The first look finds nothing, as if the request were still on its way.
			stage.grant(stage.nextFinding(request.GetRequestId()))
			stage.grant(stage.nextFinding(request.GetRequestId()), leaseOf("1", time.Minute))
			if release := stage.nextRelease(); release.GetLeaseId() != "1" {
				t.Fatal(release)
			}
		})
	}
}

func TestTheClientLooksForACaptureCancelledBetweenConnections(t *testing.T) {
	t.Parallel()
	scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
	way := startLine(t, serve(t, scripted), 0)
	client := connectTo(t, way.address)
	ctx, giveUp := context.WithCancel(background)
	defer giveUp()
	failed := make(chan error, 1)
	go func() {
		_, err := client.Capture(ctx, rowlock.Prefix("task/"), rowlock.Wait(time.Hour))
		failed <- err
	}()
	request := within(t, "the capture", scripted.commands).GetCapture()
	way.takeDown()
	rowlock.UntilUnconnected(client)
	giveUp()
	within(t, "the failure", failed)
	way.putUp()
	again := within(t, "what finds it", scripted.commands).GetCapture()
	if again.GetRequestId() != request.GetRequestId() || len(again.GetTerms().GetIfStatus()) != 1 {
		t.Fatal(again)
	}
}

// After the repeated request is answered, the server of the lost connection may still have taken more locks.
func TestLeasesMissingFromARepeatedCaptureAreReleased(t *testing.T) {
	stage := stageCapture(t, rowlock.Count(2), rowlock.IfStatus("new"))
	_, request := stage.nextCapture()
	stage.cut()
	again, _ := stage.nextCapture()
	stage.grant(again, leaseOf("1", time.Minute))
	captured := within(t, "the lock", stage.captured)
	stage.grant(stage.nextFinding(request.GetRequestId()), leaseOf("1", time.Minute), leaseOf("2", time.Minute))
	if release := stage.nextRelease(); release.GetLeaseId() != "2" || captured.Locks[0].State() != rowlock.Held {
		t.Fatal(release)
	}
}

// Two calls under one request id share the locks, and one of the calls gives up.
func TestACancelledCaptureKeepsLocksForOtherCallsWithItsRequestID(t *testing.T) {
	stage := stageCapture(t, rowlock.RequestID("shared"), rowlock.Count(2))
	first, _ := stage.nextCapture()
	second := make(chan rowlock.Captured, 1)
	go func() {
		captured, _ := stage.client.Capture(background, rowlock.Prefix("task/"), rowlock.RequestID("shared"), rowlock.Count(2))
		second <- captured
	}()
	other, _ := stage.nextCapture()
	stage.grant(first, leaseOf("1", time.Hour), provisional("2", time.Second))
	renewal := stage.nextRenewal("2")
	stage.grant(other, leaseOf("1", time.Hour))
	captured := within(t, "the lock", second)
	stage.giveUp()
	within(t, "the failure", stage.failed)
	stage.renewed(renewal, leaseOf("2", time.Hour))
	if release := stage.nextRelease(); release.GetLeaseId() != "2" {
		t.Fatal(release)
	}
	if lock := captured.Locks[0]; lock.State() != rowlock.Held {
		t.Fatal(lock.Err())
	}
	stage.asksElse()
}

func TestTheClientLooksForACancelledCaptureThatFailedTransiently(t *testing.T) {
	stage := stageCapture(t, rowlock.IfStatus("new"))
	command, request := stage.nextCapture()
	stage.giveUp()
	within(t, "the failure", stage.failed)
	stage.refuse(command, codes.Unavailable)
	stage.nextFinding(request.GetRequestId())
}

func TestShortLeasesOfACaptureAreRenewedFirst(t *testing.T) {
	stage := stageCapture(t, rowlock.Count(4), rowlock.Wait(time.Minute))
	command, _ := stage.nextCapture()
	stage.grant(command, provisional("1", time.Second), leaseOf("2", time.Minute), provisional("3", time.Second))
	first, third := stage.nextRenewal("1"), stage.nextRenewal("3")
	stage.renewed(third, leaseOf("3", time.Minute))
	// This lease had expired on its way.
	stage.answer(first, leaseLost())
	captured := within(t, "the locks", stage.captured)
	if tasksOf(captured) != "2 3" {
		t.Fatal(tasksOf(captured))
	}
	for _, lock := range captured.Locks {
		if lock.State() != rowlock.Held || lock.Remaining() < 50*time.Second {
			t.Error(lock.Name(), lock.State(), lock.Remaining())
		}
	}
}

// If the leases ended before the server knew that the client has them, the lock would not record the loss.
func TestProvisionalLeasesOfACaptureWithTermsAreRenewedFirst(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(time.Minute), rowlock.StatusIfLost("failed"))
	command, _ := stage.nextCapture()
	stage.grant(command, provisional("1", time.Hour))
	stage.renewed(stage.nextRenewal("1"), leaseOf("1", time.Hour))
	if captured := within(t, "the lock", stage.captured); tasksOf(captured) != "1" {
		t.Fatal(tasksOf(captured))
	}
}

func TestProvisionalLeasesOfACaptureAreAcknowledged(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(time.Minute))
	command, _ := stage.nextCapture()
	before := stage.received.Load()
	// The ttl is long, so that no renewal is due while this test waits.
	stage.grant(command, provisional("1", time.Hour))
	lock := within(t, "the lock", stage.captured).Locks[0]
	until(t, "the acknowledgement", func() bool { return stage.received.Load() > before })
	stage.say(&rowlockv1.SessionResponse{Heard: 2, Confirmed: []*rowlockv1.Lease{leaseOf("1", 3*time.Hour)}})
	until(t, "the confirmation", func() bool { return lock.Remaining() > 2*time.Hour })
}

func TestACaptureWhoseLeasesWereAllLostGoesOn(t *testing.T) {
	stage := stageCapture(t, rowlock.Wait(time.Minute))
	command, request := stage.nextCapture()
	stage.grant(command, provisional("1", time.Second))
	stage.answer(stage.nextRenewal("1"), leaseLost())
	if _, next := stage.nextCapture(); next.GetRequestId() == request.GetRequestId() {
		t.Fatal("that id gets nothing any more")
	}
}

func TestACaptureCancelledDuringARenewalReleasesAll(t *testing.T) {
	stage := stageCapture(t, rowlock.Count(2), rowlock.Wait(time.Minute))
	command, _ := stage.nextCapture()
	stage.grant(command, leaseOf("1", time.Minute), provisional("2", time.Second))
	renewal := stage.nextRenewal("2")
	stage.giveUp()
	within(t, "the failure", stage.failed)
	if release := stage.nextRelease(); release.GetLeaseId() != "1" {
		t.Fatal(release)
	}
	stage.renewed(renewal, leaseOf("2", time.Minute))
	if release := stage.nextRelease(); release.GetLeaseId() != "2" {
		t.Fatal(release)
	}
	stage.asksElse()
}

func TestACaptureThatCannotRenewFailsAndGivesBack(t *testing.T) {
	stage := stageCapture(t, rowlock.Count(2), rowlock.Wait(time.Minute))
	command, _ := stage.nextCapture()
	stage.grant(command, leaseOf("1", time.Minute), provisional("2", time.Second))
	stage.refuse(stage.nextRenewal("2"), codes.PermissionDenied)
	err := within(t, "the failure", stage.failed)
	if failed, ok := asType[*rowlock.Error](err); !ok || failed.Code != codes.PermissionDenied {
		t.Fatal(err)
	}
	if release := stage.nextRelease(); release.GetLeaseId() != "1" {
		t.Fatal(release)
	}
}

func TestAnUnansweredCaptureFailsAndIsCancelled(t *testing.T) {
	t.Parallel()
	scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
	client := connect(t, rowlock.Config{Addresses: []string{serve(t, scripted)}, GiveUpAfter: 500 * time.Millisecond})
	_, err := client.Capture(background, rowlock.Prefix("task/"), rowlock.Wait(rowlock.Forever))
	if !errors.Is(err, rowlock.ErrNoServer) {
		t.Fatal(err)
	}
	command := within(t, "the capture", scripted.commands)
	if piece := command.GetCapture().GetMaxWait().AsDuration(); piece > 250*time.Millisecond {
		t.Fatal("the server would be taken for dead before it may answer:", piece)
	}
	if cancel := within(t, "word of it", scripted.commands); cancel.GetCancel() != command.GetCall() {
		t.Fatal(cancel)
	}
}

// leaseLost is the result of a renewal whose lease is over.
func leaseLost() *rowlockv1.SessionResult {
	return &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Error{Error: reasoned(codes.FailedPrecondition, "LEASE_LOST")}}
}

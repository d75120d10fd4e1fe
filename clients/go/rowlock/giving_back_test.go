// What the client gives back: nothing may stay held that no call has returned.

package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	closingClients = 40
	locksOfClosing = 8
	closedAfterMax = 40 * time.Millisecond
)

// heldUnder is how many claims hold or wait for locks under a prefix.
func heldUnder(t *testing.T, client *rowlock.Client, prefix string) uint32 {
	t.Helper()
	held := uint32(0)
	for info, err := range client.ListLocks(background, rowlock.ListOptions{Prefix: prefix, BusyOnly: true}) {
		if err != nil {
			t.Fatal(err)
		}
		held += info.HolderCount + info.WaiterCount
	}
	return held
}

// The first request carries commands before the server has answered.
func TestAClientThatIsClosedBeforeItsConnectionHasOpenedLeavesNothing(t *testing.T) {
	for how, options := range map[string][]rowlock.LockOption{
		"tries":                     {rowlock.Wait(0), rowlock.TTL(longTTL)},
		"waits":                     {rowlock.TTL(longTTL)},
		"leases for ever":           {rowlock.Wait(0), rowlock.TTL(rowlock.Forever)},
		"waits for leases for ever": {rowlock.TTL(rowlock.Forever)},
	} {
		t.Run(how, func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			looker := connectTo(t, sharedAddress(t))
			var clients sync.WaitGroup
			for number := range closingClients {
				client := connectTo(t, sharedAddress(t))
				closeAfter := time.Duration(random.Int64N(int64(closedAfterMax)))
				for lock := range locksOfClosing {
					name := fmt.Sprintf("%s/%d/%d", nameOf(t), number, lock)
					begin(&clients, func() { client.Acquire(background, name, options...) })
				}
				begin(&clients, func() {
					time.Sleep(closeAfter)
					client.Close()
				})
			}
			clients.Wait()
			if held := heldUnder(t, looker, nameOf(t)+"/"); held != 0 {
				t.Errorf("%d locks are held still, seed %d", held, seed)
			}
		})
	}
}

// If the client did not give it back, a lease without end would hold its lock for ever.
func TestAnUnreportedLeaseWithoutEndIsReleased(t *testing.T) {
	t.Parallel()
	for how, options := range map[string][]rowlock.LockOption{
		"a try":  {rowlock.Wait(0)},
		"a wait": nil,
		// Its caller may come back for it.
		"under a chosen id": {rowlock.RequestID(nameOf(t))},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			looker := connectTo(t, sharedAddress(t))
			way := startLine(t, sharedAddress(t), 0)
			client := connect(t, rowlock.Config{Addresses: []string{way.address}, GiveUpAfter: time.Second})
			look(t, client, nameOf(t))
			way.isMuted.Store(true)
			_, err := client.Lock(background, nameOf(t), append(options, rowlock.TTL(rowlock.Forever))...)
			failed, ok := asType[*rowlock.Error](err)
			if !ok || failed.Reason != rowlock.ErrNoServer || failed.Metadata["request_id"] == "" ||
				!strings.Contains(failed.Message, failed.Metadata["request_id"]) {
				t.Fatal(err)
			}
			if look(t, looker, nameOf(t)).HolderCount != 1 {
				t.Fatal("it was not granted, so that there is nothing to give back")
			}
			way.takeDown()
			way.putUp()
			if how == "under a chosen id" {
				mustLock(t, client, nameOf(t), append(options, rowlock.TTL(rowlock.Forever))...).Close()
			}
			until(t, "the lock to be free", func() bool { return look(t, looker, nameOf(t)).HolderCount == 0 })
		})
	}
}

// acquireStage is a client that asks a scripted server for a lock, once or more.
type acquireStage struct {
	*scriptedServer
	t      *testing.T
	client *rowlock.Client
	ends   chan acquireEnd
}

type acquireEnd struct {
	lock    *rowlock.Lock
	refusal *rowlock.Refusal
	err     error
}

func stageAcquire(t *testing.T, giveUpAfter time.Duration) *acquireStage {
	t.Helper()
	scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
	config := rowlock.Config{Addresses: []string{serve(t, scripted)}, GiveUpAfter: giveUpAfter}
	return &acquireStage{scripted, t, connect(t, config), make(chan acquireEnd, 10)}
}

func (s *acquireStage) ask(options ...rowlock.LockOption) *rowlockv1.SessionCommand {
	s.t.Helper()
	go func() {
		options = append([]rowlock.LockOption{rowlock.Wait(0)}, options...)
		lock, refusal, err := s.client.Acquire(background, "x", options...)
		s.ends <- acquireEnd{lock, refusal, err}
	}()
	return s.next()
}

func (s *acquireStage) next() *rowlockv1.SessionCommand {
	s.t.Helper()
	return within(s.t, "a command", s.commands)
}

func (s *acquireStage) end() acquireEnd {
	s.t.Helper()
	return within(s.t, "the end", s.ends)
}

func (s *acquireStage) grant(command *rowlockv1.SessionCommand, lease *rowlockv1.Lease) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Acquire{
		Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Lease{Lease: lease}},
	}})
}

func (s *acquireStage) refuse(command *rowlockv1.SessionCommand, reason rowlockv1.RefusalReason) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Acquire{
		Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Refusal{
			Refusal: &rowlockv1.Refusal{Reason: reason},
		}},
	}})
}

func (s *acquireStage) answerWait(command *rowlockv1.SessionCommand, update *rowlockv1.WaitInQueueResponse) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_WaitInQueue{WaitInQueue: update}})
}

func (s *acquireStage) answerEnded(command *rowlockv1.SessionCommand, end *rowlockv1.ClaimEnd) {
	s.answer(command, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Acquire{
		Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Ended{Ended: end}},
	}})
}

// If the lease ended before the server knew that the client has it, the lock would not record the loss.
func TestAProvisionalLeaseWithTermsIsRenewedBeforeItIsHandedOver(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	lease := &rowlockv1.Lease{LeaseId: "one", LockName: "x", Ttl: durationpb.New(time.Hour), Provisional: true}
	stage.grant(stage.ask(rowlock.LockDelay(time.Minute)), lease)
	renewal := stage.next()
	if renewal.GetRenew().GetLeaseId() != "one" {
		t.Fatal(renewal)
	}
	stage.answer(renewal, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Renew{
		Renew: &rowlockv1.RenewResponse{Lease: &rowlockv1.Lease{LeaseId: "one", LockName: "x", Ttl: durationpb.New(time.Hour)}},
	}})
	if end := stage.end(); end.lock == nil || end.lock.LeaseID() != "one" {
		t.Fatalf("%+v", end)
	}
}

// A request may be in a frozen server, which grants it after the caller has given up.
func TestALeaseWithoutEndIsLookedForUntilItIsFound(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, 100*time.Millisecond)
	first := stage.ask(rowlock.TTL(rowlock.Forever))
	if end := stage.end(); !errors.Is(end.err, rowlock.ErrNoServer) {
		t.Fatal(end.err)
	}
	if cancel := stage.next(); cancel.GetCancel() != first.GetCall() {
		t.Fatal(cancel)
	}
	for range 3 {
		finding := stage.next()
		asked := finding.GetAcquire()
		if asked.GetRequestId() != first.GetAcquire().GetRequestId() || asked.GetEnqueue() == nil {
			t.Fatal(finding)
		}
		stage.refuse(finding, rowlockv1.RefusalReason_REFUSAL_REASON_QUEUE_FULL)
	}
	stage.grant(stage.next(), &rowlockv1.Lease{LeaseId: "late"})
	if release := stage.next().GetRelease(); release.GetLeaseId() != "late" {
		t.Fatal(release)
	}
}

func TestTheClientDoesNotLookForAnUnsentRequest(t *testing.T) {
	t.Parallel()
	client := connect(t, rowlock.Config{Addresses: []string{deadAddress(t)}, GiveUpAfter: 300 * time.Millisecond})
	_, err := client.Lock(background, nameOf(t), rowlock.TTL(rowlock.Forever))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || failed.Reason != rowlock.ErrNoServer || failed.Metadata["request_id"] != "" {
		t.Fatal(err)
	}
	began := time.Now()
	client.Close()
	if took := time.Since(began); took > painfullyLong/2 {
		t.Error(took)
	}
}

// If the client did not repeat the release, a lease without end would hold its lock for ever.
func TestALeaseWithoutEndIsReleasedAsSoonAsAServerAnswers(t *testing.T) {
	t.Parallel()
	looker := connectTo(t, sharedAddress(t))
	way := startLine(t, sharedAddress(t), 0)
	client := connect(t, rowlock.Config{Addresses: []string{way.address}, GiveUpAfter: time.Second})
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(rowlock.Forever))
	way.takeDown()
	if _, err := lock.Release(background); !errors.Is(err, rowlock.ErrNoServer) {
		t.Fatal(err)
	}
	way.putUp()
	until(t, "the lock to be free", func() bool { return look(t, looker, nameOf(t)).HolderCount == 0 })
}

// The server may confirm the lease although the answer to the release is lost.
func TestALeaseThatWillHaveNoEndIsReleasedAsSoonAsAServerAnswers(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, 100*time.Millisecond)
	unconfirmed := &rowlockv1.Lease{LeaseId: "one", LockName: "x", Ttl: durationpb.New(time.Hour), Provisional: true}
	stage.grant(stage.ask(rowlock.TTL(rowlock.Forever)), unconfirmed)
	if _, err := stage.end().lock.Release(background); !errors.Is(err, rowlock.ErrNoServer) {
		t.Fatal(err)
	}
	first, cancel, second := stage.next(), stage.next(), stage.next()
	if first.GetRelease().GetLeaseId() != "one" || cancel.GetCancel() != first.GetCall() ||
		second.GetRelease().GetLeaseId() != "one" {
		t.Fatal(first, cancel, second)
	}
}

func TestATTLTooShortForTheRoundTripIsAnError(t *testing.T) {
	t.Parallel()
	looker := connectTo(t, sharedAddress(t))
	way := startLine(t, sharedAddress(t), 350*time.Millisecond)
	client := connectTo(t, way.address)
	for how, ask := range map[string]func() error{
		"a lock": func() error {
			_, err := client.Lock(background, nameOf(t), rowlock.TTL(time.Second))
			return err
		},
		"a capture": func() error {
			_, err := client.Capture(background, rowlock.Names(nameOf(t)+"/task"), rowlock.TTL(time.Second))
			return err
		},
	} {
		if err := ask(); !errors.Is(err, rowlock.ErrTTLTooShort) {
			t.Error(how, err)
		}
	}
	until(t, "the locks to be free", func() bool { return heldUnder(t, looker, nameOf(t)) == 0 })
	mustLock(t, client, nameOf(t), rowlock.TTL(time.Minute))
}

func TestACancelledWaitKeepsThePlaceForOtherCallsWithItsRequestID(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	holder := mustLock(t, client, nameOf(t))
	waits := make(chan acquireEnd)
	wait := func(ctx context.Context) {
		lock, err := client.Lock(ctx, nameOf(t), rowlock.RequestID(nameOf(t)))
		waits <- acquireEnd{lock: lock, err: err}
	}
	first, giveUpFirst := context.WithCancel(background)
	defer giveUpFirst()
	go wait(first)
	until(t, "the place", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	second, giveUpSecond := context.WithCancel(background)
	defer giveUpSecond()
	placed := make(chan rowlock.Place, 10)
	go func() {
		lock, err := client.Lock(second, nameOf(t), rowlock.RequestID(nameOf(t)),
			rowlock.OnPosition(func(place rowlock.Place) { placed <- place }))
		waits <- acquireEnd{lock: lock, err: err}
	}()
	within(t, "the same place", placed)
	giveUpFirst()
	if end := within(t, "the end of the first", waits); !errors.Is(end.err, rowlock.ErrCancelled) {
		t.Fatal(end.err)
	}
	if _, err := holder.Release(background); err != nil {
		t.Fatal(err)
	}
	end := within(t, "the grant", waits)
	if end.err != nil {
		t.Fatal(end.err)
	}
	// The last call that gives up also gives the place up.
	third, giveUpThird := context.WithCancel(background)
	go func() {
		lock, err := client.Lock(third, nameOf(t))
		waits <- acquireEnd{lock: lock, err: err}
	}()
	until(t, "a place", func() bool { return look(t, client, nameOf(t)).WaiterCount == 1 })
	giveUpThird()
	within(t, "the end of the third", waits)
	until(t, "nobody to wait", func() bool { return look(t, client, nameOf(t)).WaiterCount == 0 })
}

// The second call's answer was on its way when another call under the request id released the lease. By now others may
// hold the lock.
func TestAReleasedLeaseIsNotALockAgain(t *testing.T) {
	t.Parallel()
	stage := stageAcquire(t, time.Hour)
	lease := &rowlockv1.Lease{LeaseId: "one", LockName: "x", FencingToken: 1, Ttl: durationpb.New(time.Hour)}
	first := stage.ask(rowlock.RequestID("mine"))
	second := stage.ask(rowlock.RequestID("mine"))
	stage.grant(first, lease)
	lock := stage.end().lock
	go lock.Release(background)
	if release := stage.next(); release.GetRelease().GetLeaseId() != "one" {
		t.Fatal(release)
	}
	stage.grant(second, lease)
	again := stage.next()
	if again.GetAcquire().GetRequestId() != "mine" {
		t.Fatal(again)
	}
	stage.answerEnded(again, &rowlockv1.ClaimEnd{Reason: rowlockv1.EndReason_END_REASON_RELEASED})
	if end := stage.end(); end.lock != nil || end.refusal.Reason != rowlock.ErrReleased {
		t.Fatalf("%+v", end)
	}
}

// A lease that was lost by this client's own clock may be granted again, because the server still keeps it.
func TestALostLockDoesNotEndALeaseGrantedAgain(t *testing.T) {
	t.Parallel()
	client, sleep := connectSleeper(t)
	first := mustLock(t, client, nameOf(t), rowlock.TTL(time.Minute), rowlock.RequestID(nameOf(t)))
	sleep(59 * time.Second)
	if first.State() != rowlock.Lost {
		t.Fatal(first.State())
	}
	second := mustLock(t, client, nameOf(t), rowlock.TTL(time.Minute), rowlock.RequestID(nameOf(t)))
	if second.LeaseID() != first.LeaseID() || second == first {
		t.Fatal("not the same lease")
	}
	first.Close()
	// The server answers this read after anything that Close has sent.
	if look(t, client, nameOf(t)).HolderCount != 1 || second.State() != rowlock.Held {
		t.Fatal("ended by the first one", second.Err())
	}
	if released, err := client.Release(background, second.LeaseID()); !released || err != nil || second.State() != rowlock.Released {
		t.Fatal(released, err, second.State())
	}
}

func TestALeaseWithoutEndIsGivenBackAfterItsClientWasClosed(t *testing.T) {
	t.Parallel()
	looker := connectTo(t, sharedAddress(t))
	for how, hold := range map[string]func(client *rowlock.Client, way *line, name string){
		"that was held": func(client *rowlock.Client, way *line, name string) {
			mustLock(t, client, name, rowlock.TTL(rowlock.Forever))
		},
		"that nobody heard of": func(client *rowlock.Client, way *line, name string) {
			look(t, client, name)
			way.isMuted.Store(true)
			go client.Lock(background, name, rowlock.TTL(rowlock.Forever))
			until(t, "the grant", func() bool { return look(t, looker, name).HolderCount == 1 })
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			way := startLine(t, sharedAddress(t), 0)
			client := connectTo(t, way.address)
			hold(client, way, nameOf(t))
			way.takeDown()
			client.Close()
			way.putUp()
			until(t, "the lock to be free", func() bool { return look(t, looker, nameOf(t)).HolderCount == 0 })
		})
	}
}

// The caller gives up while the server takes the locks, so no caller gets them.
func TestACaptureCancelledAtItsGrantLeavesNoLock(t *testing.T) {
	t.Parallel()
	// With this grace period, nothing ends by itself while the test waits.
	running := startServer(t, "127.0.0.1:0", freshDatabase(t), "--grace", "10m")
	const rounds, tasks = 12, 30
	for way, addressOf := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			looker := connectTo(t, running.address)
			client := connectTo(t, addressOf(t, running.address))
			look(t, client, nameOf(t))
			for round := range rounds {
				prefix := fmt.Sprintf("%s/%d/", nameOf(t), round)
				options := []rowlock.CaptureOption{rowlock.Prefix(prefix), rowlock.Count(tasks), rowlock.TTL(longTTL)}
				if round%2 == 0 {
					options = append(options, rowlock.Wait(time.Minute))
				}
				for task := range tasks {
					update(t, looker, fmt.Sprint(prefix, task), rowlock.Status("new"))
				}
				ctx, cancel := context.WithTimeout(background, time.Duration(random.Int64N(int64(8*time.Millisecond))))
				captured, err := client.Capture(ctx, options...)
				cancel()
				for _, lock := range captured.Locks {
					lock.Close()
				}
				if err != nil && !errors.Is(err, rowlock.ErrCancelled) {
					t.Fatal(err)
				}
				until(t, fmt.Sprint("nothing to be held, seed ", seed), func() bool { return heldUnder(t, looker, prefix) == 0 })
			}
		})
	}
}

// Lost connections, cancelled calls, calls without an answer and repeats, all at once: what no call returns is given
// back.
func TestNothingStaysHeldWhenConnectionsKeepBreaking(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	// With this grace period, nothing ends by itself while the test waits.
	running := startServer(t, "127.0.0.1:0", freshDatabase(t), "--grace", "10m")
	looker := connectTo(t, running.address)
	way := startLine(t, running.address, 0)
	over := make(chan struct{})
	var cutting, working sync.WaitGroup
	begin(&cutting, func() {
		random := rand.New(rand.NewPCG(seed, 0))
		for {
			select {
			case <-over:
				way.putUp()
				return
			case <-time.After(time.Duration(random.IntN(150)) * time.Millisecond):
			}
			way.isMuted.Store(random.IntN(2) == 0)
			time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			way.takeDown()
			time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			way.putUp()
		}
	})
	var closing []*rowlock.Client
	for number := range 6 {
		client := connect(t, rowlock.Config{Addresses: []string{way.address}, GiveUpAfter: 200 * time.Millisecond})
		closing = append(closing, client)
		for worker := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(1+number*10+worker)))
			begin(&working, func() {
				for turn := range 15 {
					hold(client, looker, random, fmt.Sprintf("%s/%d/%d", nameOf(t), random.IntN(10), turn%3))
				}
			})
		}
	}
	working.Wait()
	close(over)
	cutting.Wait()
	for _, client := range closing {
		begin(&working, func() { client.Close() })
	}
	working.Wait()
	t.Cleanup(func() {
		for info := range looker.ListLocks(background, rowlock.ListOptions{Prefix: nameOf(t), BusyOnly: true}) {
			t.Logf("still busy: %+v", look(t, looker, info.Name))
		}
	})
	until(t, "nothing to be held", func() bool { return heldUnder(t, looker, nameOf(t)) == 0 })
}

// hold asks for locks in one of several ways, and gives up at a random time.
func hold(client, looker *rowlock.Client, random *rand.Rand, name string) {
	ctx, cancel := context.WithTimeout(background, time.Duration(random.Int64N(int64(300*time.Millisecond))))
	defer cancel()
	// Told when a lock stays held.
	how := func(verb string) rowlock.LeaseOption { return rowlock.Labels(map[string]string{"asked by": verb}) }
	var locks []*rowlock.Lock
	switch random.IntN(4) {
	case 0:
		lock, _, _ := client.TryLock(ctx, name, rowlock.TTL(rowlock.Forever), how("TryLock"))
		locks = append(locks, lock)
	case 1:
		lock, _ := client.Lock(ctx, name, rowlock.TTL(rowlock.Forever), how("Lock"))
		locks = append(locks, lock)
	default:
		options := []rowlock.CaptureOption{
			rowlock.Names(name, name+"/more"), rowlock.Count(2), rowlock.TTL(longTTL), how("Capture"),
		}
		if random.IntN(2) == 0 {
			options = append(options, rowlock.Wait(time.Minute))
		}
		captured, _ := client.Capture(ctx, options...)
		for _, lock := range captured.Locks {
			// This line is not cut. Over the other one a release may be lost, and then a lease with a ttl is left to
			// expire.
			looker.Release(background, lock.LeaseID())
			lock.Close()
		}
	}
	for _, lock := range locks {
		if lock != nil {
			lock.Release(ctx)
		}
	}
}

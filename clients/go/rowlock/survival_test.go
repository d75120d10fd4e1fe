// Renewals, losses, and what survives the end of a server.

package rowlock_test

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/internal/clock"
	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(slowTTL))
	for range 2 {
		untilRenewed(t, client, nameOf(t))
	}
	if lock.State() != rowlock.Held || lock.Token() != 1 {
		t.Fatal(lock.State(), lock.Err())
	}
}

// slowTTL is renewed after five seconds, which a busy machine can keep up with.
const slowTTL = 15 * time.Second

// longTTL outlives a restart of the server.
const longTTL = 3 * time.Minute

// untilRenewed waits until the server reports a later end of the first holder's lease.
func untilRenewed(t *testing.T, client *rowlock.Client, name string) {
	t.Helper()
	before := look(t, client, name).Holders[0].ExpiresAt
	until(t, "a renewal", func() bool {
		holders := look(t, client, name).Holders
		return len(holders) == 0 || holders[0].ExpiresAt.After(before)
	})
}

func TestALockIsLostBeforeItsLeaseEnds(t *testing.T) {
	t.Parallel()
	running := startServer(t, "127.0.0.1:0", freshDatabase(t))
	client := connectTo(t, running.address)
	asked := clock.Now()
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(3*time.Second), rowlock.Margin(time.Second))
	other := waitFor(t, connectTo(t, running.address), nameOf(t), 1)
	running.signal(syscall.SIGSTOP)
	// The last renewal may have been just now.
	frozen := clock.Now()
	within(t, "the loss", lock.Done())
	lost := clock.Now()
	if lost > frozen+3*time.Second || lost < asked+time.Second {
		t.Errorf("lost %v after the server was frozen", lost-frozen)
	}
	if err := lock.Err(); !errors.Is(err, rowlock.ErrLeaseLost) || lock.State() != rowlock.Lost || lock.Remaining() != 0 {
		t.Error(err, lock.State(), lock.Remaining())
	}
	running.signal(syscall.SIGCONT)
	if next := within(t, "the next grant", other); next.Token() != 2 {
		t.Error(next.Token())
	}
	if released, err := lock.Release(background); released || err != nil {
		t.Error(released, err)
	}
}

func TestASleepIsNoticedByTheClock(t *testing.T) {
	t.Parallel()
	client, sleep := connectSleeper(t)
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(time.Minute))
	ctx, cancel := lock.Context(background)
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	sleep(59 * time.Second)
	// At once, without waiting for a timer.
	if ctx.Err() == nil || lock.State() != rowlock.Lost || !errors.Is(lock.Err(), rowlock.ErrLeaseLost) {
		t.Fatal(ctx.Err(), lock.State(), lock.Err())
	}
	select {
	case <-ctx.Done():
	default:
		t.Fatal("the context is not cancelled")
	}
}

// connectSleeper makes a client on a machine that can be put to sleep.
func connectSleeper(t *testing.T) (*rowlock.Client, func(time.Duration)) {
	t.Helper()
	var slept atomic.Int64
	now := func() time.Duration { return clock.Now() + time.Duration(slept.Load()) }
	config := rowlock.Config{Addresses: []string{sharedAddress(t)}}
	client, err := rowlock.ConnectWithClock(config, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client, func(asLong time.Duration) { slept.Add(int64(asLong)) }
}

func TestLocksAndPlacesOutliveAServer(t *testing.T) {
	t.Parallel()
	database := freshDatabase(t)
	running := startServer(t, "127.0.0.1:0", database)
	client := connectTo(t, running.address)
	kept := mustLock(t, client, nameOf(t), rowlock.TTL(longTTL))
	endless := mustLock(t, client, nameOf(t)+"/endless", rowlock.TTL(rowlock.Forever))
	var granted []<-chan *rowlock.Lock
	for place := range 5 {
		granted = append(granted, waitFor(t, client, nameOf(t), uint32(place+1)))
	}
	running.end(syscall.SIGTERM)
	until(t, "the loss of the server", func() bool { return kept.State() == rowlock.Uncertain })
	if endless.State() != rowlock.Uncertain {
		t.Error(endless.State())
	}
	startServer(t, running.address, database)
	until(t, "the next renewal", func() bool { return kept.State() == rowlock.Held })
	until(t, "the renewal without end", func() bool { return endless.State() == rowlock.Held })
	if released, err := kept.Release(background); !released || err != nil {
		t.Error(released, err)
	}
	for place, grant := range granted {
		lock := within(t, "a grant", grant)
		if lock.Token() != uint64(place+2) {
			t.Errorf("place %d was granted as %d", place, lock.Token())
		}
		lock.Close()
	}
}

func TestAServerThatDiesIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	database := freshDatabase(t)
	running := startServer(t, "127.0.0.1:0", database)
	var seen sync.Mutex
	var events []rowlock.ConnectionEvent
	client := connect(t, rowlock.Config{
		Addresses: []string{deadAddress(t), running.address},
		OnConnection: func(event rowlock.ConnectionEvent) {
			seen.Lock()
			defer seen.Unlock()
			events = append(events, event)
		},
	})
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(longTTL))
	running.end(syscall.SIGKILL)
	startServer(t, running.address, database)
	until(t, "the next connection", func() bool {
		seen.Lock()
		defer seen.Unlock()
		last := events[len(events)-1]
		return len(events) > 2 && last.IsConnected && last.Address == running.address && last.Replica != ""
	})
	until(t, "the renewal", func() bool { return lock.State() == rowlock.Held })
}

func TestAFrozenServerIsNoticed(t *testing.T) {
	t.Parallel()
	running := startServer(t, "127.0.0.1:0", freshDatabase(t), "--grace", "1s")
	told := make(chan rowlock.ConnectionEvent, 10)
	client := connect(t, rowlock.Config{
		Addresses:    []string{running.address},
		OnConnection: func(event rowlock.ConnectionEvent) { told <- event },
	})
	lock := mustLock(t, client, nameOf(t), rowlock.TTL(longTTL))
	within(t, "the connection", told)
	running.signal(syscall.SIGSTOP)
	if event := within(t, "the silence", told); event.IsConnected || event.Err == nil {
		t.Errorf("%+v", event)
	}
	running.signal(syscall.SIGCONT)
	until(t, "the renewal", func() bool { return lock.State() == rowlock.Held })
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	client := connect(t, rowlock.Config{Addresses: []string{deadAddress(t)}, GiveUpAfter: 300 * time.Millisecond})
	_, err := client.Lock(background, nameOf(t))
	if !errors.Is(err, rowlock.ErrNoServer) {
		t.Fatal(err)
	}
	_, err = client.GetLock(background, nameOf(t))
	if !errors.Is(err, rowlock.ErrNoServer) {
		t.Fatal(err)
	}
}

// deadAddress is an address where nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestManyWaitsDoNotDelayRenewals(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	kept := mustLock(t, client, nameOf(t)+"/kept", rowlock.TTL(slowTTL))
	held := mustLock(t, client, nameOf(t))
	const waits = 1_500
	granted := make(chan *rowlock.Lock, waits)
	for range waits {
		go func() {
			lock, err := client.Lock(background, nameOf(t))
			if err != nil {
				t.Error(err)
			}
			granted <- lock
		}()
	}
	until(t, "all to wait", func() bool { return look(t, client, nameOf(t)).WaiterCount == waits })
	untilRenewed(t, client, nameOf(t)+"/kept")
	if _, err := client.SetLimit(background, rowlock.ForName(nameOf(t)), waits+1); err != nil {
		t.Fatal(err)
	}
	tokens := map[uint64]bool{}
	for range waits {
		tokens[within(t, "a grant", granted).Token()] = true
	}
	if len(tokens) != waits || kept.State() != rowlock.Held || held.State() != rowlock.Held {
		t.Fatal(len(tokens), kept.State(), kept.Err(), held.State())
	}
}

package rowlock_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	rowlock "github.com/rowlock/rowlock/clients/go"
)

const (
	closingClients = 40
	locksOfClosing = 8
	closedAfterMax = 40 * time.Millisecond
)

// heldUnder is how many locks under a prefix are held.
func heldUnder(t *testing.T, client *rowlock.Client, prefix string) uint32 {
	t.Helper()
	held := uint32(0)
	for info, err := range client.ListLocks(background, rowlock.ListOptions{Prefix: prefix, BusyOnly: true}) {
		if err != nil {
			t.Fatal(err)
		}
		held += info.HolderCount
	}
	return held
}

// Commands travel in the first request, before the server has said anything.
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
					clients.Go(func() { client.Acquire(background, name, options...) })
				}
				clients.Go(func() {
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

// Watches: their snapshots and changes, over connections of both kinds.

package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// watching runs a watch, which ends with the test, and returns its updates in short.
func watching(t *testing.T, client *rowlock.Client, prefix string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	t.Cleanup(cancel)
	updates := make(chan string, 100)
	go func() {
		for update, err := range client.Watch(ctx, prefix) {
			if err != nil {
				updates <- err.Error()
				return
			}
			said := []string{}
			for _, lock := range update.Locks {
				said = append(said, fmt.Sprintf("%s %d", strings.TrimPrefix(lock.Name, prefix), lock.HolderCount))
			}
			for _, name := range update.Deleted {
				said = append(said, strings.TrimPrefix(name, prefix)+" gone")
			}
			if update.BeganAnew {
				said = append(said, "anew")
			}
			if update.Complete {
				said = append(said, "complete")
			}
			updates <- strings.Join(said, ", ")
		}
	}()
	return updates
}

func TestAWatchReportsASnapshotAndThenChanges(t *testing.T) {
	t.Parallel()
	for way, address := range map[string]string{
		"over a session": sharedAddress(t),
		"without one":    startRefusingProxy(t, sharedAddress(t), refusals["unimplemented"]),
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			client := connectTo(t, address)
			prefix := nameOf(t) + "/"
			held := mustLock(t, client, prefix+"1")
			updates := watching(t, client, prefix)
			expect := func(expected string) {
				t.Helper()
				if update := within(t, expected, updates); update != expected {
					t.Fatalf("%q instead of %q", update, expected)
				}
			}
			expect("1 1, complete")
			if _, err := client.UpdateRecord(background, prefix+"2", rowlock.Status("new")); err != nil {
				t.Fatal(err)
			}
			expect("2 0")
			held.Close()
			expect("1 0")
		})
	}
}

func TestAWatchGoesOnOverAnotherConnectionWithANewSnapshot(t *testing.T) {
	t.Parallel()
	line := startLine(t, sharedAddress(t), 0)
	client, other := connectTo(t, line.address), connectTo(t, sharedAddress(t))
	prefix := nameOf(t) + "/"
	mustLock(t, other, prefix+"1")
	updates := watching(t, client, prefix)
	if update := within(t, "the snapshot", updates); update != "1 1, complete" {
		t.Fatal(update)
	}
	line.takeDown()
	mustLock(t, other, prefix+"2")
	line.putUp()
	if update := within(t, "the new snapshot", updates); update != "1 1, 2 1, anew, complete" {
		t.Fatal(update)
	}
}

func TestASlowReaderOfAWatchGetsOnlyTheLatestStates(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	other := connectTo(t, sharedAddress(t))
	prefix := nameOf(t) + "/"
	updates := 0
	for update, err := range client.Watch(background, prefix) {
		if err != nil {
			t.Fatal(err)
		}
		updates++
		if len(update.Locks) > 1 {
			t.Fatal("a lock has two states in one update")
		}
		if len(update.Locks) == 1 && update.Locks[0].LastToken == 20 && update.Locks[0].HolderCount == 0 {
			break
		}
		if updates == 1 {
			for range 20 {
				mustLock(t, other, prefix+"1").Close()
			}
		}
	}
	if updates > 15 {
		t.Error("it has read each state:", updates)
	}
}

func TestAWatchEndsWithItsContextAndWithItsClient(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	for _, err := range client.Watch(ctx, nameOf(t)) {
		if err != nil {
			if !errors.Is(err, rowlock.ErrCancelled) {
				t.Fatal(err)
			}
			break
		}
		cancel()
	}
	updates := watching(t, client, nameOf(t))
	within(t, "the snapshot", updates)
	client.Close()
	if update := within(t, "the end", updates); !strings.Contains(update, "CLOSED") {
		t.Error(update)
	}
}

// What a client reports to the Telemetry and the Logger of its configuration.

package rowlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// recorder is a Telemetry that remembers.
type recorder struct {
	mu sync.Mutex
	// ended are the spans that have ended: their names, failures and attributes.
	ended   []string
	held    int
	waiting int
	waits   int
	lost    []string
	late    int
}

type recordedSpan struct {
	recorder   *recorder
	name       string
	attributes []slog.Attr
}

func (r *recorder) Start(ctx context.Context, name string, _ bool, attributes ...slog.Attr) (context.Context, rowlock.Span) {
	return ctx, &recordedSpan{r, name, attributes}
}

func (s *recordedSpan) End(failure rowlock.Reason, attributes ...slog.Attr) {
	s.recorder.note(func() {
		text := fmt.Sprintf("%s %q", s.name, string(failure))
		for _, one := range append(s.attributes, attributes...) {
			if !strings.HasPrefix(one.Key, "rowlock.lock.") {
				text += " " + strings.TrimPrefix(one.String(), "rowlock.")
			}
		}
		s.recorder.ended = append(s.recorder.ended, text)
	})
}

func (r *recorder) Traceparent(context.Context) string { return "" }
func (r *recorder) Held(by int)                        { r.note(func() { r.held += by }) }
func (r *recorder) Waiting(by int)                     { r.note(func() { r.waiting += by }) }
func (r *recorder) Waited(time.Duration)               { r.note(func() { r.waits++ }) }
func (r *recorder) Lost(reason string)                 { r.note(func() { r.lost = append(r.lost, reason) }) }
func (r *recorder) RenewalLate()                       { r.note(func() { r.late++ }) }

func (r *recorder) note(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
}

// spans are the spans that have ended since the last call.
func (r *recorder) spans() (spans []string) {
	r.note(func() { spans, r.ended = r.ended, nil })
	return spans
}

func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	if found := r.spans(); strings.Join(found, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%s\n\nis not\n\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// lines is where a logger writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		missing := func(part string) bool { return !strings.Contains(line, part) }
		if !anyOf(parts, missing) {
			return true
		}
	}
	return false
}

// count is the number of lines with this part.
func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func anyOf(parts []string, is func(string) bool) bool {
	for _, part := range parts {
		if is(part) {
			return true
		}
	}
	return false
}

// watched is a client, and what it reports.
func watched(t *testing.T, config rowlock.Config) (*rowlock.Client, *recorder, *lines) {
	recorder, written := &recorder{}, &lines{}
	config.Telemetry = recorder
	config.Logger = slog.New(slog.NewTextHandler(written, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return connect(t, config), recorder, written
}

func TestSpansSayHowARequestWent(t *testing.T) {
	t.Parallel()
	client, recorder, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	first := mustLock(t, client, nameOf(t))
	recorder.expect(t, `rowlock.lock "" outcome=granted waited=false fencing_token=1`)
	_, _, _ = client.TryLock(background, nameOf(t))
	recorder.expect(t, `rowlock.lock "" outcome=busy waited=false`)
	_, _ = client.Lock(background, nameOf(t), rowlock.Wait(time.Millisecond))
	recorder.expect(t, `rowlock.lock "" outcome=timed_out waited=true`)
	bored, giveUp := context.WithCancel(background)
	_, _ = client.Lock(bored, nameOf(t), rowlock.OnPosition(func(rowlock.Place) { giveUp() }))
	recorder.expect(t, `rowlock.lock "" waited=true outcome=cancelled`)
	granted := make(chan error)
	var waiting []int
	go func() {
		_, err := client.Lock(background, nameOf(t), rowlock.OnPosition(func(rowlock.Place) {
			recorder.note(func() { waiting = append(waiting, recorder.waiting) })
			go first.Close()
		}))
		granted <- err
	}()
	if err := within(t, "the second lock", granted); err != nil {
		t.Fatal(err)
	}
	recorder.expect(t, `rowlock.lock "" outcome=granted waited=true fencing_token=2`)
	recorder.note(func() {
		if recorder.waits != 2 {
			t.Errorf("%d waits of two grants", recorder.waits)
		}
		if waiting[0] != 1 || recorder.waiting != 0 {
			t.Errorf("%v waited, and %d when none does", waiting, recorder.waiting)
		}
	})
	_, err := client.Lock(background, nameOf(t), rowlock.TTL(time.Millisecond))
	if !errors.Is(err, rowlock.ErrBadRequest) {
		t.Fatal(err)
	}
	recorder.expect(t, `rowlock.lock "BAD_REQUEST" waited=false outcome=error`)
}

func TestACaptureSaysHowManyLocksItTook(t *testing.T) {
	t.Parallel()
	client, recorder, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	names := rowlock.Names(nameOf(t)+"/1", nameOf(t)+"/2")
	captured, err := client.Capture(background, names, rowlock.Count(2))
	if err != nil {
		t.Fatal(err)
	}
	untilHeld(t, recorder, 2)
	_, _ = client.Capture(background, names)
	_, _ = client.Capture(background, rowlock.Names())
	recorder.expect(t, `rowlock.capture "" captured=2`, `rowlock.capture "" captured=0`,
		`rowlock.capture "BAD_REQUEST" captured=0 outcome=error`)
	for _, lock := range captured.Locks {
		lock.Close()
	}
	untilHeld(t, recorder, 0)
}

// untilHeld polls, because the count changes right after the turn in which the lease does.
func untilHeld(t *testing.T, recorder *recorder, count int) {
	t.Helper()
	until(t, "the count of held leases", func() (isSo bool) {
		recorder.note(func() { isSo = recorder.held == count })
		return isSo
	})
}

func TestALossEndsTheSpanOfTheWorkAndIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	client, recorder, log := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	lost := `rowlock.hold "LEASE_LOST" fencing_token=1 lost=true reason=force_released`
	err := client.WithLock(background, nameOf(t), func(ctx context.Context, lock *rowlock.Lock) error {
		recorder.spans()
		if _, err := client.ForceRelease(background, nameOf(t), "test"); err != nil {
			return err
		}
		<-ctx.Done()
		until(t, "the span has ended while the work goes on", func() bool {
			spans := recorder.spans()
			return len(spans) == 1 && spans[0] == lost
		})
		return nil
	})
	if !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
	recorder.expect(t)
	untilHeld(t, recorder, 0)
	until(t, "the loss is counted", func() (isSo bool) {
		recorder.note(func() { isSo = strings.Join(recorder.lost, " ") == "force_released" })
		return isSo
	})
	until(t, "the loss is logged", func() bool {
		return log.has("WARN", "a lock is lost", "lock="+nameOf(t), "fencing_token=1", "reason=force_released")
	})
}

func TestTheEndOfTheCallersContextDoesNotEndTheSpanOfTheWork(t *testing.T) {
	t.Parallel()
	client, recorder, _ := watched(t, rowlock.Config{Addresses: []string{sharedAddress(t)}})
	ctx, cancel := context.WithCancel(background)
	err := client.WithLock(ctx, nameOf(t), func(ctx context.Context, lock *rowlock.Lock) error {
		recorder.spans()
		cancel()
		<-ctx.Done()
		if _, err := client.ForceRelease(background, nameOf(t), "test"); err != nil {
			return err
		}
		<-lock.Done()
		return nil
	})
	if !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
	recorder.expect(t, `rowlock.hold "LEASE_LOST" fencing_token=1 lost=true reason=force_released`)
}

func TestTheLogNamesEachConnectionThatOpensOrEnds(t *testing.T) {
	t.Parallel()
	running := startServer(t, "127.0.0.1:0", freshDatabase(t))
	client, _, log := watched(t, rowlock.Config{Addresses: []string{running.address}})
	mustLock(t, client, nameOf(t), rowlock.TTL(rowlock.Forever))
	address := "address=" + running.address
	until(t, "the connection is logged", func() bool {
		return log.has("DEBUG", "rowlock: connected", address, "via=session", "replica=")
	})
	running.end(syscall.SIGTERM)
	until(t, "the end is logged", func() bool {
		return log.has("INFO", "the server is going away", address) &&
			log.has("WARN", "the connection is lost", address, "reason=SHUTTING_DOWN", "error=")
	})
	until(t, "a try that fails is for debugging", func() bool { return log.has("DEBUG", "no connection", address) })
	until(t, "that no server answers is logged", func() bool {
		return log.has("WARN", "no server answers", running.address+": nobody listens there")
	})
	if log.has("ERROR") {
		t.Error("a server that stops is no error")
	}
}

func TestRefusedCredentialsAreLoggedAsAnError(t *testing.T) {
	t.Parallel()
	client, _, log := watched(t, rowlock.Config{
		Addresses: []string{sharedAddress(t)}, Token: rowlock.TokenFile("/no/such/file"), GiveUpAfter: painfullyLong,
	})
	if _, err := client.Lock(background, nameOf(t)); !errors.Is(err, rowlock.ErrCredentialsMissing) {
		t.Fatal(err)
	}
	until(t, "the refusal is logged", func() bool {
		return log.has("ERROR", "no server accepts this client", "reason=CREDENTIALS_MISSING")
	})
}

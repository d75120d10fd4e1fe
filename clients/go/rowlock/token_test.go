// Who calls: tokens that are missing, wrong, expired and renewed.

package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	oldToken = "old-secret"
	newToken = "new-secret"
)

// withAndWithoutSessions runs a test behind a guard that takes the old token.
func withAndWithoutSessions(t *testing.T, run func(t *testing.T, g *guard, address string)) {
	t.Parallel()
	for way, isWithoutSessions := range map[string]bool{"a session": false, "calls of their own": true} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g, address := startGuard(t, isWithoutSessions, oldToken)
			run(t, g, address)
		})
	}
}

func TestATokenIsSentAndItsRefusalReported(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		g.refuse("stale-secret", "CREDENTIALS_EXPIRED")
		for reason, token := range map[rowlock.Reason]*rowlock.TokenSource{
			rowlock.ErrCredentialsMissing: nil,
			rowlock.ErrCredentialsWrong:   rowlock.StaticToken("unknown-secret"),
			rowlock.ErrCredentialsExpired: rowlock.StaticToken("stale-secret"),
		} {
			config := rowlock.Config{Addresses: []string{address}, Token: token}
			client := connect(t, config)
			_, err := client.Lock(background, nameOf(t), rowlock.TTL(rowlock.Forever))
			failed, ok := asType[*rowlock.Error](err)
			if !ok || failed.Reason != reason || failed.Code != codes.Unauthenticated {
				t.Fatal(reason, err)
			}
			// No server can hold it for this client.
			if failed.Metadata["request_id"] != "" {
				t.Error(err)
			}
			if text := fmt.Sprintf("%v %+v %+v", err, failed, config.Token); strings.Contains(text, "secret") {
				t.Error(text)
			} else if !strings.Contains(text, "Token of the Config") {
				t.Error("the error does not say what to do:", text)
			}
		}
		client := connect(t, rowlock.Config{Addresses: []string{address}, Token: rowlock.StaticToken(oldToken + "\n")})
		if lock := mustLock(t, client, nameOf(t)); lock.Token() != 1 {
			t.Fatal(lock.Token())
		}
	})
}

// tokenFile is a file with this token, and a function that replaces it.
func tokenFile(t *testing.T, token string) (path string, replace func(string)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "token")
	replace = func(token string) {
		if err := os.WriteFile(path+".new", []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(token)
	return path, replace
}

// A client with a lock, and a place in the queue behind it.
type lockAndPlace struct {
	client  *rowlock.Client
	lock    *rowlock.Lock
	granted chan *rowlock.Lock
	failed  chan error
}

func holdAndWait(t *testing.T, config rowlock.Config) *lockAndPlace {
	t.Helper()
	l := &lockAndPlace{client: connect(t, config), granted: make(chan *rowlock.Lock, 1), failed: make(chan error, 1)}
	l.lock = mustLock(t, l.client, nameOf(t), rowlock.TTL(time.Hour))
	placed := make(chan rowlock.Place, 10)
	go func() {
		next, err := l.client.Lock(background, nameOf(t), rowlock.TTL(time.Hour),
			rowlock.OnPosition(func(place rowlock.Place) { placed <- place }))
		if err != nil {
			l.failed <- err
		} else {
			l.granted <- next
		}
	}()
	within(t, "the place", placed)
	return l
}

// handsOver releases the lock, and waits until the place has got it with the next fencing token.
func (l *lockAndPlace) handsOver(t *testing.T) {
	t.Helper()
	until(t, "the renewal", func() bool { return l.lock.State() == rowlock.Held })
	if wasHeld, err := l.lock.Release(background); err != nil || !wasHeld {
		t.Fatal(wasHeld, err)
	}
	select {
	case next := <-l.granted:
		if next.Token() != l.lock.Token()+1 {
			t.Error(next.Token())
		}
	case err := <-l.failed:
		t.Fatal(err)
	case <-time.After(painfullyLong):
		t.Fatal("no grant")
	}
}

// untilTried waits until the client has tried this token.
func (g *guard) untilTried(t *testing.T, token string) {
	t.Helper()
	for within(t, "the token", g.tries) != token {
	}
}

func TestATokenIsRenewedInTimeWhileALockIsHeld(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		path, replace := tokenFile(t, oldToken)
		l := holdAndWait(t, rowlock.Config{Addresses: []string{address}, Token: rowlock.TokenFile(path)})
		replace(newToken)
		g.accept(newToken)
		g.refuse(oldToken, "CREDENTIALS_EXPIRED")
		g.untilTried(t, newToken)
		l.handsOver(t)
	})
}

// Some editors write the mark, and a server would not know the token with it.
func TestATokenFileMayBeginWithAByteOrderMark(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		path, _ := tokenFile(t, "\ufeff"+oldToken+"\r\n")
		client := connect(t, rowlock.Config{Addresses: []string{address}, Token: rowlock.TokenFile(path)})
		mustLock(t, client, nameOf(t))
	})
}

func TestATokenThatIsRenewedLateCostsNoLockAndNoPlace(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		path, replace := tokenFile(t, oldToken)
		l := holdAndWait(t, rowlock.Config{Addresses: []string{address}, Token: rowlock.TokenFile(path)})
		g.refuse(oldToken, "CREDENTIALS_WRONG")
		if _, err := l.client.GetLock(background, nameOf(t)); !errors.Is(err, rowlock.ErrCredentialsWrong) {
			t.Fatal(err)
		}
		g.accept(newToken)
		replace(newToken)
		l.handsOver(t)
	})
}

func TestAFunctionIsAskedAgainAtOnceAfterARefusal(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		g.refuse("stale", "CREDENTIALS_EXPIRED")
		var asked atomic.Int32
		client := connect(t, rowlock.Config{
			Addresses: []string{address},
			Token: rowlock.TokenFunc(func(context.Context) (string, error) {
				if asked.Add(1) == 1 {
					return "stale", nil
				}
				return oldToken, nil
			}),
		})
		if _, err := client.SetLimit(background, rowlock.ForName(nameOf(t)), 2); err != nil {
			t.Fatal(err)
		}
	})
}

// A fixed token that has expired: calls and waits fail with the reason. The lock stays until its lease ends, and the client
// pauses between its tries.
func TestAFixedTokenThatExpires(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		events := make(chan rowlock.ConnectionEvent, 1_000)
		l := holdAndWait(t, rowlock.Config{
			Addresses: []string{address}, Token: rowlock.StaticToken(oldToken),
			OnConnection: func(event rowlock.ConnectionEvent) { events <- event },
		})
		began := time.Now()
		g.refuse(oldToken, "CREDENTIALS_EXPIRED")
		if _, err := l.client.GetLock(background, nameOf(t)); !errors.Is(err, rowlock.ErrCredentialsExpired) {
			t.Fatal(err)
		}
		if err := within(t, "the end of the wait", l.failed); !errors.Is(err, rowlock.ErrCredentialsExpired) {
			t.Fatal(err)
		}
		for tries := 0; tries < 5; {
			if event := within(t, "an event", events); errors.Is(event.Err, rowlock.ErrCredentialsExpired) {
				tries++
			}
		}
		// The first end may be followed by a try at once; then the pauses are at least half of 100, 200 and 400 ms.
		if took := time.Since(began); took < 350*time.Millisecond {
			t.Errorf("5 tries in %v", took)
		}
		if state := l.lock.State(); state == rowlock.Lost {
			t.Error(state)
		}
		g.accept(oldToken)
		until(t, "the next call", func() bool { _, err := l.client.GetLock(background, nameOf(t)); return err == nil })
	})
}

func TestAWaitWithAPlaceFailsInTheEnd(t *testing.T) {
	withAndWithoutSessions(t, func(t *testing.T, g *guard, address string) {
		path, _ := tokenFile(t, oldToken)
		l := holdAndWait(t, rowlock.Config{
			Addresses: []string{address}, Token: rowlock.TokenFile(path), GiveUpAfter: time.Second,
		})
		g.refuse(oldToken, "CREDENTIALS_EXPIRED")
		if err := within(t, "the end of the wait", l.failed); !errors.Is(err, rowlock.ErrCredentialsExpired) {
			t.Fatal(err)
		}
	})
}

// Another reason than that of a proxy must not make the client try unary calls.
func TestARightThatIsMissingIsNoProxy(t *testing.T) {
	t.Parallel()
	g, address := startGuard(t, false)
	g.refuse(oldToken, "RIGHT_MISSING")
	client := connect(t, rowlock.Config{Addresses: []string{address}, Token: rowlock.StaticToken(oldToken)})
	if _, err := client.Lock(background, nameOf(t)); !errors.Is(err, rowlock.ErrRightMissing) {
		t.Fatal(err)
	}
	g.accept(oldToken)
	mustLock(t, client, nameOf(t))
	events := make(chan rowlock.ConnectionEvent, 10)
	another := connect(t, rowlock.Config{
		Addresses: []string{address}, Token: rowlock.StaticToken(oldToken),
		OnConnection: func(event rowlock.ConnectionEvent) { events <- event },
	})
	if _, err := another.GetLock(background, nameOf(t)); err != nil {
		t.Fatal(err)
	}
	if event := within(t, "the connection", events); event.Via != rowlock.ViaSession {
		t.Error(event)
	}
}

func TestASourceWithoutATokenFailsCalls(t *testing.T) {
	t.Parallel()
	broken := errors.New("the issuer is away")
	empty, _ := tokenFile(t, " ")
	huge, _ := tokenFile(t, strings.Repeat("x", 70_000))
	wide, _ := tokenFile(t, "\xff\xfea\x00-\x00s\x00e\x00c\x00r\x00e\x00t\x00")
	for how, source := range map[string]*rowlock.TokenSource{
		"no such file": rowlock.TokenFile(filepath.Join(t.TempDir(), "none")),
		"empty":        rowlock.TokenFile(empty),
		"more than":    rowlock.TokenFile(huge),
		"UTF-16":       rowlock.TokenFile(wide),
		"visible":      rowlock.StaticToken("a-secret\nof two lines"),
		"issuer":       rowlock.TokenFunc(func(context.Context) (string, error) { return "", broken }),
	} {
		client := connect(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, Token: source})
		_, err := client.Lock(background, nameOf(t))
		if !errors.Is(err, rowlock.ErrCredentialsMissing) || !strings.Contains(err.Error(), how) {
			t.Error(how, err)
		}
		if strings.Contains(err.Error(), "secret") || how == "issuer" && !errors.Is(err, broken) {
			t.Error(err)
		}
	}
}

func TestATokenIsNotSentInPlainText(t *testing.T) {
	t.Parallel()
	token := rowlock.StaticToken("secret")
	for _, address := range []string{
		"locks.example:50051", "10.0.0.1:50051", "[2001:db8::1]:50051", "dns:///locks.example:50051", "128.0.0.1:1", "localhost.example:1",
	} {
		_, err := rowlock.Connect(rowlock.Config{Addresses: []string{"localhost:50051", address}, Token: token})
		mistake, ok := asType[*rowlock.OptionError](err)
		if !ok || mistake.Option != "Token" || !strings.Contains(mistake.Problem, address+" is not encrypted") {
			t.Error(address, err)
		}
		connect(t, rowlock.Config{Addresses: []string{address}, Token: token, AllowTokenInPlaintext: true})
	}
	for _, address := range []string{
		"127.0.0.1:50051", "127.8.9.10:50051", "[::1]:50051", "localhost:50051", "dns:///localhost:50051", "unix:/run/rowlock",
	} {
		connect(t, rowlock.Config{Addresses: []string{address}, Token: token})
	}
}

// Only a change of the policy can help, so the client does not renew as often as after other failures.
func TestARenewalThatIsDeniedIsRepeatedSlowly(t *testing.T) {
	t.Parallel()
	scripted := &scriptedServer{commands: make(chan *rowlockv1.SessionCommand, 10)}
	client := connectTo(t, serve(t, scripted))
	locked := make(chan *rowlock.Lock, 1)
	go func() {
		lock, _ := client.Lock(background, "x", rowlock.Wait(0), rowlock.TTL(6*time.Second))
		locked <- lock
	}()
	lease := &rowlockv1.Lease{LeaseId: "id", LockName: "x", FencingToken: 1, Ttl: durationpb.New(6 * time.Second)}
	scripted.answer(within(t, "the acquire", scripted.commands), &rowlockv1.SessionResult{
		Result: &rowlockv1.SessionResult_Acquire{
			Acquire: &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Lease{Lease: lease}},
		},
	})
	lock := within(t, "the lock", locked)
	denied := func() time.Time {
		renewal := within(t, "the renewal", scripted.commands)
		at := time.Now()
		scripted.answer(renewal, &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_RenewLeases{
			RenewLeases: &rowlockv1.RenewedLeases{Leases: []*rowlockv1.RenewedLease{
				{Outcome: &rowlockv1.RenewedLease_Error{Error: reasoned(codes.PermissionDenied, "RIGHT_MISSING")}},
			}},
		}})
		return at
	}
	first := denied()
	if pause := denied().Sub(first); pause < 900*time.Millisecond {
		t.Error(pause)
	}
	if state := lock.State(); state == rowlock.Lost {
		t.Error(state)
	}
}

func TestASourceThatHangsCountsAsATryThatFailed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	client := connect(t, rowlock.Config{
		Addresses: []string{sharedAddress(t)}, ConnectTimeout: 200 * time.Millisecond,
		Token: rowlock.TokenFunc(func(ctx context.Context) (string, error) {
			if asked.Add(1) == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return oldToken, nil
		}),
	})
	mustLock(t, client, nameOf(t))
}

package rowlockhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/internal/repository"
	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockhttp"
	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

// painfullyLong is how long a test waits before it fails.
const painfullyLong = time.Minute

func start(t *testing.T) *rowlocktest.Server {
	t.Helper()
	return rowlocktest.Start(t, repository.Server())
}

// serve serves this handler under the lock named by the path.
func serve(t *testing.T, client *rowlock.Client, handler http.HandlerFunc, options ...rowlockhttp.Option) string {
	t.Helper()
	byPath := func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") }
	web := httptest.NewServer(rowlockhttp.Serialize(client, byPath, options...)(handler))
	t.Cleanup(web.Close)
	return web.URL
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), painfullyLong)
	t.Cleanup(cancel)
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response, string(text)
}

func TestARequestIsHandledUnderItsLock(t *testing.T) {
	client := start(t).Client(t)
	url := serve(t, client, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			if rowlockhttp.LockOf(r.Context()) != nil {
				t.Error("there is a lock without a name")
			}
			return
		}
		info, err := client.GetLock(r.Context(), "cart")
		if err != nil || info.HolderCount != 1 || info.LastToken != rowlockhttp.LockOf(r.Context()).Token() {
			t.Errorf("%+v %v", info, err)
		}
		io.WriteString(w, "done")
	})
	if response, text := get(t, url+"/cart"); response.StatusCode != http.StatusOK || text != "done" {
		t.Error(response.Status, text)
	}
	get(t, url+"/")
	if info, err := client.GetLock(context.Background(), "cart"); err != nil || info.HolderCount != 0 {
		t.Errorf("%+v %v", info, err)
	}
}

func TestARequestIsRefusedOrWaits(t *testing.T) {
	client := start(t).Client(t)
	held, err := client.Lock(context.Background(), "cart")
	if err != nil {
		t.Fatal(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "done") }
	hasty := serve(t, client, handler, rowlockhttp.With(rowlock.Wait(0)), rowlockhttp.Status(http.StatusLocked))
	if response, text := get(t, hasty+"/cart"); response.StatusCode != http.StatusLocked || !strings.Contains(text, "yourself") {
		t.Error(response.Status, text)
	}
	if _, err := client.UpdateRecord(context.Background(), "later", rowlock.NotBeforeIn(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	response, _ := get(t, serve(t, client, handler, rowlockhttp.With(rowlock.Wait(0)))+"/later")
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "90" {
		t.Error(response.Status, response.Header)
	}
	waits := make(chan struct{})
	patient := serve(t, client, handler, rowlockhttp.With(rowlock.OnPosition(func(rowlock.Place) { close(waits) })))
	go func() {
		<-waits
		held.Close()
	}()
	if response, text := get(t, patient+"/cart"); response.StatusCode != http.StatusOK || text != "done" {
		t.Error(response.Status, text)
	}
}

func TestTheRequestEndsWithItsLock(t *testing.T) {
	server := start(t)
	url := serve(t, server.Client(t), func(w http.ResponseWriter, r *http.Request) {
		if err := server.Lose("cart"); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
		if !errors.Is(context.Cause(r.Context()), rowlock.ErrLeaseLost) {
			t.Error(context.Cause(r.Context()))
		}
		w.WriteHeader(http.StatusConflict)
	})
	if response, _ := get(t, url+"/cart"); response.StatusCode != http.StatusConflict {
		t.Error(response.Status)
	}
}

func TestACallerWhoGoesGivesThePlaceUp(t *testing.T) {
	client := start(t).Client(t)
	if _, err := client.Lock(context.Background(), "cart"); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	url := serve(t, client, func(http.ResponseWriter, *http.Request) { t.Error("it was handled") },
		rowlockhttp.With(rowlock.OnPosition(func(rowlock.Place) { leave() })))
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+"/cart", nil)
	if _, err := http.DefaultClient.Do(request); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(painfullyLong); ; time.Sleep(20 * time.Millisecond) {
		info, err := client.GetLock(context.Background(), "cart")
		if err != nil || time.Now().After(deadline) {
			t.Fatal("its place is kept:", info, err)
		}
		if info.WaiterCount == 0 {
			return
		}
	}
}

func TestWithoutAServerTheAnswerIsThatItIsAway(t *testing.T) {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"127.0.0.1:9"}, GiveUpAfter: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	response, text := get(t, serve(t, client, func(http.ResponseWriter, *http.Request) { t.Error("it was handled") })+"/cart")
	if response.StatusCode != http.StatusServiceUnavailable || strings.Contains(text, "127.0.0.1") {
		t.Error(response.Status, text)
	}
}

// Go's server decodes %ff of a path as it is.
func TestANameThatNoLockCanHaveIsABadRequest(t *testing.T) {
	url := serve(t, start(t).Client(t), func(http.ResponseWriter, *http.Request) { t.Error("it was handled") })
	for _, path := range []string{"/%ff", "/%00", "/" + strings.Repeat("a", 300)} {
		if response, text := get(t, url+path); response.StatusCode != http.StatusBadRequest || response.Header.Get("Retry-After") != "" {
			t.Error(path, response.Status, text)
		}
	}
}

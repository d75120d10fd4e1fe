package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rowlock/rowlock/clients/go/internal/repository"
	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

func TestARequestIsToldItsPlace(t *testing.T) {
	client := rowlocktest.Start(t, repository.Server()).Client(t)
	held, err := client.Lock(context.Background(), "report")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(inTurn(client, "report", func(_ context.Context, w http.ResponseWriter, lock *rowlock.Lock) error {
		_, err := fmt.Fprintf(w, "the report, with fencing token %d\n", lock.Token())
		return err
	}))
	defer web.Close()
	response, err := http.Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for _, expected := range []string{"0 before you", "the report, with fencing token 2"} {
		if !lines.Scan() || lines.Text() != expected {
			t.Fatalf("%q instead of %q", lines.Text(), expected)
		}
		// The first line comes while the lock is held.
		held.Close()
	}
}

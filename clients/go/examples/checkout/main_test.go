package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rowlock/rowlock/clients/go/internal/repository"
	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

func TestACartIsCheckedOutByOneRequestAtATime(t *testing.T) {
	client := rowlocktest.Start(t, repository.Server()).Client(t)
	web := httptest.NewServer(handler(client))
	defer web.Close()
	checkOut := func() (int, string) {
		response, err := http.Post(web.URL+"/carts/7/checkout", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	if status, text := checkOut(); status != http.StatusOK || text != "cart 7 is paid, with fencing token 1\n" {
		t.Fatal(status, text)
	}
	held, err := client.Lock(context.Background(), "cart/7")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if status, text := checkOut(); status != http.StatusLocked {
		t.Fatal(status, text)
	}
}

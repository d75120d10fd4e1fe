// Command checkout serves a checkout that runs once at a time for each cart. A second request for the same cart waits for
// 2 s, and is then refused with 423 Locked:
//
//	go run ./examples/checkout &
//	curl -X POST localhost:8080/carts/7/checkout
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockhttp"
)

func main() {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"127.0.0.1:50051"}})
	if err != nil {
		log.Fatal(err)
	}
	// The program stops as examples/place does; this one is about the middleware.
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler(client)))
}

func handler(client *rowlock.Client) http.Handler {
	perCart := rowlockhttp.Serialize(client,
		func(r *http.Request) string { return "cart/" + r.PathValue("cart") },
		rowlockhttp.With(rowlock.Wait(2*time.Second)), rowlockhttp.Status(http.StatusLocked))
	mux := http.NewServeMux()
	mux.Handle("POST /carts/{cart}/checkout", perCart(http.HandlerFunc(checkout)))
	return mux
}

// checkout stops when the lock is lost, because another request may then run for the same cart.
func checkout(w http.ResponseWriter, r *http.Request) {
	if err := r.Context().Err(); err != nil {
		http.Error(w, "the cart is no longer locked", http.StatusConflict)
		return
	}
	fmt.Fprintf(w, "cart %s is paid, with fencing token %d\n", r.PathValue("cart"), rowlockhttp.LockOf(r.Context()).Token())
}

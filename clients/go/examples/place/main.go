// Command place serves a report that one request at a time may make. Each request is told its place in the queue, line by
// line, while it waits:
//
//	go run ./examples/place &
//	curl -N localhost:8080/report
//	2 before you
//	1 before you
//	0 before you
//	the report, with fencing token 17
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// shutdownWithin is how long requests may take that run when the program is told to stop.
const shutdownWithin = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "127.0.0.1:50051", "127.0.0.1:8080"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, locks, listen string) error {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{locks}})
	if err != nil {
		return err
	}
	defer client.Close()
	mux := http.NewServeMux()
	mux.Handle("GET /report", inTurn(client, "report", func(_ context.Context, w http.ResponseWriter, lock *rowlock.Lock) error {
		_, err := fmt.Fprintf(w, "the report, with fencing token %d\n", lock.Token())
		return err
	}))
	server := &http.Server{Addr: listen, Handler: mux}
	// Before the client is closed, because that would take the locks away from requests that run.
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		leaving, cancel := context.WithTimeout(context.Background(), shutdownWithin)
		defer cancel()
		stopped <- server.Shutdown(leaving)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// inTurn handles one request at a time, and tells the others their places while they wait.
func inTurn(
	client *rowlock.Client, name string, work func(ctx context.Context, w http.ResponseWriter, lock *rowlock.Lock) error,
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		err := client.WithLock(r.Context(), name, func(ctx context.Context, lock *rowlock.Lock) error {
			return work(ctx, w, lock)
		}, rowlock.OnPosition(func(place rowlock.Place) {
			fmt.Fprintf(w, "%d before you\n", place.Ahead)
			// If the caller has gone, the context of the request ends the wait.
			_ = control.Flush()
		}))
		if err != nil && r.Context().Err() == nil {
			fmt.Fprintf(w, "it did not work: %v\n", err)
		}
	})
}

// Command worker takes tasks, four at a time, until it is told to stop; then it finishes those that it has begun. A task is
// a lock in the status "new":
//
//	rowlock update task/7 --status new
//	go run ./examples/worker
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "127.0.0.1:50051", perform); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string, perform func(ctx context.Context, task *rowlock.Lock) error) error {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{address}})
	if err != nil {
		return err
	}
	// After Work, which waits for tasks that run.
	defer client.Close()
	return client.Work(ctx, "task/", perform, rowlock.Concurrency(4), rowlock.IfStatus("new"),
		rowlock.StatusWhenDone("done"), rowlock.StatusIfLost("failed"))
}

// perform does one task. ctx ends if the lock is lost, and not when the program is told to stop.
func perform(ctx context.Context, task *rowlock.Lock) error {
	log.Printf("%s, with fencing token %d", task.Name(), task.Token())
	return ctx.Err()
}

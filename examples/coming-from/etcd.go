package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func main() {
	address := cmp.Or(os.Getenv("ROWLOCK_ADDR"), "127.0.0.1:50051")
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{address}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.WithLock(context.Background(), "etl/load", func(ctx context.Context, lock *rowlock.Lock) error {
		return load(ctx, lock.Token())
	})
	if err != nil {
		log.Fatal(err)
	}
}

// load ends early if ctx is cancelled, because the lock is lost.
func load(ctx context.Context, token uint64) error {
	fmt.Println("loads, with token", token)
	return ctx.Err()
}

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
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	address := cmp.Or(os.Getenv("ROWLOCK_ADDR"), "127.0.0.1:50051")
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{address}})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.WithLock(ctx, "etl/load", func(_ context.Context, lock *rowlock.Lock) error {
		fmt.Println("my turn, with fencing token", lock.Token())
		return nil
	})
}

// Examples for the package documentation.

package rowlock_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func ExampleClient_WithLock() {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"127.0.0.1:50051"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.WithLock(context.Background(), "etl/load", func(ctx context.Context, lock *rowlock.Lock) error {
		fmt.Printf("my turn, with fencing token %d\n", lock.Token())
		return ctx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleClient_Capture() {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"127.0.0.1:50051"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	for {
		captured, err := client.Capture(ctx, rowlock.Prefix("task/"), rowlock.Count(3),
			rowlock.IfStatus("new", "failed"), rowlock.StatusIfLost("failed"), rowlock.Wait(rowlock.Forever))
		if err != nil {
			log.Fatal(err)
		}
		for _, task := range captured.Locks {
			fmt.Printf("%s, with fencing token %d\n", task.Name(), task.Token())
			if _, err := task.Release(ctx, rowlock.Status("done")); err != nil {
				log.Print(err)
			}
		}
	}
}

func ExampleClient_Watch() {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"127.0.0.1:50051"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for update, err := range client.Watch(context.Background(), "etl/") {
		if err != nil {
			log.Fatal(err)
		}
		for _, lock := range update.Locks {
			fmt.Printf("%s: %d hold it, %d wait\n", lock.Name, lock.HolderCount, lock.WaiterCount)
		}
	}
}

func ExampleClient_Work() {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"127.0.0.1:50051"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err = client.Work(ctx, "task/", func(ctx context.Context, task *rowlock.Lock) error {
		fmt.Printf("%s, with fencing token %d\n", task.Name(), task.Token())
		return ctx.Err()
	}, rowlock.Concurrency(4), rowlock.IfStatus("new"), rowlock.StatusWhenDone("done"), rowlock.StatusIfLost("failed"))
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleClient_Lock() {
	client, err := rowlock.Connect(rowlock.Config{Addresses: []string{"locks-1:50051", "locks-2:50051"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock, err := client.Lock(context.Background(), "pool", rowlock.Permits(3), rowlock.Wait(time.Minute),
		rowlock.OnPosition(func(place rowlock.Place) { fmt.Printf("%d before me\n", place.Ahead) }))
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Close()
	select {
	case <-lock.Done():
		log.Fatal(lock.Err())
	case <-time.After(time.Minute):
	}
}

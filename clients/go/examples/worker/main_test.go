package main

import (
	"context"
	"testing"

	"github.com/rowlock/rowlock/clients/go/internal/repository"
	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

func TestTheWorkerFinishesWhatItHasBegun(t *testing.T) {
	server := rowlocktest.Start(t, repository.Server())
	client := server.Client(t)
	if _, err := client.UpdateRecord(context.Background(), "task/7", rowlock.Status("new")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	err := run(ctx, server.Address(), func(ctx context.Context, task *rowlock.Lock) error {
		stop()
		return perform(ctx, task)
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := client.GetLock(context.Background(), "task/7"); err != nil || info.Record.Status != "done" {
		t.Errorf("%+v %v", info, err)
	}
}

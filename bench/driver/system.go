package main

import (
	"context"
	"errors"
	"fmt"
)

var errNoSemaphores = errors.New("has no semaphores")

// A System gives out locks.
type System interface {
	// Caller returns the system as one caller uses it, with its own lease or connection if it needs one.
	Caller(ctx context.Context, index int) (Locks, error)
	// SetLimit makes the name a semaphore; it returns errNoSemaphores if the system has none.
	SetLimit(ctx context.Context, name string, limit uint32) error
}

// Locks takes and releases locks for one caller, which holds one at a time.
type Locks interface {
	// Acquire waits until the lock is held, and returns what Release needs.
	Acquire(ctx context.Context, name string) (held string, err error)
	Release(ctx context.Context, held string) error
}

func connect(ctx context.Context, o options) (System, error) {
	switch o.system {
	case "rowlock":
		return connectRowlock(o)
	case "session":
		return openSessions(ctx, o)
	case "http-json", "http-binary":
		return connectOverHTTP(o, o.system == "http-json"), nil
	case "etcd":
		return connectEtcd(o)
	case "redis":
		return connectRedis(o), nil
	case "zookeeper":
		return connectZookeeper(o), nil
	case "get-lock":
		return connectGetLock(o)
	case "polled-table":
		return connectPolledTable(ctx, o)
	}
	return nil, fmt.Errorf("no such system: %s", o.system)
}

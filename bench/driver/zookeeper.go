package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

const zookeeperSessionTimeout = 30 * time.Second

// zookeeper is used by its lock recipe. Each caller has a session of its own: the recipe takes sessions for holders.
type zookeeper struct{ address string }

func connectZookeeper(o options) System { return &zookeeper{o.address} }

func (z *zookeeper) SetLimit(context.Context, string, uint32) error { return errNoSemaphores }

func (z *zookeeper) Caller(ctx context.Context, _ int) (Locks, error) {
	connection, events, err := zk.Connect([]string{z.address}, zookeeperSessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return &zookeeperCaller{connection: connection}, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

type zookeeperCaller struct {
	connection *zk.Conn
	lock       *zk.Lock
}

func (c *zookeeperCaller) Acquire(_ context.Context, name string) (string, error) {
	c.lock = zk.NewLock(c.connection, "/"+name, zk.WorldACL(zk.PermAll))
	return "", c.lock.Lock()
}

func (c *zookeeperCaller) Release(context.Context, string) error {
	if c.lock == nil {
		return fmt.Errorf("no lock is held")
	}
	return c.lock.Unlock()
}

package main

import (
	"context"

	"rowlock/bench/gen/etcdpb"
)

// No caller renews its lease, so leases outlast every run.
const etcdLeaseSeconds = 3_600

// etcd is called through its lock service. Each caller has its own lease, as with etcd's own clients.
type etcd struct {
	leases []etcdpb.LeaseClient
	locks  []etcdpb.LockClient
}

func connectEtcd(o options) (System, error) {
	connections, err := grpcConnections(o)
	if err != nil {
		return nil, err
	}
	system := &etcd{}
	for _, connection := range connections {
		system.leases = append(system.leases, etcdpb.NewLeaseClient(connection))
		system.locks = append(system.locks, etcdpb.NewLockClient(connection))
	}
	return system, nil
}

func (e *etcd) Caller(ctx context.Context, index int) (Locks, error) {
	lease, err := e.leases[index%len(e.leases)].LeaseGrant(ctx, &etcdpb.LeaseGrantRequest{TTL: etcdLeaseSeconds})
	if err != nil {
		return nil, err
	}
	return &etcdCaller{locks: e.locks[index%len(e.locks)], lease: lease.ID}, nil
}

func (e *etcd) SetLimit(context.Context, string, uint32) error { return errNoSemaphores }

type etcdCaller struct {
	locks etcdpb.LockClient
	lease int64
}

func (c *etcdCaller) Acquire(ctx context.Context, name string) (string, error) {
	response, err := c.locks.Lock(ctx, &etcdpb.LockRequest{Name: []byte(name), Lease: c.lease})
	return string(response.GetKey()), err
}

func (c *etcdCaller) Release(ctx context.Context, held string) error {
	_, err := c.locks.Unlock(ctx, &etcdpb.UnlockRequest{Key: []byte(held)})
	return err
}

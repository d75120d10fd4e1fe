package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// rowlock makes unary calls. The service that does nothing is called in the same way.
type rowlock struct {
	services []rowlockv1.LockServiceClient
}

func connectRowlock(o options) (System, error) {
	connections, err := grpcConnections(o)
	if err != nil {
		return nil, err
	}
	system := &rowlock{}
	for _, connection := range connections {
		system.services = append(system.services, rowlockv1.NewLockServiceClient(connection))
	}
	return system, nil
}

func (r *rowlock) Caller(_ context.Context, index int) (Locks, error) {
	return &rowlockCaller{service: r.services[index%len(r.services)]}, nil
}

func (r *rowlock) SetLimit(ctx context.Context, name string, limit uint32) error {
	_, err := r.services[0].SetLimit(ctx, setLimitRequest(name, limit))
	return err
}

type rowlockCaller struct {
	service rowlockv1.LockServiceClient
}

// Acquire does not confirm a provisional lease by a Renew, because the lease is released immediately.
func (c *rowlockCaller) Acquire(ctx context.Context, name string) (string, error) {
	return c.acquire(ctx, acquireRequest(name, newRequestID()))
}

func (c *rowlockCaller) acquire(ctx context.Context, request *rowlockv1.AcquireRequest) (string, error) {
	response, err := c.service.Acquire(ctx, request)
	if err != nil {
		return "", err
	}
	return leaseIDOf(response)
}

func (c *rowlockCaller) Release(ctx context.Context, held string) error {
	response, err := c.service.Release(ctx, &rowlockv1.ReleaseRequest{LeaseId: held})
	if err != nil {
		return err
	}
	return releasedBy(response)
}

// locksOfClaim is how many locks each claim is for: the named one, and further ones with names of their own.
var locksOfClaim = 1

func acquireRequest(name, requestID string) *rowlockv1.AcquireRequest {
	request := &rowlockv1.AcquireRequest{
		Name: name, RequestId: requestID, WhenBusy: &rowlockv1.AcquireRequest_Wait{Wait: &rowlockv1.Wait{}},
	}
	for further := 1; further < locksOfClaim; further++ {
		wanted := &rowlockv1.WantedLock{Name: name + "/" + strconv.Itoa(further)}
		request.Also = append(request.Also, wanted)
	}
	return request
}

func acquireRequestFor(name, requestID string, ttl time.Duration) *rowlockv1.AcquireRequest {
	request := acquireRequest(name, requestID)
	request.Terms = &rowlockv1.LeaseTerms{Lasting: &rowlockv1.LeaseTerms_Ttl{Ttl: durationpb.New(ttl)}}
	return request
}

func setLimitRequest(name string, limit uint32) *rowlockv1.SetLimitRequest {
	return &rowlockv1.SetLimitRequest{
		Target:   &rowlockv1.SetLimitRequest_Name{Name: name},
		NewLimit: &rowlockv1.SetLimitRequest_Limit{Limit: limit},
	}
}

func leaseIDOf(response *rowlockv1.AcquireResponse) (string, error) {
	lease := response.GetLease()
	if lease == nil {
		return "", fmt.Errorf("no lease but %v", response)
	}
	return lease.LeaseId, nil
}

func releasedBy(response *rowlockv1.ReleaseResponse) error {
	if !response.GetReleased() {
		return fmt.Errorf("the lease was lost before it was released")
	}
	return nil
}

// newRequestID makes a request id as Rowlock's clients do: a UUID of version 7, which rises with the time.
func newRequestID() string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(time.Now().UnixMilli())<<16)
	_, _ = rand.Read(id[6:]) // It never fails: see crypto/rand.
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:])
}

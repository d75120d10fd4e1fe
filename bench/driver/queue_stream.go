package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// queueStream is one WaitInQueue that has its place in the queue.
type queueStream struct {
	stream grpc.ServerStreamingClient[rowlockv1.WaitInQueueResponse]
	// The first reported place.
	first *rowlockv1.Ticket
}

// wait takes a place in the queue, and returns when the place is known.
func (c *rowlockCaller) wait(ctx context.Context, name string) (*queueStream, error) {
	stream, err := c.service.WaitInQueue(ctx, waitRequest(name, newRequestID()))
	if err != nil {
		return nil, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if first.GetPosition() == nil {
		return nil, fmt.Errorf("no place in the queue but %v", first)
	}
	return &queueStream{stream, first.GetPosition()}, nil
}

func (q *queueStream) granted() (*rowlockv1.Lease, error) {
	for {
		update, err := q.stream.Recv()
		if err != nil {
			return nil, err
		}
		if lease := update.GetGranted(); lease != nil {
			return lease, nil
		}
		if update.GetPosition() == nil {
			return nil, fmt.Errorf("the wait has ended: %v", update)
		}
	}
}

func waitRequest(name, requestID string) *rowlockv1.WaitInQueueRequest {
	return &rowlockv1.WaitInQueueRequest{Target: &rowlockv1.WaitInQueueRequest_Request{
		Request: &rowlockv1.QueueRequest{Name: name, RequestId: requestID},
	}}
}

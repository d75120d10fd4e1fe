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

// wait takes a place in the queue, and returns when the place is known. change may change the request.
func (c *rowlockCaller) wait(
	ctx context.Context, name string, change func(*rowlockv1.AcquireRequest),
) (*queueStream, error) {
	request := acquireRequest(name, c.requests.next())
	if change != nil {
		change(request)
	}
	stream, err := c.service.WaitInQueue(ctx, &rowlockv1.WaitInQueueRequest{
		Target: &rowlockv1.WaitInQueueRequest_Acquire{Acquire: request},
	})
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
		if ended := update.GetEnded(); ended != nil {
			return nil, fmt.Errorf("the wait has ended: %v", ended)
		}
	}
}

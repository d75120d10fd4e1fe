package main

import (
	"context"

	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// sessions are Rowlock with all calls over the requested number of sessions, each on its own connection.
type sessions []*session

func openSessions(ctx context.Context, o options) (System, error) {
	connections, err := grpcConnections(o)
	if err != nil {
		return nil, err
	}
	var all sessions
	for _, connection := range connections {
		opened, err := openSession(ctx, rowlockv1.NewLockServiceClient(connection))
		if err != nil {
			return nil, err
		}
		all = append(all, opened)
	}
	return all, nil
}

func (s sessions) Caller(_ context.Context, index int) (Locks, error) {
	return &sessionCaller{session: s[index%len(s)]}, nil
}

func (s sessions) SetLimit(_ context.Context, name string, limit uint32) error {
	_, err := s[0].do(&rowlockv1.SessionCommand{
		Command: &rowlockv1.SessionCommand_SetLimit{SetLimit: setLimitRequest(name, limit)},
	})
	return err
}

type sessionCaller struct {
	session *session
}

func (c *sessionCaller) Acquire(_ context.Context, name string) (string, error) {
	return c.acquire(acquireRequest(name, newRequestID()))
}

func (c *sessionCaller) acquire(request *rowlockv1.AcquireRequest) (string, error) {
	result, err := c.session.do(&rowlockv1.SessionCommand{
		Command: &rowlockv1.SessionCommand_Acquire{Acquire: request},
	})
	if err != nil {
		return "", err
	}
	return leaseIDOf(result.GetAcquire())
}

func (c *sessionCaller) Release(_ context.Context, held string) error {
	result, err := c.session.do(&rowlockv1.SessionCommand{
		Command: &rowlockv1.SessionCommand_Release{Release: &rowlockv1.ReleaseRequest{LeaseId: held}},
	})
	if err != nil {
		return err
	}
	return releasedBy(result.GetRelease())
}

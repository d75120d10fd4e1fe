// A server that demands a token. It passes calls with a good one on to a real server.

package rowlock_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// guard decides by the token of a call. Tokens of which it has not heard are wrong.
type guard struct {
	rowlockv1.UnimplementedLockServiceServer
	to rowlockv1.LockServiceClient
	// isWithoutSessions: the guard refuses sessions as a server that has none.
	isWithoutSessions bool
	// tries are the tokens of sessions, and of all calls if there are no sessions.
	tries chan string

	mu sync.Mutex
	// refusals are the reasons for which tokens are refused; "" for a good one.
	refusals map[string]string
	sessions map[*guardedSession]struct{}
}

type guardedSession struct {
	token string
	// over ends the session with a reason.
	over chan string
}

// startGuard starts a guard that takes these tokens, in front of the shared server.
func startGuard(t *testing.T, isWithoutSessions bool, good ...string) (*guard, string) {
	t.Helper()
	conn, err := grpc.NewClient(sharedAddress(t), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	g := &guard{
		to: rowlockv1.NewLockServiceClient(conn), isWithoutSessions: isWithoutSessions, tries: make(chan string, 10_000),
		refusals: map[string]string{}, sessions: map[*guardedSession]struct{}{},
	}
	for _, token := range good {
		g.accept(token)
	}
	return g, serve(t, g, grpc.UnaryInterceptor(g.check))
}

func (g *guard) accept(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusals[token] = ""
}

// refuse refuses the token from now on, and ends its sessions.
func (g *guard) refuse(token, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusals[token] = reason
	for session := range g.sessions {
		if session.token == token {
			session.over <- reason
		}
	}
}

func (g *guard) refuses(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusals[token] != ""
}

// tokenOf is the token of a call, or why it is refused.
func (g *guard) tokenOf(ctx context.Context) (string, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	values := headers.Get("authorization")
	if len(values) == 0 {
		g.tries <- ""
		return "", refusal("CREDENTIALS_MISSING")
	}
	token := strings.TrimPrefix(strings.Join(values, " and "), "Bearer ")
	g.tries <- token
	g.mu.Lock()
	defer g.mu.Unlock()
	reason, isKnown := g.refusals[token]
	if !isKnown {
		reason = "CREDENTIALS_WRONG"
	}
	if reason != "" {
		return "", refusal(reason)
	}
	return token, nil
}

func refusal(reason string) error {
	code := codes.Unauthenticated
	if reason == "RIGHT_MISSING" {
		code = codes.PermissionDenied
	}
	return status.ErrorProto(reasoned(code, reason))
}

func (g *guard) check(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if _, err := g.tokenOf(ctx); err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

func (g *guard) Acquire(ctx context.Context, request *rowlockv1.AcquireRequest) (*rowlockv1.AcquireResponse, error) {
	return g.to.Acquire(ctx, request)
}

func (g *guard) Renew(ctx context.Context, request *rowlockv1.RenewRequest) (*rowlockv1.RenewResponse, error) {
	return g.to.Renew(ctx, request)
}

func (g *guard) Release(ctx context.Context, request *rowlockv1.ReleaseRequest) (*rowlockv1.ReleaseResponse, error) {
	return g.to.Release(ctx, request)
}

func (g *guard) GetLock(ctx context.Context, request *rowlockv1.GetLockRequest) (*rowlockv1.GetLockResponse, error) {
	return g.to.GetLock(ctx, request)
}

func (g *guard) SetLimit(ctx context.Context, request *rowlockv1.SetLimitRequest) (*rowlockv1.SetLimitResponse, error) {
	return g.to.SetLimit(ctx, request)
}

func (g *guard) Session(stream grpc.BidiStreamingServer[rowlockv1.SessionRequest, rowlockv1.SessionResponse]) error {
	if g.isWithoutSessions {
		return status.Error(codes.Unimplemented, "no sessions")
	}
	token, err := g.tokenOf(stream.Context())
	if err != nil {
		return err
	}
	session := &guardedSession{token: token, over: make(chan string, 1)}
	g.mu.Lock()
	g.sessions[session] = struct{}{}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.sessions, session)
	}()
	to, err := g.to.Session(stream.Context())
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				to.CloseSend()
				return
			}
			to.Send(request)
		}
	}()
	go func() {
		for {
			response, err := to.Recv()
			if err != nil {
				ended <- err
				return
			}
			// The session may still end: what was asked after the refusal gets no answer from it.
			if g.refuses(token) {
				return
			}
			stream.Send(response)
		}
	}()
	select {
	case reason := <-session.over:
		return refusal(reason)
	case err := <-ended:
		return err
	}
}

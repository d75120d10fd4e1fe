// Where a client's token comes from, and where it may be sent.

package rowlock

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

const (
	// tokenBytesMax bounds a file of a token. Servers take headers of a few KiB.
	tokenBytesMax = 64 << 10
	// askAgainAfter is how long unary calls use a token before its source is asked again.
	askAgainAfter = time.Second
)

// TokenSource gives the token by which the servers know who calls: see [StaticToken], [TokenFile] and [TokenFunc]. It
// shows its token to nobody who prints it.
type TokenSource struct {
	ask func(context.Context) (string, error)
	// isFixed: the next answer will be the same.
	isFixed bool
}

// StaticToken is a token that stays the same. When it expires, calls fail with [ErrCredentialsExpired].
func StaticToken(token string) *TokenSource {
	return &TokenSource{isFixed: true, ask: func(context.Context) (string, error) { return token, nil }}
}

// TokenFile reads the token from a file. The client reads the file again when it opens a connection, so whoever renews
// the token replaces the file. Space around the token does not count.
func TokenFile(path string) *TokenSource {
	return &TokenSource{ask: func(context.Context) (string, error) {
		file, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, tokenBytesMax+1))
		if err == nil && len(text) > tokenBytesMax {
			err = fmt.Errorf("%s has more than %d bytes, which is no token", path, tokenBytesMax)
		}
		if err == nil {
			text, err = withoutMark(path, text)
		}
		return string(text), err
	}}
}

// withoutMark skips the byte order mark of UTF-8, which some editors write, and names that of UTF-16.
func withoutMark(path string, text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s begins with the byte order mark of UTF-16: save it as UTF-8", path)
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), nil
}

// TokenFunc asks a function for the token when the client opens a connection, and about once a second while it makes
// unary calls. The function must return when its context is done. It should return the same token until a little before
// that expires.
func TokenFunc(ask func(context.Context) (string, error)) *TokenSource {
	return &TokenSource{ask: ask}
}

// tokenInUse is the token of one connection, as gRPC asks for it with each call.
type tokenInUse struct {
	source *TokenSource
	// ctx is done when the connection has ended.
	ctx   context.Context
	turns *turns

	mu       sync.Mutex
	token    string
	askedAt  time.Time
	isAsking bool
}

// openToken asks for the first token of a connection.
func openToken(ctx context.Context, turns *turns, source *TokenSource) (*tokenInUse, *Error) {
	token, err := tokenOf(ctx, source)
	if err != nil {
		return nil, err
	}
	return &tokenInUse{source: source, ctx: ctx, turns: turns, token: token, askedAt: time.Now()}, nil
}

// RequireTransportSecurity is false because [Config.checked] has decided where a token may be sent.
func (t *tokenInUse) RequireTransportSecurity() bool {
	return false
}

// GetRequestMetadata returns the header of a call. A source that may have a new token by now is asked in the background,
// so that no renewal waits for it. If it has none, the server says whether the old one is still good.
func (t *tokenInUse) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.source.isFixed && !t.isAsking && time.Since(t.askedAt) >= askAgainAfter {
		t.isAsking = true
		t.turns.start(t.askAgain)
	}
	return map[string]string{"authorization": "Bearer " + t.token}, nil
}

func (t *tokenInUse) askAgain() {
	ctx, cancel := context.WithTimeout(t.ctx, answerWithin)
	defer cancel()
	token, err := tokenOf(ctx, t.source)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isAsking, t.askedAt = false, time.Now()
	if err == nil {
		t.token = token
	}
}

// tokenOf asks the source for a token that a header can carry.
func tokenOf(ctx context.Context, source *TokenSource) (string, *Error) {
	token, err := source.ask(ctx)
	if err != nil {
		return "", noToken(err.Error(), err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return "", noToken("it is empty")
	}
	// gRPC would quote the header in its error.
	isInvisible := func(char rune) bool { return char <= ' ' || char > '~' }
	if strings.ContainsFunc(token, isInvisible) {
		return "", noToken("it has a character that is not visible ASCII")
	}
	return token, nil
}

func noToken(why string, causes ...error) *Error {
	return newError(ErrCredentialsMissing, codes.Unauthenticated, "the Token of the Config gives no token: "+why, causes...)
}

// isLoopback reports whether what is sent to this address stays on this machine.
func isLoopback(address string) bool {
	if scheme, _, _ := strings.Cut(address, ":"); scheme == "unix" || scheme == "unix-abstract" {
		return true
	}
	// A target of gRPC such as dns:///localhost:50051.
	if at := strings.LastIndex(address, "/"); at >= 0 {
		address = address[at+1:]
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

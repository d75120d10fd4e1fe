// How a gRPC connection to one server is made: credentials, headers and settings.

package rowlock

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// receiveBytesMax is large because one message may hold several listings.
const receiveBytesMax = 64 << 20

// connectTo prepares a connection, which gRPC opens at first use, and a context that sends the headers. ctx is done when
// the connection has ended.
func connectTo(ctx context.Context, turns *turns, address string, config Config) (context.Context, *grpc.ClientConn, *Error) {
	headers, err := headersOf(ctx, config)
	if err != nil {
		message := fmt.Sprintf("MakeHeaders failed for %s: %v", address, err)
		return nil, nil, newError(ErrUnknown, codes.Unauthenticated, message, err)
	}
	if problem := wrongHeaders(headers); problem != "" {
		return nil, nil, newError(ErrUnknown, codes.Unauthenticated, "MakeHeaders made what cannot be sent: "+problem)
	}
	sent := metadata.New(headers)
	var options []grpc.DialOption
	if config.Token != nil {
		token, failed := openToken(ctx, turns, config.Token)
		if failed != nil {
			return nil, nil, failed
		}
		sent.Delete("authorization")
		options = append(options, grpc.WithPerRPCCredentials(token))
	}
	way, failed := proxyTo(ctx, address, config.TLS)
	if failed != nil {
		return nil, nil, failed
	}
	if way == nil {
		options = append(options, grpc.WithNoProxy())
	}
	conn, err := dial(address, config.TLS, options...)
	if err != nil {
		return nil, nil, newError(ErrUnknown, codes.Unavailable, err.Error(), err)
	}
	return metadata.NewOutgoingContext(ctx, sent), conn, nil
}

func dial(address string, config *tls.Config, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if config != nil {
		security = credentials.NewTLS(config)
	}
	return grpc.NewClient(address, append(more,
		grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(receiveBytesMax)),
		grpc.WithUserAgent("rowlock-go/"+Version),
		// The owner of the connection decides whether and when to try again.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	)...)
}

// wrongHeaders is what is wrong with the first header, by name, that cannot be sent as it is; "": nothing is. It shows no
// value, which may be a secret. A value of a header whose name ends in -bin may be any bytes.
func wrongHeaders(headers map[string]string) string {
	isWrongInName := func(char rune) bool {
		return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz_-.", char)
	}
	isWrongInValue := func(char rune) bool { return char < ' ' || char > '~' }
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		switch {
		case name == "" || strings.ContainsFunc(lower, isWrongInName) || strings.HasPrefix(lower, "grpc-"):
			return fmt.Sprintf("%q is not the name of a header: use letters, digits, -, _ and .", name)
		case !strings.HasSuffix(lower, "-bin") && strings.ContainsFunc(headers[name], isWrongInValue):
			return fmt.Sprintf("the value of %q is not visible ASCII, so it cannot be sent as it is: encode it, for example "+
				"as base64, or give the header a name that ends in -bin", name)
		}
	}
	return ""
}

func headersOf(ctx context.Context, config Config) (map[string]string, error) {
	headers := map[string]string{}
	maps.Copy(headers, config.Headers)
	if config.MakeHeaders == nil {
		return headers, nil
	}
	made, err := config.MakeHeaders(ctx)
	maps.Copy(headers, made)
	return headers, err
}

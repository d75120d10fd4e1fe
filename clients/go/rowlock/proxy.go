// Decides which connections go through a proxy of the environment, and connects through one for the diagnosis. gRPC itself
// connects through the same one otherwise. It keeps nothing, and shows no password of a proxy.

package rowlock

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// proxy is the HTTP proxy between this client and a server.
type proxy struct {
	url *url.URL
	// variable is the one of the environment that names the proxy.
	variable string
}

// lookUpWithin bounds the question whether a name is of this machine. In a network with a proxy, there may be nobody to ask.
const lookUpWithin = time.Second

// proxyTo is the proxy for an address; nil: none. It asks the system whether the name is one of this machine.
func proxyTo(ctx context.Context, address string, config *tls.Config) (*proxy, *Error) {
	between, wrong := proxyNamed(address, config)
	if between != nil && leadsHere(ctx, address) {
		return nil, nil
	}
	return between, wrong
}

func leadsHere(ctx context.Context, address string) bool {
	_, target := dialTarget(address)
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpWithin)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	isElsewhere := func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() }
	return err == nil && len(addresses) > 0 && !slices.ContainsFunc(addresses, isElsewhere)
}

// proxyNamed is proxyTo by the form of the address alone. Nothing in plain text goes to a proxy, which could read it, and
// nothing that stays on this machine. [http.ProxyFromEnvironment], which gRPC asks, too, heeds NO_PROXY and no_proxy.
func proxyNamed(address string, config *tls.Config) (*proxy, *Error) {
	network, target := dialTarget(address)
	if config == nil || network == "unix" || staysHere(target) {
		return nil, nil
	}
	variable := "HTTPS_PROXY"
	if os.Getenv(variable) == "" {
		variable = "https_proxy"
	}
	found, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: target}})
	// The package also reads what is no URL as the host "http:" and a path.
	if err != nil || found != nil && (found.Hostname() == "" || strings.HasSuffix(found.Host, ":")) {
		// The error has the value, which may have a password.
		return nil, newError(ErrUnknown, codes.Unavailable, variable+" is not the URL of a proxy")
	}
	if found == nil {
		return nil, nil
	}
	return &proxy{found, variable}, nil
}

// staysHere reports whether the host of a target can only be this machine.
func staysHere(target string) bool {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified()) ||
		host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func (p *proxy) String() string {
	return fmt.Sprintf("the proxy %s://%s of %s", p.url.Scheme, p.url.Host, p.variable)
}

// proxyError is what is wrong with the proxy itself, and not with the server behind it.
type proxyError struct {
	what finding
}

func (e proxyError) Error() string {
	return e.what.Sentence
}

// connect asks the proxy for a connection to a target. Its errors are of the proxy.
func (p *proxy) connect(ctx context.Context, target string) (net.Conn, error) {
	if p.url.Scheme != "http" {
		return nil, proxyError{found(ProxyRefuses, "only proxies whose URL begins with http:// can be used: "+p.advice())}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", withPort(p.url))
	if err != nil {
		return nil, proxyError{found(Unreachable, fmt.Sprintf("it cannot be reached (%v): start it, or %s", err, p.advice()))}
	}
	boundBy(ctx, conn)
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: target}, Host: target, Header: http.Header{}}
	if user := p.url.User; user != nil {
		password, _ := user.Password()
		login := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		request.Header.Set("Proxy-Authorization", "Basic "+login)
	}
	answer, heard := (*http.Response)(nil), bufio.NewReader(conn)
	if err = request.Write(conn); err == nil {
		answer, err = http.ReadResponse(heard, request)
	}
	switch {
	case err != nil:
		conn.Close()
		return nil, proxyError{found(ProxyRefuses, "it does not answer like an HTTP proxy: "+p.advice())}
	case answer.StatusCode >= http.StatusInternalServerError:
		conn.Close()
		return nil, proxyError{found(Unreachable, fmt.Sprintf("it cannot connect to the address (it answers %q): check the "+
			"address, or %s", answer.Status, p.advice()))}
	case answer.StatusCode != http.StatusOK:
		conn.Close()
		return nil, proxyError{found(ProxyRefuses, fmt.Sprintf("it refuses to connect to the address (it answers %q): allow "+
			"that on the proxy, or %s", answer.Status, p.advice()))}
	}
	return conn, nil
}

func (p *proxy) advice() string {
	return "name the host in NO_PROXY, or correct " + p.variable
}

func withPort(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

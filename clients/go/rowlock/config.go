// The configuration of a client, with its defaults and checks.

package rowlock

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	connectTimeoutDefault = 3 * time.Second
	giveUpAfterDefault    = 30 * time.Second
)

// Config configures [Connect]. Only Addresses is required.
type Config struct {
	// Addresses are the servers as host:port, in the order in which they are tried.
	Addresses []string
	// Owner names who asks, for people who look at a lock, at most 255 bytes. Default: host name and process id.
	Owner string
	// Labels are further information for those people, for all claims of this client.
	Labels map[string]string
	// TLS configures TLS; nil: plain text. Set RootCAs for a certificate authority of your own, and ServerName if the
	// certificate names something else than the address. If the server asks for a certificate, set Certificates, or
	// GetClientCertificate, which is called for each new connection, so that it can read renewed files.
	TLS *tls.Config
	// Token says who calls, to servers that want to know. Without TLS it is only sent to this machine, unless
	// AllowTokenInPlaintext is set.
	Token *TokenSource
	// AllowTokenInPlaintext sends the token without TLS to any address, where everybody on the way can read it.
	AllowTokenInPlaintext bool
	// Headers are sent to each server, for example for a proxy that checks them.
	Headers map[string]string
	// MakeHeaders makes further headers for each connection. If it fails, the calls that wait at that moment fail.
	MakeHeaders func(context.Context) (map[string]string, error)
	// ConnectTimeout is how long a server may take to answer a new connection before the next one is tried. Default: 3
	// s.
	ConnectTimeout time.Duration
	// GiveUpAfter is how long a call is tried before it fails, if no server answers it; may be [Forever]. Default: 30 s. A
	// call fails at once if each address has something that no waiting heals, such as a web server: see [Diagnosis].
	GiveUpAfter time.Duration
	// ExplainAfter is how long a lock is waited for before the client logs who holds it and at which place it waits, and
	// calls [OnWaiting]. Default: 10 s.
	ExplainAfter time.Duration
	// OnConnection is called for each connection that opens or ends, one event after the other, for a log. It may
	// block.
	OnConnection func(ConnectionEvent)
	// Logger gets what an operator of the program should know, such as a lost lock or a long wait. It may block. Default:
	// slog.Default(). slog.New(slog.DiscardHandler) silences the client.
	Logger *slog.Logger
	// Telemetry takes spans and metrics; nil: there are none. See the package rowlockotel.
	Telemetry Telemetry
}

// Via is the kind of a connection.
type Via string

const (
	// ViaSession: all calls go over one stream.
	ViaSession Via = "session"
	// ViaUnary: no stream gets through to the server, so each request is a call of its own.
	ViaUnary Via = "unary"
)

// ConnectionEvent reports that a connection has opened or ended.
type ConnectionEvent struct {
	Address string `json:"address"`
	// IsConnected: a server has answered. Otherwise the connection is gone or could not be opened.
	IsConnected bool `json:"isConnected"`
	// Replica is the server's name in its log; empty if the server does not send it.
	Replica string `json:"replica"`
	// Via is the kind of the connection.
	Via Via `json:"via"`
	// Err is why the connection is gone; nil if IsConnected.
	Err error `json:"-"`
}

// mayGetCredentials reports whether another connection may have other credentials than the last one.
func (c *Config) mayGetCredentials() bool {
	return c.Token != nil && !c.Token.isFixed || c.MakeHeaders != nil || c.TLS != nil && c.TLS.GetClientCertificate != nil
}

// checked is a copy of the configuration with all defaults, or an error if it cannot work.
func (c Config) checked() (Config, error) {
	// Clone these, because the caller may change its own.
	c.Addresses, c.Labels, c.Headers = slices.Clone(c.Addresses), maps.Clone(c.Labels), maps.Clone(c.Headers)
	for index, address := range c.Addresses {
		c.Addresses[index] = strings.TrimSpace(address)
	}
	var wrong faults
	if len(c.Addresses) == 0 {
		wrong.add("Addresses", "name at least one server, as host:port")
	}
	for _, address := range c.Addresses {
		if problem := wrongAddress(address); problem != "" {
			wrong.add("Addresses", problem)
		} else if c.Token != nil && c.TLS == nil && !c.AllowTokenInPlaintext && !isLoopback(address) {
			wrong.add("Token", fmt.Sprintf("the connection to %s is not encrypted, so others could read the token: "+
				"set TLS, or AllowTokenInPlaintext if nobody listens on the way", address))
		}
	}
	for _, one := range []struct {
		option   string
		value    *time.Duration
		byItself time.Duration
	}{
		{"ConnectTimeout", &c.ConnectTimeout, connectTimeoutDefault},
		{"GiveUpAfter", &c.GiveUpAfter, giveUpAfterDefault},
		{"ExplainAfter", &c.ExplainAfter, explainAfterDefault},
	} {
		if *one.value < 0 {
			wrong.add(one.option, "must be above 0")
		}
		if *one.value == 0 {
			*one.value = one.byItself
		}
	}
	if c.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		c.Owner = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	for key, value := range c.Labels {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			wrong.add("Labels", fmt.Sprintf("%q: %q %s", key, value, notUTF8))
		}
	}
	if !utf8.ValidString(c.Owner) {
		wrong.add("Owner", fmt.Sprintf("%q %s", c.Owner, notUTF8))
	}
	if problem := wrongHeaders(c.Headers); problem != "" {
		wrong.add("Headers", problem)
	}
	return c, wrong.err()
}

// wrongAddress is what is wrong with the form of an address; "" if nothing is. gRPC would take an address without a port
// for one with port 443.
func wrongAddress(address string) string {
	network, target := dialTarget(address)
	if network == "unix" {
		return ""
	}
	host, port, err := net.SplitHostPort(target)
	if number, bad := strconv.Atoi(port); err == nil && bad == nil && host != "" && !strings.Contains(host, "/") && number > 0 && number < 1<<16 {
		return ""
	}
	return fmt.Sprintf("%q is not host:port, such as localhost:50051", address)
}

// dialTarget is where a probe connects to: gRPC also takes targets such as dns:///host:port and unix:/path.
func dialTarget(address string) (network, target string) {
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		return "unix", strings.TrimPrefix(path, "//")
	}
	if name, isAbstract := strings.CutPrefix(address, "unix-abstract:"); isAbstract {
		return "unix", "@" + name
	}
	if _, endpoint, hasScheme := strings.Cut(address, ":///"); hasScheme {
		return "tcp", endpoint
	}
	return "tcp", address
}

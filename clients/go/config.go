package rowlock

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	connectTimeoutDefault = 3 * time.Second
	giveUpAfterDefault    = 30 * time.Second
)

// Config is what [Connect] needs to know. Only Addresses has to be set.
type Config struct {
	// Addresses has host:port of each server, in the order in which they are tried.
	Addresses []string
	// Owner is who asks, for people who look at a lock; unset: this machine and process.
	Owner string
	// Labels are what else they should see.
	Labels map[string]string
	// TLS is how to speak it; nil: plain text. Set RootCAs where the authority is one's own, ServerName where the certificate
	// has another name than the address, and Certificates where the server asks for one.
	TLS *tls.Config
	// Headers are sent along to each server, for a proxy or an authority between.
	Headers map[string]string
	// MakeHeaders makes further ones for each connection. Where it fails, what is asked for by then fails, too.
	MakeHeaders func(context.Context) (map[string]string, error)
	// ConnectTimeout is how long a server may take to answer a new connection before the next one is tried; 3 s.
	ConnectTimeout time.Duration
	// GiveUpAfter is how long a call is tried before it fails, where no server answers it; 30 s. It may be [Forever].
	GiveUpAfter time.Duration
	// OnConnection is told each connection that comes and goes, one after the other, for a log.
	OnConnection func(ConnectionEvent)
}

// ConnectionEvent is what has happened to the connection.
type ConnectionEvent struct {
	Address string
	// IsConnected is that a server has answered; otherwise the connection is gone, or was not to be had.
	IsConnected bool
	// Replica is the server's name in its log; empty where it does not say.
	Replica string
	// IsUnary is that no stream gets through to it, so that each call is one of its own.
	IsUnary bool
	// Err is why the connection is gone.
	Err error
}

// checked is the configuration with all defaults, or what cannot work.
func (c Config) checked() (Config, error) {
	// Copies, as whoever has made them may change theirs.
	c.Addresses, c.Labels, c.Headers = slices.Clone(c.Addresses), maps.Clone(c.Labels), maps.Clone(c.Headers)
	for index, address := range c.Addresses {
		c.Addresses[index] = strings.TrimSpace(address)
	}
	if len(c.Addresses) == 0 || slices.Contains(c.Addresses, "") {
		return c, mistake("Addresses", "name at least one server, as host:port")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeoutDefault
	}
	if c.GiveUpAfter == 0 {
		c.GiveUpAfter = giveUpAfterDefault
	}
	if c.ConnectTimeout < 0 {
		return c, mistake("ConnectTimeout", "must be above 0")
	}
	if c.GiveUpAfter < 0 {
		return c, mistake("GiveUpAfter", "must be above 0")
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
			return c, mistake("Labels", fmt.Sprintf("%q: %q is not UTF-8", key, value))
		}
	}
	if !utf8.ValidString(c.Owner) {
		return c, mistake("Owner", fmt.Sprintf("%q is not UTF-8", c.Owner))
	}
	return c, nil
}

// Finds out why no server has answered: connects to the address as any client would, and looks at what comes back. It runs
// only after a connection has failed, so that a program whose connections work pays nothing for it.

package rowlock

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

const (
	// probeWithin bounds one probe, and probeAgain is how long its result stands for the same address.
	probeWithin = time.Second
	probeAgain  = 3 * time.Second
	// helloAnswerBytes is the head of an HTTP/2 frame, and settingsFrame the type of the first one that a server sends.
	helloAnswerBytes = 9
	settingsFrame    = 4
	mysqlProtocol    = 10
)

// hello is the first bytes of an HTTP/2 client: the preface and empty settings.
var hello = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")

// Diagnosis says what is at one address where no Rowlock server answers.
type Diagnosis struct {
	Address string `json:"address"`
	// Kind is what a program acts on; a newer client may have more kinds.
	Kind DiagnosisKind `json:"kind"`
	// Sentence says what is there and what to do, without a full stop. It is for people, and not stable.
	Sentence string `json:"sentence"`
}

// DiagnosisKind is why no Rowlock server answers at an address.
type DiagnosisKind string

// These kinds may pass by themselves, so the client tries again.
const (
	NobodyListens DiagnosisKind = "nobody_listens"
	NoSuchHost    DiagnosisKind = "no_such_host"
	// Silent: something accepts connections and does not answer, or not like a Rowlock server.
	Silent      DiagnosisKind = "silent"
	Unreachable DiagnosisKind = "unreachable"
)

// No waiting heals these kinds. If each address has one of them, calls fail at once.
const (
	// OtherProtocol: a web server, an SSH server or something else answers.
	OtherProtocol   DiagnosisKind = "other_protocol"
	WantsTLS        DiagnosisKind = "wants_tls"
	WantsPlainText  DiagnosisKind = "wants_plain_text"
	Untrusted       DiagnosisKind = "untrusted"
	CertExpired     DiagnosisKind = "expired"
	WrongName       DiagnosisKind = "wrong_name"
	WantsClientCert DiagnosisKind = "wants_client_certificate"
	// ProxyRefuses: the proxy that the environment names lets nothing through to the address.
	ProxyRefuses DiagnosisKind = "proxy_refuses"
)

// mayHeal reports whether the address may answer later although nobody changes the configuration.
func (k DiagnosisKind) mayHeal() bool {
	return k == NobodyListens || k == NoSuchHost || k == Silent || k == Unreachable
}

func (d Diagnosis) String() string {
	return d.Address + ": " + d.Sentence
}

// finding is a [Diagnosis] whose address is known; nil: what was looked for is there.
type finding *Diagnosis

func found(kind DiagnosisKind, sentence string) finding {
	return &Diagnosis{Kind: kind, Sentence: sentence}
}

func otherProtocol(what string) finding {
	return found(OtherProtocol, what+" answers there, not a Rowlock server: check the port")
}

func notRowlock() finding {
	return found(Silent, "a server answers, but not like a Rowlock server, or not in time: check the port and any proxies, or "+
		"raise GiveUpAfter")
}

// diagnose looks at one address, for a second at most. ctx ends it sooner.
func diagnose(ctx context.Context, address string, config *tls.Config) Diagnosis {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	way, wrong := wayTo(ctx, address, config)
	result := finding(nil)
	switch {
	case wrong != nil:
		result = found(ProxyRefuses, wrong.Message+": correct it, or name the host in NO_PROXY")
	case config == nil:
		result = inPlainText(ctx, way)
	default:
		result = throughTLS(ctx, way, config)
	}
	return Diagnosis{address, result.Kind, throughProxy(way.proxy, result.Sentence)}
}

func throughProxy(between *proxy, sentence string) string {
	if between == nil {
		return sentence
	}
	return fmt.Sprintf("through %v: %s", between, sentence)
}

// way is how this client connects to an address.
type way struct {
	network, target string
	// proxy is between both; nil: none.
	proxy *proxy
}

func wayTo(ctx context.Context, address string, config *tls.Config) (way, *Error) {
	network, target := dialTarget(address)
	proxy, wrong := proxyTo(ctx, address, config)
	return way{network, target, proxy}, wrong
}

func (w way) connect(ctx context.Context) (net.Conn, error) {
	if w.proxy != nil {
		return w.proxy.connect(ctx, w.target)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, w.network, w.target)
	if err == nil {
		boundBy(ctx, conn)
	}
	return conn, err
}

func inPlainText(ctx context.Context, to way) finding {
	// A server that does not understand plain text may just stay silent, so this tries TLS at the same time.
	overTLS := make(chan error, 1)
	go func() {
		conn, err := handshake(ctx, to, &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
		}
		overTLS <- err
	}()
	speaks, other := plainProbe(ctx, to)
	switch {
	case other != nil:
		return other
	case speaks == speaksHTTP2:
		return notRowlock()
	case speaks == speaksTLS, speaksItAtAll(<-overTLS):
		return found(WantsTLS, "it wants TLS: set TLS in the Config")
	default:
		return found(Silent, "something listens there, but does not answer like a Rowlock server: check the port, and whether "+
			"the server is overloaded")
	}
}

func throughTLS(ctx context.Context, to way, config *tls.Config) finding {
	plain := make(chan struct{})
	var speaks speech
	var other finding
	go func() {
		speaks, other = plainProbe(ctx, to)
		close(plain)
	}()
	conn, err := handshake(ctx, to, config)
	if err == nil {
		defer conn.Close()
		if conn.ConnectionState().NegotiatedProtocol != "h2" {
			return found(OtherProtocol, "it speaks TLS, but not HTTP/2, so it is not a Rowlock server: check the port")
		}
		// The server refuses a client's certificate only after the handshake.
		_, err = conn.Write(hello)
		if err == nil {
			_, err = conn.Read(make([]byte, helloAnswerBytes))
		}
		if err == nil {
			return notRowlock()
		}
	}
	if fault := certificateFault(err); fault != nil {
		return fault
	}
	if <-plain; other != nil {
		return other
	}
	if speaks == speaksHTTP2 {
		return found(WantsPlainText, "it speaks plain text: leave TLS out of the Config")
	}
	return found(Silent, "something listens there, but speaks no TLS that this client understands: check the port")
}

// certificateFault is what is wrong with a certificate, of the server or of this client; nil: the error is another one.
func certificateFault(err error) finding {
	var invalid x509.CertificateInvalidError
	var wrongName x509.HostnameError
	var unverified *tls.CertificateVerificationError
	alert := alertOf(err)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return found(CertExpired, "its certificate has expired, or is not valid yet: have it renewed on the server, and check the "+
			"clocks of both machines")
	case errors.As(err, &wrongName):
		return found(WrongName, "its certificate is for another name: use the name in it, or give that name as TLS.ServerName")
	case errors.As(err, &unverified):
		return found(Untrusted, fmt.Sprintf("its certificate is not from a trusted authority (%v): name its authority in "+
			"TLS.RootCAs", unverified.Err))
	// TLS 1.2 has no better word for it than the latter.
	case strings.Contains(alert, "certificate"), strings.Contains(alert, "handshake failure"):
		return found(WantsClientCert, "it requires a client certificate that it trusts: set TLS.GetClientCertificate")
	default:
		return nil
	}
}

// alertOf is what the server has said as it ended a handshake or a connection; "" if it has said nothing.
func alertOf(err error) string {
	var said *net.OpError
	if errors.As(err, &said) && said.Op == "remote error" {
		return said.Err.Error()
	}
	return ""
}

// speaksItAtAll reports whether the outcome of a handshake shows that the server speaks TLS.
func speaksItAtAll(err error) bool {
	return err == nil || alertOf(err) != ""
}

func handshake(ctx context.Context, to way, config *tls.Config) (*tls.Conn, error) {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	if config.ServerName == "" {
		config.ServerName = "localhost" // As gRPC has it for a socket of Unix.
		if host, _, err := net.SplitHostPort(to.target); err == nil {
			config.ServerName = host
		}
	}
	conn, err := to.connect(ctx)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// speech is what a server in plain text speaks.
type speech int

const (
	speaksNothing speech = iota
	speaksHTTP2
	speaksTLS
)

// plainProbe says what the server speaks, or why it cannot be a Rowlock server.
func plainProbe(ctx context.Context, to way) (speech, finding) {
	conn, err := to.connect(ctx)
	if err != nil {
		return speaksNothing, whyNotReached(err)
	}
	defer conn.Close()
	// An error shows in the answer, which may have come all the same.
	_, _ = conn.Write(hello)
	heard := make([]byte, 0, helloAnswerBytes)
	for len(heard) < helloAnswerBytes {
		count, err := conn.Read(heard[len(heard):helloAnswerBytes])
		heard = heard[:len(heard)+count]
		if err != nil {
			break
		}
	}
	return whatSpeaks(heard)
}

func whatSpeaks(heard []byte) (speech, finding) {
	switch {
	case len(heard) == 0:
		return speaksNothing, nil
	case bytes.HasPrefix(heard, []byte("HTTP/1")):
		return speaksNothing, otherProtocol("a web server (HTTP/1)")
	case bytes.HasPrefix(heard, []byte("SSH-")):
		return speaksNothing, otherProtocol("an SSH server")
	case len(heard) > 1 && heard[0] == 0x15 && heard[1] == 3:
		return speaksTLS, nil
	case len(heard) > 3 && heard[0] == 0 && heard[3] == settingsFrame:
		return speaksHTTP2, nil
	case len(heard) > 4 && heard[3] == 0 && heard[4] == mysqlProtocol:
		return speaksNothing, otherProtocol("a MySQL or MariaDB server")
	default:
		return speaksNothing, otherProtocol("something else")
	}
}

// whyNotReached is nil if the server accepts connections and ends them.
func whyNotReached(err error) finding {
	var name *net.DNSError
	var ofProxy proxyError
	switch {
	case errors.As(err, &ofProxy):
		return ofProxy.what
	case errors.As(err, &name):
		return found(NoSuchHost, fmt.Sprintf("there is no such host (%s): check its name", name.Err))
	case errors.Is(err, syscall.ECONNREFUSED):
		return found(NobodyListens, "nobody listens there: start a server with `rowlock serve`, or check the port")
	case errors.Is(err, syscall.ECONNRESET):
		return nil
	default:
		return found(Unreachable, fmt.Sprintf("it cannot be reached (%v): check the network and its firewalls", err))
	}
}

// boundBy closes the connection when ctx is done, which ends reads and writes.
func boundBy(ctx context.Context, conn net.Conn) {
	context.AfterFunc(ctx, func() { conn.Close() })
}

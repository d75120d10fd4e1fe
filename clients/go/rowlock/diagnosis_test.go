// What calls say about addresses where no Rowlock server answers.

package rowlock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// listening accepts connections, says something on each, and reads until the other side ends it.
func listening(t *testing.T, says string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.WriteString(conn, says)
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// authority signs certificates for servers of these tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	own := &authority{}
	signed := own.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	})
	own.certificate, own.key = signed.Leaf, signed.PrivateKey.(*ecdsa.PrivateKey)
	return own
}

func (a *authority) sign(t *testing.T, wanted *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	wanted.SerialNumber = big.NewInt(1)
	parent, by := a.certificate, a.key
	if parent == nil {
		parent, by = wanted, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, wanted, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// overTLS starts a gRPC server, without a Rowlock service.
func overTLS(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options := []grpc.ServerOption{}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	running := grpc.NewServer(options...)
	t.Cleanup(running.Stop)
	go running.Serve(listener)
	return listener.Addr().String()
}

func TestCallsSayWhatIsAtAnAddressWithoutAServer(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secureWeb := httptest.NewUnstartedServer(http.NotFoundHandler())
	secureWeb.Config.ErrorLog = log.New(io.Discard, "", 0)
	secureWeb.StartTLS()
	t.Cleanup(secureWeb.Close)
	trusted := newAuthority(t)
	issue := func(until time.Duration) tls.Certificate {
		return trusted.sign(t, &x509.Certificate{
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"locks"}, NotAfter: time.Now().Add(until),
		})
	}
	good := &tls.Config{Certificates: []tls.Certificate{issue(time.Hour)}}
	expired := &tls.Config{Certificates: []tls.Certificate{issue(-time.Hour)}}
	strict := &tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted.pool()}
	trusting := &tls.Config{RootCAs: trusted.pool()}

	cases := map[string]struct {
		address string
		tls     *tls.Config
		kind    rowlock.DiagnosisKind
		says    string
		heals   bool
	}{
		"nobody":               {deadAddress(t), nil, rowlock.NobodyListens, "nobody listens there", true},
		"no host":              {"no-such-host.invalid:50051", nil, rowlock.NoSuchHost, "there is no such host", true},
		"silence":              {listening(t, ""), nil, rowlock.Silent, "does not answer like a Rowlock server", true},
		"a web server":         {web.Listener.Addr().String(), nil, rowlock.OtherProtocol, "a web server (HTTP/1)", false},
		"SSH":                  {listening(t, "SSH-2.0-OpenSSH_9.2\r\n"), nil, rowlock.OtherProtocol, "an SSH server", false},
		"MySQL":                {listening(t, "\x4a\x00\x00\x00\x0a8.4.0\x00"), nil, rowlock.OtherProtocol, "a MySQL or MariaDB server", false},
		"another gRPC server":  {overTLS(t, nil), nil, rowlock.OtherProtocol, "no Rowlock service", false},
		"TLS":                  {overTLS(t, good), nil, rowlock.WantsTLS, "set TLS in the Config", false},
		"plain text":           {sharedAddress(t), trusting, rowlock.WantsPlainText, "leave TLS out", false},
		"another authority":    {overTLS(t, good), &tls.Config{}, rowlock.Untrusted, "not from a trusted authority", false},
		"an old certificate":   {overTLS(t, expired), trusting, rowlock.CertExpired, "certificate has expired", false},
		"another name":         {overTLS(t, good), &tls.Config{RootCAs: trusted.pool(), ServerName: "other"}, rowlock.WrongName, "for another name", false},
		"a client certificate": {overTLS(t, strict), trusting, rowlock.WantsClientCert, "requires a client certificate", false},
		"a secure web server":  {secureWeb.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}, rowlock.OtherProtocol, "not HTTP/2", false},
		"TLS of nothing":       {listening(t, "SSH-2.0-OpenSSH_9.2\r\n"), trusting, rowlock.OtherProtocol, "an SSH server", false},
	}
	for name, one := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := rowlock.Config{Addresses: []string{one.address}, TLS: one.tls, GiveUpAfter: painfullyLong, ConnectTimeout: 500 * time.Millisecond}
			if one.heals {
				config.GiveUpAfter = 3 * time.Second
			}
			client := connect(t, config)
			began := time.Now()
			_, err := client.Lock(background, nameOf(t))
			failed, ok := asType[*rowlock.Error](err)
			if !ok || failed.Reason != rowlock.ErrNoServer || failed.Code != codes.Unavailable || len(failed.Diagnoses) != 1 {
				t.Fatal(err)
			}
			found := failed.Diagnoses[0]
			if found.Kind != one.kind || found.Address != one.address || !strings.Contains(found.Sentence, one.says) ||
				!strings.Contains(err.Error(), found.Sentence) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%+v\n%v", found, err)
			}
			if took := time.Since(began); one.heals != (took >= 3*time.Second) {
				t.Fatal("it took", took)
			}
		})
	}
}

func TestOneAddressThatMayHealIsEnoughToTryAgain(t *testing.T) {
	t.Parallel()
	client := connect(t, rowlock.Config{
		Addresses: []string{listening(t, "SSH-2.0-OpenSSH_9.2\r\n"), deadAddress(t)}, GiveUpAfter: 2 * time.Second,
	})
	began := time.Now()
	_, err := client.Lock(background, nameOf(t))
	failed, _ := asType[*rowlock.Error](err)
	if failed == nil || len(failed.Diagnoses) != 2 || time.Since(began) < 2*time.Second {
		t.Fatal(err, time.Since(began))
	}
}

func TestACallWithAPlaceOutlivesWhatLooksHopeless(t *testing.T) {
	t.Parallel()
	proxy := startLine(t, sharedAddress(t), 0)
	holder := connectTo(t, sharedAddress(t))
	held := mustLock(t, holder, nameOf(t))
	client := connectTo(t, proxy.address)
	waiting, granted := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := client.Lock(background, nameOf(t), rowlock.OnPosition(func(rowlock.Place) { close(waiting) }))
		granted <- err
	}()
	within(t, "the place", waiting)
	proxy.takeDownSaying("HTTP/1.1 503 Service Unavailable\r\n\r\n")
	until(t, "a call that fails at once", func() bool {
		_, err := client.GetLock(background, nameOf(t))
		return errors.Is(err, rowlock.ErrNoServer)
	})
	proxy.putUp()
	held.Close()
	if err := within(t, "the grant", granted); err != nil {
		t.Fatal(err)
	}
}

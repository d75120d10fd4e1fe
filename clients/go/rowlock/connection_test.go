// TLS, headers and labels.

package rowlock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

func TestTLSWithCertificatesOfBothSides(t *testing.T) {
	t.Parallel()
	own, certFile, keyFile := selfSigned(t)
	clients, clientFile, _ := selfSigned(t)
	running := startServer(t, "127.0.0.1:0", freshDatabase(t),
		"--tls-cert", certFile, "--tls-key", keyFile, "--tls-client-ca", clientFile)
	trusted := x509.NewCertPool()
	trusted.AddCert(own.Leaf)
	client := connect(t, rowlock.Config{
		Addresses: []string{running.address},
		TLS:       &tls.Config{RootCAs: trusted, ServerName: "locks.test", Certificates: []tls.Certificate{clients}},
	})
	if lock := mustLock(t, client, nameOf(t)); lock.Token() != 1 {
		t.Fatal(lock.Token())
	}
	for how, config := range map[string]*tls.Config{
		"of another name":       {RootCAs: trusted, ServerName: "others.test", Certificates: []tls.Certificate{clients}},
		"without a certificate": {RootCAs: trusted, ServerName: "locks.test"},
		"in plain text":         nil,
	} {
		stranger := connect(t, rowlock.Config{
			Addresses: []string{running.address}, TLS: config, GiveUpAfter: 500 * time.Millisecond,
		})
		if _, err := stranger.Lock(background, nameOf(t)); !errors.Is(err, rowlock.ErrNoServer) {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// selfSigned makes a certificate for locks.test, and writes it to files.
func selfSigned(t *testing.T) (tls.Certificate, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "locks.test"},
		DNSNames:              []string{"locks.test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	directory := t.TempDir()
	certFile, keyFile := filepath.Join(directory, "cert.pem"), filepath.Join(directory, "key.pem")
	for file, text := range map[string][]byte{certFile: certPEM, keyFile: keyPEM} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair, certFile, keyFile
}

// refusingServer refuses every session, and keeps the headers that it received.
type refusingServer struct {
	rowlockv1.UnimplementedLockServiceServer
	calls atomic.Int32
	who   chan string
}

func (s *refusingServer) Session(stream grpc.BidiStreamingServer[rowlockv1.SessionRequest, rowlockv1.SessionResponse]) error {
	s.calls.Add(1)
	headers, _ := metadata.FromIncomingContext(stream.Context())
	s.who <- headers.Get("authorization")[0] + headers.Get("x-fixed")[0]
	return status.Error(codes.Unauthenticated, "not you")
}

func TestARefusedClientDoesNotRetryForEver(t *testing.T) {
	t.Parallel()
	refusing := &refusingServer{who: make(chan string, 10)}
	client := connect(t, rowlock.Config{
		Addresses:   []string{serve(t, refusing)},
		Headers:     map[string]string{"x-fixed": "!", "authorization": "nobody"},
		MakeHeaders: func(context.Context) (map[string]string, error) { return map[string]string{"authorization": "me"}, nil },
	})
	_, err := client.Lock(background, nameOf(t))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || failed.Code != codes.Unauthenticated || failed.Message != "not you" {
		t.Fatal(err)
	}
	if who := within(t, "the headers", refusing.who); who != "me!" || refusing.calls.Load() != 1 {
		t.Fatal(who, refusing.calls.Load())
	}
}

func TestFailingMakeHeadersFailsCalls(t *testing.T) {
	t.Parallel()
	var made atomic.Int32
	missing := errors.New("no token yet")
	client := connect(t, rowlock.Config{
		Addresses: []string{sharedAddress(t)},
		MakeHeaders: func(context.Context) (map[string]string, error) {
			if made.Add(1) == 1 {
				return nil, missing
			}
			return nil, nil
		},
	})
	if _, err := client.Lock(background, nameOf(t)); !errors.Is(err, missing) {
		t.Fatal(err)
	}
	if lock := mustLock(t, client, nameOf(t)); lock.Token() != 1 {
		t.Fatal(lock.Token())
	}
}

func TestTheErrorNamesInvalidLabels(t *testing.T) {
	t.Parallel()
	client := connect(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, Labels: map[string]string{"": "x"}})
	_, err := client.Lock(background, nameOf(t))
	failed, ok := asType[*rowlock.Error](err)
	if !ok || failed.Reason != rowlock.ErrBadRequest || failed.Violations[0].Field != `open.labels[""]` {
		t.Fatal(err)
	}
}

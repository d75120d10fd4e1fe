// Which connections go through a proxy of the environment, and what calls say then. The environment of a process is read
// once, so each case is a process of its own.

package rowlock_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

const (
	// childAddress and childAuthority tell a process of this test what to connect to, and whose certificates to trust.
	childAddress   = "ROWLOCK_TEST_ADDRESS"
	childAuthority = "ROWLOCK_TEST_AUTHORITY"
	childToken     = "the-token-of-the-child"
)

// askOnce is what a process of this test does: it asks a server with a token, and prints the outcome.
func askOnce() {
	config := rowlock.Config{
		Addresses: []string{os.Getenv(childAddress)}, Token: rowlock.StaticToken(childToken), AllowTokenInPlaintext: true,
		ConnectTimeout: 2 * time.Second, GiveUpAfter: 3 * time.Second,
	}
	if authority := os.Getenv(childAuthority); authority != "" {
		config.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
		config.TLS.RootCAs.AppendCertsFromPEM([]byte(authority))
	}
	client, err := rowlock.Connect(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	if _, err = client.GetLock(background, "a"); err != nil {
		failed, _ := asType[*rowlock.Error](err)
		if len(failed.Diagnoses) == 1 {
			fmt.Println("kind:", failed.Diagnoses[0].Kind)
		}
		fmt.Println(err)
		return
	}
	fmt.Println("answered")
}

// httpProxy is an HTTP proxy for CONNECT that keeps all that it hears.
type httpProxy struct {
	address string
	mu      sync.Mutex
	heard   strings.Builder
}

// startHTTPProxy starts a proxy. It answers with the status, and connects to the target if there is one.
func startHTTPProxy(t *testing.T, status, target string) *httpProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &httpProxy{address: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, status, target)
		}
	}()
	return p
}

func (p *httpProxy) serve(conn net.Conn, status, target string) {
	defer conn.Close()
	from := io.TeeReader(conn, p)
	request, err := http.ReadRequest(bufio.NewReaderSize(from, 16))
	if err != nil || request.Method != http.MethodConnect {
		return
	}
	fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
	if target == "" {
		return
	}
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	go io.Copy(conn, far)
	io.Copy(far, from)
	far.Close()
}

func (p *httpProxy) Write(heard []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard.Write(heard)
}

func (p *httpProxy) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard.String()
}

func TestOnlyTLSBeyondThisMachineUsesTheProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	trusted := newAuthority(t)
	certificate := trusted.sign(t, &x509.Certificate{DNSNames: []string{"locks.example", "localhost"}, NotAfter: time.Now().Add(time.Hour)})
	secure := overTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}})
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted.certificate.Raw}))
	otherAuthority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: newAuthority(t).certificate.Raw}))
	_, port, _ := net.SplitHostPort(sharedAddress(t))
	_, securePort, _ := net.SplitHostPort(secure)
	socket := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := grpc.NewServer()
	t.Cleanup(local.Stop)
	go local.Serve(listener)

	const far = "locks.example:50051"
	all := []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "grpc_proxy", "ALL_PROXY", "all_proxy"}
	for name, one := range map[string]struct {
		address, authority string
		// variables name the proxy, and more is the rest of the environment.
		variables, more []string
		status, target  string
		uses            bool
		says            []string
	}{
		"this machine":                  {address: "127.0.0.1:" + port, variables: all, says: []string{"answered"}},
		"this machine by name":          {address: "dns:///localhost:" + port, variables: all, says: []string{"answered"}},
		"all addresses of this machine": {address: "0.0.0.0:" + port, variables: all, says: []string{"answered"}},
		"a socket":                      {address: "unix:" + socket, variables: all, says: []string{"no Rowlock service"}},
		"this machine over TLS":         {address: "localhost:" + securePort, authority: authority, variables: all, says: []string{"no Rowlock service"}},
		"plain text":                    {address: "locks.invalid:50051", variables: all, says: []string{"kind: no_such_host"}},
		"NO_PROXY":                      {address: "locks.invalid:50051", authority: authority, variables: all, more: []string{"NO_PROXY=.invalid"}, says: []string{"kind: no_such_host"}},
		"no_proxy":                      {address: "locks.invalid:50051", authority: authority, variables: all, more: []string{"no_proxy=a,locks.invalid"}, says: []string{"kind: no_such_host"}},
		"TLS": {far, authority, []string{"HTTPS_PROXY"}, nil, "200 OK", secure, true,
			[]string{"through the proxy http://ITS-ADDRESS of HTTPS_PROXY: a gRPC server answers there, but it has no Rowlock service"}},
		"another certificate": {far, otherAuthority, []string{"https_proxy"}, nil, "200 OK", secure, true,
			[]string{"kind: untrusted", "through the proxy http://ITS-ADDRESS of https_proxy: its certificate is not from"}},
		"a refusal": {far, authority, []string{"HTTPS_PROXY"}, nil, "403 Forbidden", "", true,
			[]string{"kind: proxy_refuses", `through the proxy http://ITS-ADDRESS of HTTPS_PROXY: it refuses to connect to the address (it answers "403 Forbidden")`, "NO_PROXY"}},
		"no way": {far, authority, []string{"HTTPS_PROXY"}, nil, "502 Bad Gateway", "", true,
			[]string{"kind: unreachable", `it cannot connect to the address (it answers "502 Bad Gateway")`}},
		"no URL": {far, authority, nil, []string{"HTTPS_PROXY=http://user:hidden@no port:x"}, "", "", false,
			[]string{"kind: proxy_refuses", "HTTPS_PROXY is not the URL of a proxy"}},
		"no proxy there": {far, authority, nil, []string{"HTTPS_PROXY=http://user:hidden@" + deadAddress(t)}, "", "", false,
			[]string{"kind: unreachable", "through the proxy http://127.0.0.1:", "it cannot be reached"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			between := startHTTPProxy(t, one.status, one.target)
			child := exec.Command(os.Args[0])
			child.Env = append([]string{childAddress + "=" + one.address, childAuthority + "=" + one.authority}, one.more...)
			for _, variable := range one.variables {
				child.Env = append(child.Env, variable+"=http://user:hidden@"+between.address)
			}
			said, err := child.CombinedOutput()
			if err != nil {
				t.Fatal(err, string(said))
			}
			for _, wanted := range one.says {
				if !strings.Contains(string(said), strings.ReplaceAll(wanted, "ITS-ADDRESS", between.address)) {
					t.Errorf("it does not say %q: %s", wanted, said)
				}
			}
			if strings.Contains(string(said), "hidden") {
				t.Errorf("it shows the password of the proxy: %s", said)
			}
			heard := between.all()
			if one.uses != strings.HasPrefix(heard, "CONNECT "+one.address) || !one.uses && heard != "" || strings.Contains(heard, childToken) {
				t.Errorf("the proxy has heard %.300q", heard)
			}
		})
	}
}

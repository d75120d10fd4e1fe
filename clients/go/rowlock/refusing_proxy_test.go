// A proxy that refuses streams.

package rowlock_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// startRefusingProxy is an HTTP/2 proxy that refuses all streams with this function, and passes other calls on.
func startRefusingProxy(t *testing.T, to string, refuse http.HandlerFunc) string {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	passOn := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	passOn.Transport = &http.Transport{Protocols: protocols}
	// Tests stop servers on purpose, so these errors are expected.
	passOn.ErrorLog = log.New(io.Discard, "", 0)
	proxy := &http.Server{
		Protocols: protocols,
		Handler: http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			if strings.HasSuffix(request.URL.Path, "/Session") || strings.HasSuffix(request.URL.Path, "/WaitInQueue") {
				refuse(response, request)
			} else {
				passOn.ServeHTTP(response, request)
			}
		}),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go proxy.Serve(listener)
	t.Cleanup(func() { proxy.Close() })
	return listener.Addr().String()
}

// refusals are ways in which proxies and servers refuse streams.
var refusals = map[string]http.HandlerFunc{
	"unimplemented": func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "application/grpc")
		response.Header().Set("Grpc-Status", "12")
		response.Header().Set("Grpc-Message", "unknown method Session")
	},
	"HTTP 400": refusedBy(http.StatusBadRequest),
	"HTTP 403": refusedBy(http.StatusForbidden),
	"HTTP 404": refusedBy(http.StatusNotFound),
	"HTTP 405": refusedBy(http.StatusMethodNotAllowed),
	"reset":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
}

func refusedBy(status int) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) { http.Error(response, "no streams", status) }
}

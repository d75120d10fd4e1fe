// Commands that make and close clients, and one that keeps a thread busy.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"runtime"
	"time"

	rowlock "github.com/rowlock/rowlock/clients/go"
)

type tlsFiles struct {
	CAFile     string
	CertFile   string
	KeyFile    string
	ServerName string
}

func (d *driver) connect(asked *command) (any, error) {
	config := rowlock.Config{
		Addresses: asked.Addresses, Owner: asked.Owner, Labels: asked.Labels, Headers: asked.Headers,
	}
	if asked.GiveUpAfterMs != nil {
		config.GiveUpAfter = durationOf(*asked.GiveUpAfterMs)
	}
	if asked.ConnectTimeoutMs != nil {
		config.ConnectTimeout = durationOf(*asked.ConnectTimeoutMs)
	}
	if asked.TLS != nil {
		var err error
		if config.TLS, err = asked.TLS.read(); err != nil {
			return nil, err
		}
	}
	client, err := rowlock.Connect(config)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[asked.Client] = client
	return object{}, nil
}

func (f *tlsFiles) read() (*tls.Config, error) {
	config := &tls.Config{ServerName: f.ServerName}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	if f.CertFile != "" {
		own, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func (d *driver) clientOf(asked *command) (*rowlock.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.clients[asked.Client]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no client %s", asked.Client)
}

func (d *driver) closeClient(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	return object{}, client.Close()
}

// block keeps a thread busy.
func (d *driver) block(asked *command) (any, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for until := time.Now().Add(durationOf(asked.Ms)); time.Now().Before(until); {
	}
	return object{}, nil
}

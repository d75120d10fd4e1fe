// Commands that make and close clients, and one that keeps a thread busy.

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
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
	if asked.ExplainAfterMs != nil {
		config.ExplainAfter = durationOf(*asked.ExplainAfterMs)
	}
	if asked.TLS != nil {
		var err error
		if config.TLS, err = asked.TLS.read(); err != nil {
			return nil, err
		}
	}
	var err error
	if config.Token, err = d.tokenSource(asked); err != nil {
		return nil, err
	}
	config.AllowTokenInPlaintext = asked.AllowTokenInPlaintext
	client, err := rowlock.Connect(config)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[asked.Client] = client
	return object{}, nil
}

// tokenSource is the source of the client's token; nil if the command names none.
func (d *driver) tokenSource(asked *command) (*rowlock.TokenSource, error) {
	switch {
	case asked.Token != nil:
		var token string
		err := json.Unmarshal(*asked.Token, &token)
		return rowlock.StaticToken(token), err
	case asked.TokenFile != "":
		return rowlock.TokenFile(asked.TokenFile), nil
	case asked.TokenFunction != "":
		d.setTokenOf(asked.Client, asked.TokenFunction)
		return rowlock.TokenFunc(func(context.Context) (string, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.tokens[asked.Client], nil
		}), nil
	default:
		return nil, nil
	}
}

func (d *driver) setTokenOf(client, token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[client] = token
}

func (d *driver) setToken(asked *command) (any, error) {
	var token string
	if err := json.Unmarshal(*asked.Token, &token); err != nil {
		return nil, err
	}
	d.setTokenOf(asked.Client, token)
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
		// Called for each new connection, as the README shows.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			own, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
			return &own, err
		}
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

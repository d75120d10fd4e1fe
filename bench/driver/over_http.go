package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	rowlockv1 "rowlock/bench/gen/rowlock/v1"
)

// overHTTP calls by the Connect protocol over HTTP/1.1, in JSON or in binary. Each caller has a connection of its own, as one carries
// one call at a time.
type overHTTP struct {
	base, contentType string
	marshal           func(proto.Message) ([]byte, error)
	unmarshal         func([]byte, proto.Message) error
}

func connectOverHTTP(o options, isJSON bool) System {
	base := "http://" + o.address + "/rowlock.v1.LockService/"
	if isJSON {
		return &overHTTP{base, "application/json", protojson.Marshal, protojson.Unmarshal}
	}
	return &overHTTP{base, "application/proto", proto.Marshal, proto.Unmarshal}
}

func (h *overHTTP) Caller(context.Context, int) (Locks, error) {
	return &httpCaller{system: h, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}, nil
}

func (h *overHTTP) SetLimit(ctx context.Context, name string, limit uint32) error {
	caller := &httpCaller{system: h, client: http.DefaultClient}
	return caller.call(ctx, "SetLimit", setLimitRequest(name, limit), &rowlockv1.SetLimitResponse{})
}

type httpCaller struct {
	system *overHTTP
	client *http.Client
}

func (c *httpCaller) Acquire(ctx context.Context, name string) (string, error) {
	response := &rowlockv1.AcquireResponse{}
	if err := c.call(ctx, "Acquire", acquireRequest(name, newRequestID()), response); err != nil {
		return "", err
	}
	return leaseIDOf(response)
}

func (c *httpCaller) Release(ctx context.Context, held string) error {
	response := &rowlockv1.ReleaseResponse{}
	if err := c.call(ctx, "Release", &rowlockv1.ReleaseRequest{LeaseId: held}, response); err != nil {
		return err
	}
	return releasedBy(response)
}

func (c *httpCaller) call(ctx context.Context, verb string, asked, answered proto.Message) error {
	body, err := c.system.marshal(asked)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.system.base+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("content-type", c.system.contentType)
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", verb, response.Status, text)
	}
	return c.system.unmarshal(text, answered)
}

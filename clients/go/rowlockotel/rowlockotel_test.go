// What OpenTelemetry receives of a client whose server the test plays.

package rowlockotel_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlockotel"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// server has no sessions, grants the lock "free", and refuses all others.
type server struct {
	rowlockv1.UnimplementedLockServiceServer
	// traceparents are those of the calls, by method.
	traceparents chan string
}

func (s *server) hear(ctx context.Context, method string) {
	headers, _ := metadata.FromIncomingContext(ctx)
	s.traceparents <- method + " " + strings.Join(headers.Get("traceparent"), ",")
}

func (s *server) GetLock(context.Context, *rowlockv1.GetLockRequest) (*rowlockv1.GetLockResponse, error) {
	return &rowlockv1.GetLockResponse{}, nil
}

func (s *server) Acquire(ctx context.Context, asked *rowlockv1.AcquireRequest) (*rowlockv1.AcquireResponse, error) {
	s.hear(ctx, "acquire")
	if asked.GetName() == "free" {
		lease := &rowlockv1.Lease{LeaseId: "secret", LockName: "free", FencingToken: 7, Ttl: asked.GetTerms().GetTtl(), Mode: asked.GetMode(), Permits: 1}
		return &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Lease{Lease: lease}}, nil
	}
	refusal := &rowlockv1.Refusal{Reason: rowlockv1.RefusalReason_REFUSAL_REASON_EXHAUSTED}
	return &rowlockv1.AcquireResponse{Outcome: &rowlockv1.AcquireResponse_Refusal{Refusal: refusal}}, nil
}

func (s *server) Capture(ctx context.Context, _ *rowlockv1.CaptureRequest) (*rowlockv1.CaptureResponse, error) {
	s.hear(ctx, "capture")
	return &rowlockv1.CaptureResponse{}, nil
}

func (s *server) Release(ctx context.Context, _ *rowlockv1.ReleaseRequest) (*rowlockv1.ReleaseResponse, error) {
	s.hear(ctx, "release")
	return &rowlockv1.ReleaseResponse{Released: true}, nil
}

// play serves, and returns a client for this server with its spans and metrics.
func play(t *testing.T) (*server, *rowlock.Client, *trace.TracerProvider, *tracetest.SpanRecorder, metric.Reader) {
	played := &server{traceparents: make(chan string, 10)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving := grpc.NewServer()
	rowlockv1.RegisterLockServiceServer(serving, played)
	go serving.Serve(listener)
	t.Cleanup(serving.Stop)

	spans := tracetest.NewSpanRecorder()
	tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	reader := metric.NewManualReader()
	client, err := rowlock.Connect(rowlock.Config{
		Addresses: []string{listener.Addr().String()},
		Telemetry: rowlockotel.With(tracers, metric.NewMeterProvider(metric.WithReader(reader))),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return played, client, tracers, spans, reader
}

func TestSpansAndMetricsReachTheProviders(t *testing.T) {
	played, client, tracers, spans, reader := play(t)
	ctx, caller := tracers.Tracer("test").Start(context.Background(), "program")
	err := client.WithLock(ctx, "free", func(context.Context, *rowlock.Lock) error {
		// The count changes right after the grant.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if held := measured(t, reader)["rowlock.client.held"]; held == "1 map[]" {
				return nil
			} else if time.Now().After(deadline) {
				return fmt.Errorf("while the lock is held: %q", held)
			}
		}
	}, rowlock.As(rowlock.Exclusive))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Lock(context.Background(), "used up"); err == nil {
		t.Fatal("it was granted")
	}
	client.Close()
	if _, err := client.Lock(context.Background(), "closed"); err == nil {
		t.Fatal("it was granted")
	}
	caller.End()

	ended := spans.Ended()
	var found []string
	for _, span := range ended {
		var attributes []string
		for _, one := range span.Attributes() {
			attributes = append(attributes, fmt.Sprintf("%s=%v", one.Key, one.Value.AsInterface()))
		}
		found = append(found, fmt.Sprintf("%s %s %s", span.Name(), span.SpanKind(), strings.Join(attributes, " ")))
	}
	want := []string{
		"rowlock.lock client rowlock.lock.name=free rowlock.lock.mode=exclusive rowlock.lock.permits=1 " +
			"rowlock.outcome=granted rowlock.waited=false rowlock.fencing_token=7",
		"rowlock.hold internal rowlock.lock.name=free rowlock.lock.mode=exclusive rowlock.lock.permits=1 " +
			"rowlock.fencing_token=7 rowlock.lost=false",
		"rowlock.lock client rowlock.lock.name=used up rowlock.lock.mode=permit rowlock.lock.permits=1 " +
			"rowlock.outcome=exhausted rowlock.waited=false",
		"rowlock.lock client rowlock.lock.name=closed rowlock.lock.mode=permit rowlock.lock.permits=1 " +
			"rowlock.waited=false rowlock.outcome=cancelled",
		"program internal ",
	}
	if strings.Join(found, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%s\n\nis not\n\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
	for _, span := range ended[:2] {
		if span.Parent().SpanID() != caller.SpanContext().SpanID() {
			t.Errorf("%s is not within the caller's span", span.Name())
		}
	}
	for at, method := range []string{"acquire", "release"} {
		played.expect(t, method, ended[at])
	}
	numbers := measured(t, reader)
	if numbers["rowlock.client.held"] != "0 map[]" || numbers["rowlock.client.waiting"] != "0 map[]" || numbers["rowlock.client.wait.duration"] != "1 map[]" {
		t.Errorf("%v", numbers)
	}
}

func TestACaptureCarriesTheTraceContextOfItsSpan(t *testing.T) {
	played, client, _, spans, _ := play(t)
	if _, err := client.Capture(context.Background(), rowlock.Prefix("task/")); err != nil {
		t.Fatal(err)
	}
	played.expect(t, "capture", spans.Ended()[0])
}

// expect fails unless the next call was to this method, in this span.
func (s *server) expect(t *testing.T, method string, span trace.ReadOnlySpan) {
	t.Helper()
	of := span.SpanContext()
	want := fmt.Sprintf("%s 00-%s-%s-01", method, of.TraceID(), of.SpanID())
	if header := <-s.traceparents; header != want {
		t.Errorf("%q is not %q", header, want)
	}
}

func TestFailuresAndLosses(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	reader := metric.NewManualReader()
	told := rowlockotel.With(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider(metric.WithReader(reader)))
	_, span := told.Start(context.Background(), "rowlock.lock", true)
	span.End(rowlock.ErrNoServer)
	status := spans.Ended()[0].Status()
	if status.Code != codes.Error || status.Description != "NO_SERVER" {
		t.Errorf("%+v", status)
	}
	told.Waiting(1)
	told.Lost("expired")
	told.RenewalLate()
	numbers := measured(t, reader)
	if numbers["rowlock.client.waiting"] != "1 map[]" || numbers["rowlock.client.lost"] != "1 map[rowlock.reason:expired]" || numbers["rowlock.client.renewals.late"] != "1 map[]" {
		t.Errorf("%v", numbers)
	}
	if header := told.Traceparent(context.Background()); header != "" {
		t.Errorf("%q without a span", header)
	}
}

// measured are the values of all metrics, or how many there are, and their attributes.
func measured(t *testing.T, reader metric.Reader) map[string]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var metrics []metricdata.Metrics
	for _, scope := range all.ScopeMetrics {
		metrics = append(metrics, scope.Metrics...)
	}
	for _, one := range metrics {
		attributes := map[string]any{}
		switch data := one.Data.(type) {
		case metricdata.Sum[int64]:
			for _, pair := range data.DataPoints[0].Attributes.ToSlice() {
				attributes[string(pair.Key)] = pair.Value.AsInterface()
			}
			found[one.Name] = fmt.Sprintf("%d %v", data.DataPoints[0].Value, attributes)
		case metricdata.Histogram[float64]:
			found[one.Name] = fmt.Sprintf("%d %v", data.DataPoints[0].Count, attributes)
		}
	}
	return found
}

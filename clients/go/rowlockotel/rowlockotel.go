// Package rowlockotel gives the spans and metrics of a Rowlock client to OpenTelemetry:
//
//	rowlock.Config{Telemetry: rowlockotel.New()}
package rowlockotel

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

const scope = "github.com/rowlock/rowlock/clients/go/rowlockotel"

// waitBoundaries: waits take milliseconds to hours, while the default boundaries are meant for milliseconds.
var waitBoundaries = []float64{
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600,
}

// New uses the providers that the program has set, or sets later, with the package otel.
func New() rowlock.Telemetry {
	return With(otel.GetTracerProvider(), otel.GetMeterProvider())
}

// With uses these providers.
func With(tracers trace.TracerProvider, meters metric.MeterProvider) rowlock.Telemetry {
	meter := meters.Meter(scope, metric.WithInstrumentationVersion(rowlock.Version))
	return &telemetry{
		tracer: tracers.Tracer(scope, trace.WithInstrumentationVersion(rowlock.Version)),
		held: made(meter.Int64UpDownCounter("rowlock.client.held",
			metric.WithUnit("{lease}"), metric.WithDescription("Leases that the client holds"))),
		waiting: made(meter.Int64UpDownCounter("rowlock.client.waiting",
			metric.WithUnit("{request}"), metric.WithDescription("Requests for a lock that have no answer yet"))),
		waited: made(meter.Float64Histogram("rowlock.client.wait.duration",
			metric.WithUnit("s"), metric.WithDescription("Time from a request for a lock to its grant"),
			metric.WithExplicitBucketBoundaries(waitBoundaries...))),
		lost: made(meter.Int64Counter("rowlock.client.lost",
			metric.WithUnit("{lease}"), metric.WithDescription("Leases that ended although the client had not given them back"))),
		late: made(meter.Int64Counter("rowlock.client.renewals.late",
			metric.WithUnit("{renewal}"), metric.WithDescription("Renewals without an answer after two thirds of the lease's time"))),
	}
}

// made reports the error of an instrument, which then measures nothing.
func made[Instrument any](instrument Instrument, err error) Instrument {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}

type telemetry struct {
	tracer  trace.Tracer
	held    metric.Int64UpDownCounter
	waiting metric.Int64UpDownCounter
	waited  metric.Float64Histogram
	lost    metric.Int64Counter
	late    metric.Int64Counter
}

func (t *telemetry) Start(
	ctx context.Context, name string, isRequest bool, attributes ...slog.Attr,
) (context.Context, rowlock.Span) {
	kind := trace.SpanKindInternal
	if isRequest {
		kind = trace.SpanKindClient
	}
	ctx, begun := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(keyValues(attributes)...))
	return ctx, span{begun}
}

func (t *telemetry) Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

func (t *telemetry) Held(by int) {
	t.held.Add(context.Background(), int64(by))
}

func (t *telemetry) Waiting(by int) {
	t.waiting.Add(context.Background(), int64(by))
}

func (t *telemetry) Waited(wait time.Duration) {
	t.waited.Record(context.Background(), wait.Seconds())
}

func (t *telemetry) Lost(reason string) {
	t.lost.Add(context.Background(), 1, metric.WithAttributes(attribute.String("rowlock.reason", reason)))
}

func (t *telemetry) RenewalLate() {
	t.late.Add(context.Background(), 1)
}

type span struct {
	trace.Span
}

func (s span) End(failure rowlock.Reason, attributes ...slog.Attr) {
	s.SetAttributes(keyValues(attributes)...)
	if failure != "" {
		s.SetStatus(codes.Error, string(failure))
	}
	s.Span.End()
}

func keyValues(attributes []slog.Attr) []attribute.KeyValue {
	converted := make([]attribute.KeyValue, len(attributes))
	for index, one := range attributes {
		key := attribute.Key(one.Key)
		switch one.Value.Kind() {
		case slog.KindBool:
			converted[index] = key.Bool(one.Value.Bool())
		case slog.KindInt64:
			converted[index] = key.Int64(one.Value.Int64())
		case slog.KindUint64:
			converted[index] = key.Int64(int64(one.Value.Uint64()))
		default:
			converted[index] = key.String(one.Value.String())
		}
	}
	return converted
}

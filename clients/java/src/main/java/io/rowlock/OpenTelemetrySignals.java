// Spans and metrics through OpenTelemetry's API. Only this class names it, and making one fails with a LinkageError if
// the program does not have it. Spans begin on the thread of the caller, and end outside of the loop.

package io.rowlock;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.LongUpDownCounter;
import io.opentelemetry.api.metrics.Meter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;

final class OpenTelemetrySignals implements Telemetry.Signals {
  private static final String SCOPE = "io.rowlock.client";
  private static final AttributeKey<String> REASON = AttributeKey.stringKey("rowlock.reason");

  /** In seconds. Waits take milliseconds to hours; the default boundaries are meant for milliseconds. */
  private static final List<Double> WAIT_BOUNDARIES =
      List.of(
          0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
          900.0, 3_600.0);

  private final Executor later;
  private volatile Instruments made;

  OpenTelemetrySignals(Executor later) {
    this.later = later;
    instruments();
  }

  /** Made anew if the program has set its OpenTelemetry since. Never sets one, which the program could not do then. */
  private Instruments instruments() {
    OpenTelemetry program = GlobalOpenTelemetry.getOrNoop();
    Instruments latest = made;
    if (latest == null || latest.program != program) made = latest = new Instruments(program);
    return latest;
  }

  @Override
  public Telemetry.Request lock(String name, LockOptions asked) {
    Instruments its = instruments();
    if (its.dropAll()) return Telemetry.Request.NONE;
    SpanBuilder span =
        lockSpan(its.tracer.spanBuilder("rowlock.lock"), name, asked.mode, Math.max(1, asked.permits));
    return new Request(its, span, true);
  }

  @Override
  public Telemetry.Request capture() {
    Instruments its = instruments();
    if (its.dropAll()) return Telemetry.Request.NONE;
    SpanBuilder span = its.tracer.spanBuilder("rowlock.capture").setAttribute("rowlock.captured", 0);
    return new Request(its, span, false);
  }

  @Override
  public String traceparent() {
    return traceparentOf(Span.current());
  }

  @Override
  public void late() {
    instruments().late.add(1);
  }

  private static SpanBuilder lockSpan(SpanBuilder span, String name, Mode mode, int permits) {
    return span.setAttribute("rowlock.lock.name", name)
        .setAttribute("rowlock.lock.mode", mode.name().toLowerCase(Locale.ROOT))
        .setAttribute("rowlock.lock.permits", permits);
  }

  private static String traceparentOf(Span span) {
    SpanContext at = span.getSpanContext();
    return at.isValid()
        ? "00-" + at.getTraceId() + "-" + at.getSpanId() + "-" + at.getTraceFlags().asHex()
        : "";
  }

  private static final class Instruments {
    private final OpenTelemetry program;
    private final Tracer tracer;
    private final LongUpDownCounter held;
    private final LongUpDownCounter waiting;
    private final DoubleHistogram waited;
    private final LongCounter lost;
    private final LongCounter late;

    Instruments(OpenTelemetry program) {
      this.program = program;
      tracer = program.getTracer(SCOPE);
      Meter meter = program.getMeter(SCOPE);
      held =
          meter
              .upDownCounterBuilder("rowlock.client.held")
              .setUnit("{lease}")
              .setDescription("Leases that the client holds")
              .build();
      waiting =
          meter
              .upDownCounterBuilder("rowlock.client.waiting")
              .setUnit("{request}")
              .setDescription("Requests for a lock that have no answer yet")
              .build();
      waited =
          meter
              .histogramBuilder("rowlock.client.wait.duration")
              .setUnit("s")
              .setDescription("Time from a request for a lock to its grant")
              .setExplicitBucketBoundariesAdvice(WAIT_BOUNDARIES)
              .build();
      lost =
          meter
              .counterBuilder("rowlock.client.lost")
              .setUnit("{lease}")
              .setDescription("Leases that ended although the client had not given them back")
              .build();
      late =
          meter
              .counterBuilder("rowlock.client.renewals.late")
              .setUnit("{renewal}")
              .setDescription("Renewals without an answer after two thirds of the lease's time")
              .build();
    }

    boolean dropAll() {
      return program == OpenTelemetry.noop();
    }
  }

  private final class Request implements Telemetry.Request {
    private final Instruments its;
    private final boolean isForOneLock;
    private final Context caller = Context.current();
    private final Span span;
    private final long began = System.nanoTime();
    private volatile boolean hasWaited;

    Request(Instruments its, SpanBuilder span, boolean isForOneLock) {
      this.its = its;
      this.isForOneLock = isForOneLock;
      this.span = span.setSpanKind(SpanKind.CLIENT).startSpan();
      if (isForOneLock) its.waiting.add(1);
    }

    @Override
    public String traceparent() {
      return traceparentOf(span);
    }

    @Override
    public void placed() {
      hasWaited = true;
    }

    @Override
    public Telemetry.Hold held(HeldLease lease) {
      return new Hold(its, lease, caller);
    }

    @Override
    public void ended(Object outcome, Throwable failure) {
      if (isForOneLock) {
        its.waiting.add(-1);
        span.setAttribute("rowlock.waited", hasWaited);
      }
      if (failure != null) fail(failure);
      else if (outcome instanceof Outcome.Granted granted) {
        span.setAttribute("rowlock.outcome", "granted");
        span.setAttribute("rowlock.fencing_token", granted.lock().token());
        its.waited.record((System.nanoTime() - began) / 1e9);
      } else if (outcome instanceof Spent spent) {
        span.setAttribute("rowlock.outcome", "spent");
        span.setAttribute("rowlock.fencing_token", spent.token());
        its.waited.record((System.nanoTime() - began) / 1e9);
      } else if (outcome instanceof Outcome.Refused refused)
        span.setAttribute("rowlock.outcome", refused.refusal().reason().name().toLowerCase(Locale.ROOT));
      else if (outcome instanceof Captured captured)
        span.setAttribute("rowlock.captured", captured.locks().size());
      Instant at = Instant.now();
      later.execute(() -> span.end(at));
    }

    /** The status has only the reason, as messages may contain a request id. */
    private void fail(Throwable failure) {
      boolean isCancelled =
          failure instanceof CancellationException
              || (failure instanceof RowlockException given
                  && (given.reason() == Reason.CANCELLED || given.reason() == Reason.CLOSED));
      span.setAttribute("rowlock.outcome", isCancelled ? "cancelled" : "error");
      if (isCancelled) return;
      span.setStatus(
          StatusCode.ERROR,
          failure instanceof RowlockException error
              ? error.reasonName()
              : failure.getClass().getSimpleName());
    }
  }

  private final class Hold implements Telemetry.Hold {
    private final Instruments its;
    private final SpanBuilder builder;
    private Span span;

    Hold(Instruments its, HeldLease lease, Context caller) {
      this.its = its;
      builder =
          lockSpan(its.tracer.spanBuilder("rowlock.hold"), lease.lockName, lease.mode, lease.permits)
              .setAttribute("rowlock.fencing_token", lease.token)
              .setParent(caller)
              .setStartTimestamp(Instant.now());
      its.held.add(1);
      // A processor of the program may run at once when a span begins.
      later.execute(this::span);
    }

    private synchronized Span span() {
      if (span == null) span = builder.startSpan();
      return span;
    }

    @Override
    public Telemetry.Current makeCurrent() {
      return span().makeCurrent()::close;
    }

    @Override
    public void ended(RowlockException why) {
      its.held.add(-1);
      if (Telemetry.isLoss(why)) its.lost.add(1, Attributes.of(REASON, Telemetry.lossOf(why)));
      Instant at = Instant.now();
      later.execute(
          () -> {
            span().setAttribute("rowlock.lost", Telemetry.isLoss(why));
            if (Telemetry.isLoss(why))
              span()
                  .setAttribute(REASON, Telemetry.lossOf(why))
                  .setStatus(StatusCode.ERROR, why.reasonName());
            span().end(at);
          });
    }
  }
}

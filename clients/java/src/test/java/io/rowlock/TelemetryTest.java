package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionRequest;
import rowlock.v1.SessionResponse;

/** What a client reports beside its results: spans and metrics through OpenTelemetry, and a log. */
@Timeout(120)
class TelemetryTest {
  private static final Logger LOGGER = Logger.getLogger("rowlock");

  @RegisterExtension static final SharedServer server = new SharedServer();

  @RegisterExtension
  static final OpenTelemetryExtension program = OpenTelemetryExtension.create();

  private final Log log = new Log();
  private RowlockClient rowlock;

  /** After the extension has replaced what the last test had. */
  @BeforeEach
  void connect() {
    rowlock = RowlockClient.connect(server.address);
    LOGGER.setLevel(Level.ALL);
    LOGGER.addHandler(log);
  }

  @AfterEach
  void close() {
    rowlock.close();
    LOGGER.removeHandler(log);
    LOGGER.setLevel(null);
  }

  /** A span of the program, which is current until it is closed. */
  private static final class Caller implements AutoCloseable {
    private final Span span = program.getOpenTelemetry().getTracer("program").spanBuilder("caller").startSpan();
    private final Scope scope = span.makeCurrent();

    String id() {
      return span.getSpanContext().getSpanId();
    }

    @Override
    public void close() {
      scope.close();
      span.end();
    }
  }

  /** Waits for so many spans of this name, and returns them in the order of their starts. */
  private static List<SpanData> spans(String name, int count) throws InterruptedException {
    until(count + " spans of " + name, () -> named(name).size() == count);
    return named(name);
  }

  private static List<SpanData> named(String name) {
    return program.getSpans().stream()
        .filter(span -> span.getName().equals(name))
        .sorted(Comparator.comparingLong(SpanData::getStartEpochNanos))
        .toList();
  }

  private static SpanData span(String name) throws InterruptedException {
    return spans(name, 1).get(0);
  }

  private static String outcome(SpanData span) {
    return span.getAttributes().get(AttributeKey.stringKey("rowlock.outcome"));
  }

  private static void work(String name) {
    program.getOpenTelemetry().getTracer("program").spanBuilder(name).startSpan().end();
  }

  private static String traceparent(SpanContext at) {
    return "00-" + at.getTraceId() + "-" + at.getSpanId() + "-" + at.getTraceFlags().asHex();
  }

  /** The sum of a metric, or the count of a histogram. */
  private static long metric(String name) {
    return metric(name, Attributes.empty());
  }

  private static long metric(String name, Attributes attributes) {
    long sum = 0;
    for (MetricData metric : program.getMetrics()) {
      if (!metric.getName().equals("rowlock.client." + name)) continue;
      for (var point : metric.getLongSumData().getPoints())
        if (point.getAttributes().equals(attributes)) sum += point.getValue();
      for (var point : metric.getHistogramData().getPoints()) sum += point.getCount();
    }
    return sum;
  }

  @Test
  void ofSeveralWaitsForOneLockTheLogHasTheFirst() throws Exception {
    HeldLock held = rowlock.lock("crowd");
    ConnectOptions soon =
        ConnectOptions.to(server.address).explainAfter(Duration.ofMillis(200)).build();
    CountDownLatch told = new CountDownLatch(1);
    try (RowlockClient waiter = RowlockClient.connect(soon)) {
      List<CompletableFuture<HeldLock>> waits = new ArrayList<>();
      for (int count = 1; count < 20; count++) {
        waits.add(waiter.lockAsync("crowd", LockOptions.builder().build()));
        int waiting = count;
        until("it waits", () -> rowlock.getLock("crowd").waiterCount() == waiting);
      }
      waits.add(
          waiter.lockAsync(
              "crowd", LockOptions.builder().onWaiting(notice -> told.countDown()).build()));
      // It is told after those before it had their turns.
      assertTrue(told.await(60, TimeUnit.SECONDS));
      assertEquals(1, log.count(Level.INFO, "Rowlock: waiting for \"crowd\""));
      held.close();
      for (CompletableFuture<HeldLock> wait : waits) wait.get().close();
    }
  }

  @Test
  void spansAreAroundLockAndWork() throws Exception {
    try (Caller caller = new Caller()) {
      long token =
          rowlock.callWithLock(
              "around",
              LockOptions.builder().mode(Mode.EXCLUSIVE).build(),
              lock -> {
                work("work");
                assertEquals(1, metric("held"));
                return lock.token();
              });
      work("after");
      SpanData asked = span("rowlock.lock");
      assertEquals(SpanKind.CLIENT, asked.getKind());
      Attributes lock =
          Attributes.builder()
              .put("rowlock.lock.name", "around")
              .put("rowlock.lock.mode", "exclusive")
              .put("rowlock.lock.permits", 1)
              .put("rowlock.fencing_token", token)
              .build();
      assertEquals(
          lock.toBuilder()
              .put("rowlock.outcome", "granted")
              .put("rowlock.waited", false)
              .build()
              .asMap(),
          asked.getAttributes().asMap());
      SpanData hold = span("rowlock.hold");
      assertEquals(
          lock.toBuilder().put("rowlock.lost", false).build().asMap(), hold.getAttributes().asMap());
      assertEquals(caller.id(), asked.getParentSpanId());
      assertEquals(caller.id(), hold.getParentSpanId());
      assertEquals(hold.getSpanId(), span("work").getParentSpanId());
      assertEquals(caller.id(), span("after").getParentSpanId());
      assertEquals(StatusData.unset(), hold.getStatus());
      // As of the release, even if another thread ends it later.
      assertTrue(hold.getEndEpochNanos() <= span("after").getStartEpochNanos());
    }
    assertEquals(1, metric("wait.duration"));
    until("nothing is held", () -> metric("held") == 0);
  }

  @Test
  void aLockWithoutAScopeIsHeldUntilItsRelease() throws Exception {
    try (Caller caller = new Caller()) {
      HeldLock lock = rowlock.lockAsync("scopeless", LockOptions.defaults()).get();
      assertEquals(caller.id(), Span.current().getSpanContext().getSpanId());
      span("rowlock.lock");
      assertEquals(List.of(), named("rowlock.hold"));
      lock.release();
      assertEquals(caller.id(), span("rowlock.hold").getParentSpanId());
    }
  }

  @Test
  void aRefusalIsAnOutcomeAndNoError() throws Exception {
    try (HeldLock lock = rowlock.lock("refused")) {
      rowlock.tryLock("refused");
      LockOptions brief = LockOptions.builder().waitAtMost(Duration.ofMillis(50)).build();
      rowlock.acquire("refused", brief);
      List<SpanData> asked = spans("rowlock.lock", 3);
      assertEquals(
          List.of("granted", "busy", "timed_out"), asked.stream().map(TelemetryTest::outcome).toList());
      AttributeKey<Boolean> waited = AttributeKey.booleanKey("rowlock.waited");
      assertEquals(
          List.of(false, false, true),
          asked.stream().map(span -> span.getAttributes().get(waited)).toList());
      assertEquals(StatusData.unset(), asked.get(2).getStatus());
      assertNull(asked.get(2).getAttributes().get(AttributeKey.longKey("rowlock.fencing_token")));
      assertEquals(1, metric("wait.duration"));
    }
  }

  @Test
  void aCancelledWaitIsAnOutcomeOfItsOwn() throws Exception {
    try (HeldLock lock = rowlock.lock("cancelled")) {
      CompletableFuture<HeldLock> wait = rowlock.lockAsync("cancelled", LockOptions.defaults());
      until("it waits", () -> rowlock.getLock("cancelled").waiterCount() == 1);
      assertEquals(1, metric("waiting"));
      wait.cancel(true);
      SpanData asked = spans("rowlock.lock", 2).get(1);
      assertEquals("cancelled", outcome(asked));
      assertEquals(0, metric("waiting"));
      assertEquals(StatusData.unset(), asked.getStatus());
    }
  }

  @Test
  void anErrorHasItsReasonAndNoId() throws Exception {
    try (RowlockClient nowhere =
        RowlockClient.connect(
            ConnectOptions.to("127.0.0.1:9").giveUpAfter(Duration.ofMillis(200)).build())) {
      assertThrows(
          RowlockException.class, () -> nowhere.lock("x", with -> with.requestId("my-id").noExpiry()));
    }
    SpanData asked = span("rowlock.lock");
    assertEquals("error", outcome(asked));
    assertEquals(StatusData.create(StatusCode.ERROR, "NO_SERVER"), asked.getStatus());
    assertFalse(asked.toString().contains("my-id"));
  }

  @Test
  void aCaptureSaysHowManyItGot() throws Exception {
    for (String task : List.of("some/a", "some/b"))
      rowlock.updateRecord(RecordChanges.of(task).status("new"));
    try (Caller caller = new Caller()) {
      rowlock.capture(with -> with.prefix("some/").count(5)).close();
      rowlock.capture(with -> with.prefix("none/")).close();
      AttributeKey<Long> captured = AttributeKey.longKey("rowlock.captured");
      List<SpanData> spans = new ArrayList<>(spans("rowlock.capture", 2));
      assertEquals(
          List.of(2L, 0L), spans.stream().map(span -> span.getAttributes().get(captured)).toList());
      spans.addAll(spans("rowlock.hold", 2));
      assertEquals(
          Set.of(caller.id()),
          spans.stream().map(SpanData::getParentSpanId).collect(Collectors.toSet()));
    }
  }

  @Test
  void aLostLockIsASpanInErrorACountAndAWarning() throws Exception {
    CountDownLatch lost = new CountDownLatch(1);
    rowlock.lock("lost").onLost(lost::countDown);
    rowlock.forceRelease("lost", "maintenance");
    lost.await();
    SpanData hold = span("rowlock.hold");
    AttributeKey<String> reason = AttributeKey.stringKey("rowlock.reason");
    assertEquals(true, hold.getAttributes().get(AttributeKey.booleanKey("rowlock.lost")));
    assertEquals("force_released", hold.getAttributes().get(reason));
    assertEquals(StatusData.create(StatusCode.ERROR, "LEASE_LOST"), hold.getStatus());
    assertEquals(1, metric("lost", Attributes.of(reason, "force_released")));
    log.untilSaid(Level.WARNING, "The lock \"lost\" is lost (force_released).");
  }

  @Test
  void aLateRenewalIsCountedAndAWarning() throws Exception {
    Pipe pipe = new Pipe(server.address);
    try (RowlockClient muted = RowlockClient.connect(pipe.address())) {
      muted.lock("late", with -> with.ttl(Duration.ofSeconds(5)).margin(Duration.ofMillis(500)));
      pipe.mute();
      log.untilSaid(
          Level.WARNING, "The renewal of the lock \"late\" is late: two thirds of its ttl have passed.");
      assertEquals(1, metric("renewals.late"));
      log.untilSaid(Level.WARNING, "The lock \"late\" is lost (expired).");
    } finally {
      pipe.close();
    }
  }

  @Test
  void commandsOfASessionCarryTheTraceContext() throws Exception {
    BlockingQueue<SessionCommand> commands = new LinkedBlockingQueue<>();
    Server deaf = ServerBuilder.forPort(0).addService(new Hearing(commands)).build().start();
    RowlockClient its = RowlockClient.connect("127.0.0.1:" + deaf.getPort());
    try (Caller caller = new Caller()) {
      its.lockAsync("traced", LockOptions.defaults());
      SessionCommand wait = commands.take();
      its.captureAsync(CaptureOptions.builder().prefix("traced/").build());
      SessionCommand capture = commands.take();
      CompletableFuture.runAsync(() -> its.getLock("traced"));
      SessionCommand untraced = commands.take();
      Thread.currentThread().interrupt();
      assertThrows(RowlockException.class, () -> its.getLock("traced"));
      assertTrue(Thread.interrupted());
      SessionCommand traced = commands.take();
      its.close();
      assertEquals(traceparent(span("rowlock.lock").getSpanContext()), wait.getTraceparent());
      assertEquals(traceparent(span("rowlock.capture").getSpanContext()), capture.getTraceparent());
      assertEquals("", untraced.getTraceparent());
      assertEquals(traceparent(caller.span.getSpanContext()), traced.getTraceparent());
    } finally {
      its.close();
      deaf.shutdownNow();
    }
  }

  @Test
  void unaryCallsCarryItAsMetadata() throws Exception {
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient unary = RowlockClient.connect(proxy.address());
        Caller caller = new Caller()) {
      unary.lock("unary").release();
      unary.capture(with -> with.prefix("unary/")).close();
      assertEquals(traceparent(span("rowlock.lock").getSpanContext()), proxy.context("Acquire"));
      assertEquals(traceparent(span("rowlock.capture").getSpanContext()), proxy.context("Capture"));
      assertEquals(traceparent(caller.span.getSpanContext()), proxy.context("Release"));
      assertEquals("", proxy.context("GetLock"));
    }
  }

  @Test
  void theLogHasEachTroubleOfTheConnectionOnce() throws Exception {
    Pipe pipe = new Pipe(server.address);
    try (RowlockClient cut = RowlockClient.connect(pipe.address())) {
      cut.lock("cut", with -> with.ttl(Duration.ofMinutes(10)));
      String connected = "Connected to " + pipe.address() + ".";
      log.untilSaid(Level.INFO, connected);
      pipe.cut();
      String trouble = "There is no connection to " + pipe.address() + ": ";
      until("it tries again and again", () -> log.count(Level.FINE, trouble) > 2);
      assertEquals(1, log.count(Level.WARNING, trouble));
      pipe.mend();
      until("it is connected again", () -> log.count(Level.INFO, connected) == 2);
    } finally {
      pipe.close();
    }
  }

  @Test
  void theLogSaysThatAServerIsGoingAway() throws Exception {
    SharedServer own = new SharedServer();
    own.beforeAll(null);
    try (RowlockClient its = RowlockClient.connect(own.address, server.address)) {
      its.lock("moved", with -> with.ttl(Duration.ofMinutes(10)));
      own.afterAll(null);
      log.untilSaid(
          Level.INFO, "The server at " + own.address + " is going away, so the client moves to another one.");
    }
  }

  @Test
  void theLogNamesRefusedCredentialsAndNoSecret() throws Exception {
    try (Guard guard = new Guard(server.address, true, "good-secret");
        RowlockClient refused =
            RowlockClient.connect(
                ConnectOptions.to(guard.address()).token("wrong-secret").build())) {
      assertThrows(RowlockException.class, () -> refused.lock("x"));
      until("it is logged", () -> log.count(Level.SEVERE, "No server accepts this client: ") == 1);
      assertEquals(0, log.count(Level.ALL, "secret"));
    }
  }

  @Test
  void aLogThatHangsDelaysNoRenewal() throws Exception {
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Log hanging =
        new Log() {
          @Override
          public void publish(LogRecord line) {
            hangs.countDown();
            try {
              goOn.await();
            } catch (InterruptedException unexpected) {
              throw new IllegalStateException(unexpected);
            }
          }
        };
    LOGGER.addHandler(hanging);
    try {
      HeldLock lock = rowlock.lock("hanging", with -> with.ttl(Duration.ofSeconds(2)));
      hangs.await();
      long granted = lock.lease().deadline();
      until("it was renewed", () -> lock.lease().deadline() > granted + Times.ofMillis(3_000));
      assertTrue(lock.isHeld());
    } finally {
      goOn.countDown();
      LOGGER.removeHandler(hanging);
    }
  }

  @Test
  void nothingIsRequired() throws Exception {
    String classes =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(path -> !path.contains("opentelemetry"))
            .collect(Collectors.joining(File.pathSeparator));
    Process bare =
        new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java",
                "-cp",
                classes,
                WithoutOpenTelemetry.class.getName(),
                server.address)
            .redirectErrorStream(true)
            .start();
    String said = new String(bare.getInputStream().readAllBytes());
    assertTrue(bare.waitFor(60, TimeUnit.SECONDS));
    assertTrue(said.endsWith("no OpenTelemetry, token 1\n"), said);
    assertFalse(said.contains("Exception"), said);
  }

  /** A program without OpenTelemetry. */
  static final class WithoutOpenTelemetry {
    public static void main(String[] arguments) throws Exception {
      String found = "no OpenTelemetry";
      try {
        found = Class.forName("io.opentelemetry.context.Context").getName();
      } catch (ClassNotFoundException expected) {
        // As it should be.
      }
      try (RowlockClient client = RowlockClient.connect(arguments[0])) {
        client.capture(with -> with.prefix("bare/")).close();
        long token = client.callWithLock("bare", lock -> lock.token());
        System.out.println(found + ", token " + token);
      }
    }
  }

  /** What was logged. */
  private static class Log extends Handler {
    private final List<LogRecord> lines = new CopyOnWriteArrayList<>();

    @Override
    public void publish(LogRecord line) {
      lines.add(line);
    }

    /** Counts the lines of this level, or of all, that contain this. */
    long count(Level level, String what) {
      return lines.stream()
          .filter(line -> level == Level.ALL || line.getLevel().equals(level))
          .filter(line -> line.getMessage().contains(what))
          .count();
    }

    void untilSaid(Level level, String what) throws InterruptedException {
      until("it is logged: " + what, () -> count(level, what) > 0);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  /** A server that never answers. */
  private static final class Hearing extends LockServiceGrpc.LockServiceImplBase {
    private final BlockingQueue<SessionCommand> commands;

    Hearing(BlockingQueue<SessionCommand> commands) {
      this.commands = commands;
    }

    @Override
    public StreamObserver<SessionRequest> session(StreamObserver<SessionResponse> answers) {
      return new StreamObserver<>() {
        @Override
        public void onNext(SessionRequest request) {
          commands.addAll(request.getCommandsList());
        }

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
      };
    }
  }
}

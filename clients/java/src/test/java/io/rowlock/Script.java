// A scripted server without a network: the test gets each command as the client sends it, and decides the answers.

package io.rowlock;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

final class Script implements AutoCloseable {
  private static final long GIVE_UP_AFTER = Times.ofMillis(30_000);

  private final EventLoop loop = new EventLoop();
  private final Callbacks callbacks = new Callbacks();
  private volatile long now;
  final Clock clock = new Clock(() -> now, OptionalLong::empty);
  final Calls calls = new Calls(loop, clock, List.of(), () -> {}, () -> null);
  private final Telemetry telemetry = new Telemetry(callbacks);

  /** The leases whose renewals were late. */
  final BlockingQueue<HeldLease> late = new LinkedBlockingQueue<>();

  final LeaseKeeper keeper =
      new LeaseKeeper(loop, clock, calls, Optional::empty, () -> {}, error -> {}, late::add);
  private final Verbs verbs = new Verbs(loop, calls, GIVE_UP_AFTER, () -> "");
  final HeldLocks locks =
      new HeldLocks(
          loop, clock, keeper, verbs, new Promises(loop::isClosed), callbacks, telemetry, give -> {});
  private Line line;

  Script() {
    reconnect();
  }

  /** Begins a capture as a client does. */
  Asked capture(CaptureOptions options) {
    CompletableFuture<Captured> outcome = new CompletableFuture<>();
    Capture capture =
        new Capture(
            clock, calls, locks, options, GIVE_UP_AFTER, outcome, Telemetry.Request.NONE);
    onLoop(capture::begin);
    return new Asked(capture, outcome);
  }

  /** Begins to ask for the lock "x". */
  CompletableFuture<Outcome> acquire(LockOptions options) {
    return ask(options).thenApply(Outcome.class::cast);
  }

  /** Begins to spend of the lock "x". */
  CompletableFuture<Answer> spend(SpendOptions options) {
    return ask(options.asked);
  }

  private CompletableFuture<Answer> ask(LockOptions options) {
    CompletableFuture<Answer> outcome = new CompletableFuture<>();
    Acquisition acquisition =
        new Acquisition(
            loop,
            clock,
            calls,
            callbacks.inTurn(),
            locks,
            new WaitReports(
                loop, clock, verbs, locks, telemetry, callbacks.inTurn(), Times.FOREVER),
            "x",
            options,
            GIVE_UP_AFTER,
            outcome,
            Telemetry.Request.NONE);
    onLoop(acquisition::begin);
    return outcome;
  }

  record Asked(Capture capture, CompletableFuture<Captured> outcome) {}

  /** The next command that the client sends. */
  SessionCommand next() throws InterruptedException {
    SessionCommand command = line.sent.poll(25, TimeUnit.SECONDS);
    if (command == null) throw new AssertionError("nothing is asked for");
    return command;
  }

  void answer(SessionCommand command, SessionResult.Builder result) {
    SessionResult numbered = result.setCall(command.getCall()).build();
    onLoop(() -> calls.results(List.of(numbered), clock.now()));
  }

  void fail(SessionCommand command, Reason reason, Code code) {
    ErrorInfo info = ErrorInfo.newBuilder().setDomain("rowlock").setReason(reason.name()).build();
    Status error =
        Status.newBuilder().setCode(code.value()).setMessage("no").addDetails(Any.pack(info)).build();
    answer(command, SessionResult.newBuilder().setError(error));
  }

  /** Loses the connection. */
  void disconnect() {
    Line lost = line;
    line = null;
    onLoop(
        () -> calls.ended(lost, new RowlockException(Reason.UNKNOWN, Code.UNAVAILABLE, "lost")));
  }

  /** Loses the connection if there is one, and begins another. */
  void reconnect() {
    if (line != null) disconnect();
    line = new Line();
    onLoop(() -> calls.begun(line));
  }

  void pass(long nanos) {
    now += nanos;
  }

  void onLoop(Runnable task) {
    CompletableFuture.runAsync(task, loop::run).join();
  }

  @Override
  public void close() {
    loop.close();
    callbacks.close();
  }

  private static final class Line implements Connection {
    private final BlockingQueue<SessionCommand> sent = new LinkedBlockingQueue<>();

    @Override
    public Address address() {
      return new Address("script", 1);
    }

    @Override
    public Opened opened() {
      return new Opened("script", 100, 100, commandBytesMax());
    }

    @Override
    public int commandBytesMax() {
      return 100_000;
    }

    @Override
    public ConnectionEvent.Via via() {
      return ConnectionEvent.Via.SESSION;
    }

    @Override
    public int renewalsMax() {
      return 500;
    }

    @Override
    public void send(SessionCommand command) {
      sent.add(command);
    }

    @Override
    public boolean cancel(long call) {
      send(SessionCommand.newBuilder().setCancel(call).build());
      return true;
    }

    @Override
    public boolean hasSent(long call) {
      return true;
    }

    @Override
    public void acknowledge() {}

    @Override
    public void close(long within, Runnable closed) {
      closed.run();
    }

    @Override
    public void destroy() {}
  }
}

// What a program learns of its client beside the results: a log, and spans and metrics through OpenTelemetry's API, if
// the program has it. Nothing here names a lease id, a request id or a token of the caller. What may block, such as a
// handler of the log, runs outside of the loop, so that it delays no renewal.

package io.rowlock;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

final class Telemetry {
  /** The spans and metrics. These ones drop all. For any thread. */
  interface Signals {
    /** Begins the span of a request for a lock, on the thread of its caller. */
    default Request lock(String name, LockOptions asked) {
      return Request.NONE;
    }

    /** Begins the span of a capture, on the thread of its caller. */
    default Request capture() {
      return Request.NONE;
    }

    /** The trace context of the current span of this thread; empty if there is none. */
    default String traceparent() {
      return "";
    }

    /** A renewal has no answer although two thirds of the lease's time have passed. */
    default void late() {}
  }

  /** A request and its span. */
  interface Request {
    Request NONE = new Request() {};

    /** The trace context of the span; empty if there is none. */
    default String traceparent() {
      return "";
    }

    /** It has a place in the queue. */
    default void placed() {}

    /** It was granted this lease, which the client holds from now on. */
    default Hold held(HeldLease lease) {
      return Hold.NONE;
    }

    /** The end of its future. */
    default void ended(Object outcome, Throwable failure) {}
  }

  /** A held lease and its span. */
  interface Hold {
    Hold NONE = new Hold() {};

    /** Makes the span the current one of this thread, until the result is closed. */
    default Current makeCurrent() {
      return () -> {};
    }

    /** The lease has ended: lost, or given back. */
    default void ended(RowlockException why) {}
  }

  interface Current extends AutoCloseable {
    @Override
    void close();
  }

  private static final Logger LOG = LoggerFactory.getLogger("rowlock");

  private final Executor later;
  final Signals signals;

  /** The troubles that were logged since a server has last answered. On the loop only. */
  private final Set<String> troubles = new HashSet<>();

  /** On the loop only. */
  private boolean isConnected;

  Telemetry(Callbacks callbacks) {
    later = callbacks.inTurn();
    signals = signals(later);
  }

  private static Signals signals(Executor later) {
    try {
      return new OpenTelemetrySignals(later);
    } catch (LinkageError absent) {
      // The program has no OpenTelemetry, or one from before version 1.57.
      return new Signals() {};
    }
  }

  /** Takes a lease that the client holds from now on. */
  Hold kept(HeldLease lease, Request request) {
    Hold hold = request.held(lease);
    lease.onEnd(
        why -> {
          hold.ended(why);
          if (isLoss(why))
            log(Level.WARN, "The lock \"" + lease.lockName + "\" is lost (" + lossOf(why) + ").");
        });
    return hold;
  }

  void late(HeldLease lease) {
    signals.late();
    log(
        Level.WARN,
        "The renewal of the lock \"" + lease.lockName + "\" is late: two thirds of its ttl have passed.");
  }

  void connection(ConnectionEvent event) {
    if (event instanceof ConnectionEvent.Disconnected ended) {
      // If the client was not connected, Diagnosing says more, and only once.
      log(
          isConnected ? Level.WARN : Level.DEBUG,
          "There is no connection to " + ended.address() + ": " + ended.error().getMessage());
      isConnected = false;
    } else {
      troubles.clear();
      isConnected = true;
      log(Level.INFO, "Connected to " + event.address() + ".");
    }
  }

  /** No server has answered for a while. */
  void keepsTrying(List<Diagnosis> diagnoses) {
    String found = diagnoses.stream().map(Diagnosis::toString).collect(Collectors.joining("; "));
    log(Level.WARN, "No server answers yet, so the client keeps trying: " + found + ".");
  }

  /** @param own what this client waits for and itself holds. */
  void waits(WaitNotice notice, Optional<HeldLocks.OwnHold> own, boolean isForItself) {
    String line =
        "Rowlock: waiting for \"" + notice.name() + "\" since " + notice.waited().toSeconds() + " s, with "
            + notice.place().ahead() + " before it";
    if (own.isPresent()) line += "; " + Refusal.heldByYou(own.get());
    if (!notice.summary().isEmpty()) line += ": " + notice.summary();
    log(isForItself ? Level.WARN : Level.INFO, line);
  }

  void goingAway(Address address) {
    log(Level.INFO, "The server at " + address + " is going away, so the client moves to another one.");
  }

  /** Takes an error with which every server would answer. */
  void hopeless(RowlockException error) {
    trouble(Level.ERROR, "No server accepts this client: ", error);
  }

  /** Logs what is tried again: once at its level, and then for debugging, until a server answers. */
  private void trouble(Level level, String message, RowlockException error) {
    boolean isNew = troubles.add(message + error.reasonName());
    log(isNew ? level : Level.DEBUG, message + error.getMessage());
  }

  private void log(Level level, String message) {
    if (LOG.isEnabledForLevel(level)) later.execute(() -> LOG.atLevel(level).log(message));
  }

  static boolean isLoss(RowlockException why) {
    return why.reason() != Reason.RELEASED;
  }

  /** How a lease was lost, in lower case: how it has ended if the error says so. */
  static String lossOf(RowlockException why) {
    return why.end().map(end -> end.reason().name()).orElse(why.reasonName()).toLowerCase(Locale.ROOT);
  }
}

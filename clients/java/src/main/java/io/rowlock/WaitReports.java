// Reports why requests for locks wait: to the log, and to the listeners of the requests. Runs on the loop only.

package io.rowlock;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import rowlock.v1.ExplainWaitRequest;
import rowlock.v1.Ticket;

final class WaitReports {
  private static final long AGAIN_AFTER = Times.ofMillis(60_000);

  private final EventLoop loop;
  private final Clock clock;
  private final Verbs verbs;
  private final HeldLocks locks;
  private final Telemetry telemetry;
  private final Executor listeners;
  private final long after;

  /** By the names of locks. There may be thousands of waits for one lock, of which only this one is in the log. */
  private final Map<String, Waiting> first = new HashMap<>();

  /** One wait asks after the other: there may be thousands. */
  private final Queue<Question> questions = new ArrayDeque<>();

  private boolean isAsking;

  WaitReports(
      EventLoop loop,
      Clock clock,
      Verbs verbs,
      HeldLocks locks,
      Telemetry telemetry,
      Executor listeners,
      long after) {
    this.loop = loop;
    this.clock = clock;
    this.verbs = verbs;
    this.locks = locks;
    this.telemetry = telemetry;
    this.listeners = listeners;
    this.after = after;
  }

  /** @param asker the thread that asks: if it holds the lock itself, it waits for itself, which is reported at once. */
  Waiting begin(String name, Thread asker, LockOptions asked) {
    return new Waiting(name, asker, asked);
  }

  private void askNext() {
    isAsking = false;
    for (Question next; !isAsking && (next = questions.poll()) != null; )
      if (!next.waiting.isOver) {
        isAsking = true;
        next.waiting.askWhy(next.isForItself);
      }
  }

  private record Question(Waiting waiting, boolean isForItself) {}

  /** One wait, from the request to its end. */
  final class Waiting {
    private final String name;

    /** Those of all locks that it asks for. */
    private final List<String> names;

    private final Thread asker;
    private final Optional<Consumer<WaitNotice>> listener;

    /** It needs no room beside what this client holds itself. */
    private final boolean isSpend;

    private final long since = clock.now();
    private Ticket ticket;
    private EventLoop.Timer timer;
    private boolean isOver;

    private Waiting(String name, Thread asker, LockOptions asked) {
      this.name = name;
      names = asked.names(name);
      this.asker = asker;
      listener = asked.onWaiting;
      isSpend = asked.isSpend;
    }

    /** It has a place. */
    void placed(Ticket place) {
      boolean isFirst = ticket == null;
      ticket = place;
      if (!isFirst || isOver) return;
      isInLog();
      timer = loop.after(Math.max(0, after - waited()), this::look);
      if (!isSpend && locks.holds(names, asker)) look(true);
    }

    void ended() {
      isOver = true;
      EventLoop.cancel(timer);
      first.remove(name, this);
    }

    /** Whether the log has this wait, and not another one for the same lock. */
    private boolean isInLog() {
      return first.computeIfAbsent(name, none -> this) == this;
    }

    private long waited() {
      return clock.now() - since;
    }

    private void look() {
      timer = loop.after(AGAIN_AFTER, this::look);
      if (isInLog() || listener.isPresent()) look(false);
    }

    private void look(boolean isForItself) {
      questions.add(new Question(this, isForItself));
      if (!isAsking) askNext();
    }

    private void askWhy(boolean isForItself) {
      ExplainWaitRequest request =
          ExplainWaitRequest.newBuilder().setTicketId(ticket.getTicketId()).build();
      // A server that is older, or that does not let this caller ask, explains nothing.
      verbs
          .explainWait(request)
          .whenComplete(
              (explained, failure) ->
                  loop.soon(
                      () -> {
                        report(Optional.ofNullable(explained), isForItself);
                        askNext();
                      }));
    }

    private void report(Optional<WaitExplanation> explained, boolean isForItself) {
      if (isOver) return;
      Optional<HeldLocks.OwnHold> own = isSpend ? Optional.empty() : locks.ownHold(names);
      Duration waited = Duration.ofNanos(waited());
      WaitNotice notice =
          new WaitNotice(
              name,
              waited,
              explained.map(this::placeIn).orElseGet(() -> Place.of(ticket)),
              explained.map(WaitExplanation::summary).orElse(""),
              explained.map(WaitExplanation::causes).orElse(List.of()),
              own.isPresent());
      if (isForItself || isInLog()) telemetry.waits(notice, own, isForItself);
      listener.ifPresent(its -> listeners.execute(() -> its.accept(notice)));
    }

    /** The place of now, of several locks where most are before it: the server's own news of it may be an hour old. */
    private Place placeIn(WaitExplanation explained) {
      int all = explained.lock().waiterCount();
      Optional<WaitCause.Queued> queued =
          explained.causes().stream()
              .filter(WaitCause.Queued.class::isInstance)
              .map(WaitCause.Queued.class::cast)
              .max(Comparator.comparingInt(WaitCause.Queued::ahead));
      if (queued.isPresent()) {
        WaitCause.Queued most = queued.get();
        return place(most.ahead(), most.permitsAhead(), all, "", most.lockName().or(this::waitsFor));
      }
      for (WaitCause cause : explained.causes())
        if (cause instanceof WaitCause.PoolInTheWay at && at.waitsHere())
          return place(
              at.ahead(),
              at.permitsAhead(),
              at.pool().use().waiterCount(),
              at.pool().pattern(),
              waitsFor());
      return place(0, 0, all, "", waitsFor());
    }

    private Optional<String> waitsFor() {
      return Place.unlessEmpty(ticket.getWaitsFor());
    }

    private Place place(
        int ahead, long permitsAhead, int queueLength, String pool, Optional<String> waitsFor) {
      return new Place(
          ahead,
          permitsAhead,
          queueLength,
          Duration.ofNanos(waited()),
          Optional.empty(),
          Place.unlessEmpty(pool),
          waitsFor);
    }
  }
}

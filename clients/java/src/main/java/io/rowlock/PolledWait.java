// A wait without a stream: it repeats the request under its id. Each repeat is a sign of life, returns the place, and
// confirms the grant.

package io.rowlock;

import rowlock.v1.AcquireRequest;
import rowlock.v1.AcquireResponse;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.QueueRequest;
import rowlock.v1.SessionResult;
import rowlock.v1.Ticket;
import rowlock.v1.Wait;
import rowlock.v1.WaitInQueueResponse;

final class PolledWait {
  private static final long POLL_EVERY_MAX = Times.ofMillis(1_000);
  private static final long POLL_EVERY_MIN = Times.ofMillis(50);

  /** Polls within the time for which the server keeps the place, so that a poll may come late. */
  private static final long POLLS_PER_KEPT_FOR = 4;

  private final UnaryConnection connection;
  private final long number;
  private final AcquireRequest request;
  private final long interval;
  private final long every;
  private Ticket reported;
  private long reportedAt;
  private boolean isStopped;
  private EventLoop.Timer timer;

  PolledWait(UnaryConnection connection, long number, QueueRequest asked, long interval) {
    this.connection = connection;
    this.number = number;
    request = enqueuing(asked);
    this.interval = interval;
    every = Math.max(POLL_EVERY_MIN, Math.min(POLL_EVERY_MAX, interval));
  }

  static AcquireRequest enqueuing(QueueRequest asked) {
    Wait.Builder wait = Wait.newBuilder();
    if (asked.hasMaxWait()) wait.setMaxWait(asked.getMaxWait());
    AcquireRequest.Builder request =
        AcquireRequest.newBuilder()
            .setName(asked.getName())
            .setMode(asked.getMode())
            .setPermits(asked.getPermits())
            .setTerms(asked.getTerms())
            .setRequestId(asked.getRequestId())
            .setEnqueue(wait)
            .setSpendOnly(asked.getSpendOnly())
            .addAllAlso(asked.getAlsoList());
    if (asked.hasHeadStart()) request.setHeadStart(asked.getHeadStart());
    return request.build();
  }

  void stop() {
    isStopped = true;
    EventLoop.cancel(timer);
  }

  /** Asks, and calls {@link UnaryConnection#polled} with the answer. Returns false if the wait is over. */
  boolean ask() {
    if (isStopped) return false;
    long basis = connection.clock.now();
    connection.call(
        number,
        LockServiceGrpc.getAcquireMethod(),
        request,
        answer -> {
          connection.polled();
          answered(answer, basis);
        },
        error -> {
          connection.polled();
          if (!isStopped) connection.tell(SessionResult.newBuilder().setError(error), number, basis);
        });
    return true;
  }

  private void answered(AcquireResponse answer, long basis) {
    if (isStopped) return;
    WaitInQueueResponse.Builder update = WaitInQueueResponse.newBuilder();
    switch (answer.getOutcomeCase()) {
      case LEASE -> update.setGranted(answer.getLease());
      case SPENT -> update.setSpent(answer.getSpent());
      case REFUSAL -> update.setRefusal(answer.getRefusal());
      case ENDED -> update.setEnded(answer.getEnded());
      default -> {
        Ticket ticket = answer.getTicket();
        timer = connection.loop.after(pause(ticket), () -> connection.poll(this));
        if (!isNews(ticket)) return;
        reported = ticket;
        reportedAt = connection.clock.now();
        update.setPosition(ticket);
      }
    }
    connection.tell(SessionResult.newBuilder().setWaitInQueue(update), number, basis);
  }

  /** How long until the next poll. */
  long pause(Ticket ticket) {
    if (!ticket.hasKeptFor()) return every;
    return Math.max(POLL_EVERY_MIN, Math.min(every, Times.ofProto(ticket.getKeptFor()) / POLLS_PER_KEPT_FOR));
  }

  private boolean isNews(Ticket ticket) {
    if (reported == null) return true;
    boolean hasMoved =
        ticket.getAhead() != reported.getAhead()
            || ticket.getPermitsAhead() != reported.getPermitsAhead()
            || !ticket.getPool().equals(reported.getPool())
            || !ticket.getWaitsFor().equals(reported.getWaitsFor());
    return hasMoved && connection.clock.now() - reportedAt >= interval;
  }
}

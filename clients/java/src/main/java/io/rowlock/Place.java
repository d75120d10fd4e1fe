package io.rowlock;

import java.time.Duration;
import java.util.Optional;

/**
 * A place in the queue.
 *
 * @param ahead waiters before this one, at the same pool if it waits at one
 * @param permitsAhead permits that these waiters ask for
 * @param queueLength waiters in the whole queue, or at the pool
 * @param waited how long this one has waited
 * @param rateWait how long the lock's rate alone keeps this one waiting; empty: the server does not say, or there is no rate
 * @param pool the pattern of the pool at which it waits, as it has its own lock; empty: it waits at none that the caller may see
 * @param waitsFor of a claim for several locks, the one at which most waiters are before it, of which all this is; empty: it is for
 * one lock
 */
public record Place(
    int ahead,
    long permitsAhead,
    int queueLength,
    Duration waited,
    Optional<Duration> rateWait,
    Optional<String> pool,
    Optional<String> waitsFor) {
  static Optional<String> unlessEmpty(String text) {
    return text.isEmpty() ? Optional.empty() : Optional.of(text);
  }

  static Place of(rowlock.v1.Ticket ticket) {
    return new Place(
        ticket.getAhead(),
        ticket.getPermitsAhead(),
        ticket.getQueueLength(),
        Times.durationOf(ticket.getWaited()),
        ticket.hasRateWait() ? Optional.of(Times.durationOf(ticket.getRateWait())) : Optional.empty(),
        unlessEmpty(ticket.getPool()),
        unlessEmpty(ticket.getWaitsFor()));
  }
}

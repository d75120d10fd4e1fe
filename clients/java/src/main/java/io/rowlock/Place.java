package io.rowlock;

import java.time.Duration;

/**
 * A place in the queue.
 *
 * @param ahead waiters before this one
 * @param permitsAhead permits that these waiters ask for
 * @param queueLength waiters in the whole queue
 * @param waited how long this one has waited
 */
public record Place(int ahead, long permitsAhead, int queueLength, Duration waited) {
  static Place of(rowlock.v1.Ticket ticket) {
    return new Place(
        ticket.getAhead(),
        ticket.getPermitsAhead(),
        ticket.getQueueLength(),
        Times.durationOf(ticket.getWaited()));
  }
}

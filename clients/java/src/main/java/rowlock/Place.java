package rowlock;

import java.time.Duration;

/**
 * The place in the queue.
 *
 * @param ahead waiters that stand before this one
 * @param permitsAhead permits that they ask for
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

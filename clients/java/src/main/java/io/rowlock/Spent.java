package io.rowlock;

import java.time.Instant;

/**
 * What a spend took. It is over: there is nothing to renew or release.
 *
 * @param name the lock
 * @param permits how many permits it took of the rate
 * @param token the fencing token of its grant
 * @param at when it was granted, by the database's clock
 * @param requestId the id of the request: the caller's own, or the client's
 */
public record Spent(String name, int permits, long token, Instant at, String requestId)
    implements Answer {
  static Spent of(rowlock.v1.Spent spent) {
    return new Spent(
        spent.getLockName(),
        spent.getPermits(),
        spent.getFencingToken(),
        Times.instantOf(spent.getSpentAt()),
        spent.getRequestId());
  }
}

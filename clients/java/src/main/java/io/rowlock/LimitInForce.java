package io.rowlock;

import java.util.Optional;

/**
 * What is in force after a change.
 *
 * @param limit permits that may be held at once; 0, and without a meaning, if {@code hasNoLimit}
 * @param version of the setting, for the next {@link LimitChange#ifVersion(long)}
 * @param heldPermits permits held; for a pattern the sum over the matching locks, for a pool the permits of it that are taken
 * @param waiterCount claims that wait; for a pattern the sum over the matching locks, for a pool those that wait at it
 * @param draining whether more is held than the limit allows
 * @param serversBehind for a pattern, and for a pool that was made or removed, how many servers may still grant by the old limit and rate; usually 0
 * @param rate how fast the lock may be granted; empty: as fast as it becomes free
 * @param hasNoLimit whether it is a pool that has no limit
 * @param counting whether it is a new pool, and servers still count those who held before, on top of {@code heldPermits}
 * @param queueRules who may wait; empty: as many as the server allows
 */
public record LimitInForce(
    int limit,
    long version,
    long heldPermits,
    long waiterCount,
    boolean draining,
    int serversBehind,
    Optional<Rate> rate,
    boolean hasNoLimit,
    boolean counting,
    Optional<QueueRules> queueRules) {
  static LimitInForce of(rowlock.v1.SetLimitResponse response) {
    return new LimitInForce(
        response.getLimit(),
        response.getVersion(),
        response.getHeldPermits(),
        response.getWaiterCount(),
        response.getDraining(),
        response.getServersBehind(),
        response.hasRate() ? Optional.of(Rate.of(response.getRate())) : Optional.empty(),
        response.getNoLimit(),
        response.getCounting(),
        response.hasQueueRules()
            ? Optional.of(QueueRules.of(response.getQueueRules()))
            : Optional.empty());
  }
}

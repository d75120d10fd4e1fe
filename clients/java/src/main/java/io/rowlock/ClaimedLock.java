package io.rowlock;

import java.util.List;
import java.util.OptionalLong;

/**
 * A further lock of a claim for several: it waits, holds and ends at all of them together.
 *
 * @param lockName the lock
 * @param mode how it is or will be held
 * @param permits how many permits it has or wants
 * @param token the fencing token; empty if it was never granted
 */
public record ClaimedLock(String lockName, Mode mode, int permits, OptionalLong token) {
  static List<ClaimedLock> of(List<rowlock.v1.ClaimedLock> also) {
    return also.stream().map(ClaimedLock::of).toList();
  }

  private static ClaimedLock of(rowlock.v1.ClaimedLock lock) {
    long token = lock.getFencingToken();
    return new ClaimedLock(
        lock.getLockName(),
        Mode.of(lock.getMode()),
        lock.getPermits(),
        token == 0 ? OptionalLong.empty() : OptionalLong.of(token));
  }
}

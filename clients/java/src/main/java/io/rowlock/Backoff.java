// The pause before the next try. It grows with each failure, and is random so that clients do not retry all at once.

package io.rowlock;

import java.util.concurrent.ThreadLocalRandom;

final class Backoff {
  private static final long FIRST = Times.ofMillis(100);

  /** Well below the grace period, during which the server keeps places. */
  private static final long MAX = Times.ofMillis(2_000);

  private Backoff() {}

  /** @param failures how many tries have failed in a row, at least 1. */
  static long nanos(int failures, long atLeast) {
    long full = Math.min(MAX, FIRST << Math.min(failures - 1, 10));
    return Math.max(atLeast, (long) (full * ThreadLocalRandom.current().nextDouble(0.5, 1)));
  }
}

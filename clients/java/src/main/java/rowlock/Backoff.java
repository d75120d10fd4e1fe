// How long to leave a server alone before the next try: longer each time, and not the same for all clients.

package rowlock;

import java.util.concurrent.ThreadLocalRandom;

final class Backoff {
  private static final long FIRST = Times.ofMillis(100);

  /** Well within the grace period, for which places are kept. */
  private static final long MAX = Times.ofMillis(2_000);

  private Backoff() {}

  /** @param failures how many tries have failed in a row, from 1 on. */
  static long nanos(int failures, long atLeast) {
    long full = Math.min(MAX, FIRST << Math.min(failures - 1, 10));
    return Math.max(atLeast, (long) (full * ThreadLocalRandom.current().nextDouble(0.5, 1)));
  }
}

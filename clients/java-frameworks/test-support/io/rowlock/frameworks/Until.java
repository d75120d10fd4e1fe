// Polls until a condition holds.

package io.rowlock.frameworks;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.concurrent.Callable;

/** For what no event reports. */
public final class Until {
  private static final long PAINFULLY_LONG_NANOS = 60_000_000_000L;

  private Until() {}

  /**
   * Returns when a condition holds.
   *
   * @param what for the failure
   * @param isSo the condition
   * @throws Exception that of the condition
   */
  public static void until(String what, Callable<Boolean> isSo) throws Exception {
    long began = System.nanoTime();
    while (!isSo.call()) {
      if (System.nanoTime() - began > PAINFULLY_LONG_NANOS) fail("waited too long: " + what);
      Thread.sleep(5);
    }
  }
}

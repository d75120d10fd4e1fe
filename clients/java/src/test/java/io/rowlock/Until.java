// Polls until a condition holds.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.function.BooleanSupplier;

final class Until {
  private static final long PAINFULLY_LONG_NANOS = 60_000_000_000L;

  private Until() {}

  static void until(String what, BooleanSupplier isSo) throws InterruptedException {
    long began = System.nanoTime();
    while (!isSo.getAsBoolean()) {
      if (System.nanoTime() - began > PAINFULLY_LONG_NANOS) fail("waited too long: " + what);
      Thread.sleep(5);
    }
  }
}

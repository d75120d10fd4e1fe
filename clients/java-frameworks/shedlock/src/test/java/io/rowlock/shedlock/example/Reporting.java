// A task that each machine starts at the same time, and that one of them runs.

package io.rowlock.shedlock.example;

import io.rowlock.RowlockClient;
import io.rowlock.shedlock.RowlockLockProvider;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;

final class Reporting {
  private Reporting() {}

  public static void main(String[] arguments) {
    String address = arguments[0];
    try (RowlockClient rowlock = RowlockClient.connect(address)) {
      LockingTaskExecutor executor =
          new DefaultLockingTaskExecutor(new RowlockLockProvider(rowlock, "shedlock/"));
      Duration atMost = Duration.ofMinutes(10);
      Duration atLeast = Duration.ofMinutes(5);
      executor.executeWithLock(
          (Runnable) () -> System.out.println("the report"),
          new LockConfiguration(Instant.now(), "report", atMost, atLeast));
    }
  }
}

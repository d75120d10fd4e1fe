// A job that is due once an hour. Many machines may start it; the one that comes first does it.

package io.rowlock.examples;

import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;
import java.time.Duration;
import java.util.Optional;

/** Writes a report unless one was written within an hour. */
public final class HourlyReport {
  private HourlyReport() {}

  /**
   * Tries once, as a cron job would.
   *
   * @param arguments the addresses of the servers
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] arguments) throws InterruptedException {
    try (RowlockClient rowlock = RowlockClient.connect(arguments)) {
      System.out.println(report(rowlock) ? "The report is written." : "It is not due.");
    }
  }

  static boolean report(RowlockClient rowlock) throws InterruptedException {
    Optional<HeldLock> due =
        rowlock.tryLock("report/hourly", with -> with.minInterval(Duration.ofHours(1)));
    if (due.isEmpty()) return false;
    try (HeldLock lock = due.get()) {
      // Send the token with what you write: a writer that was overtaken is then refused.
      System.out.println("Writing with the fencing token " + lock.token());
    }
    return true;
  }
}

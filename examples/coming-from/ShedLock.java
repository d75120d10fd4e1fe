import static java.time.Duration.ofMinutes;

import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;
import java.util.Optional;

/** Started by cron on every machine, at each full hour. */
public class ShedLock {
  public static void main(String[] args) throws InterruptedException {
    String address = System.getenv().getOrDefault("ROWLOCK_ADDR", "127.0.0.1:50051");
    try (RowlockClient rowlock = RowlockClient.connect(address)) {
      Optional<HeldLock> lock = rowlock.tryLock("report", with -> with.minInterval(ofMinutes(1)));
      if (lock.isEmpty()) {
        System.out.println("another machine writes the report, or has just done so");
        return;
      }
      try (HeldLock held = lock.get()) {
        System.out.println("writes the report, with token " + held.token());
      }
    }
  }
}

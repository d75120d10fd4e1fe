package rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What was captured of many locks. Each is a lock like any other, to be released for itself, with what it shall remember:
 * closing this one releases those that are left.
 *
 * @param locks those longest due first; empty where there was none to take
 * @param retryAfter where there was none, when another try may be worth while, as far as that is known
 */
public record Captured(List<Lock> locks, Optional<Duration> retryAfter) implements AutoCloseable {
  /** Releases all that were not released yet. A lease that no server can be told of ends by itself. */
  @Override
  public void close() {
    for (Lock lock : locks) lock.releaseAsync();
    RowlockException failed = null;
    for (Lock lock : locks)
      try {
        lock.close();
      } catch (RowlockException error) {
        if (failed == null) failed = error;
        else failed.addSuppressed(error);
      }
    if (failed != null) throw failed;
  }

  /** By the one who asked and does not want them any more. */
  void giveUp() {
    locks.forEach(Lock::giveUp);
  }
}

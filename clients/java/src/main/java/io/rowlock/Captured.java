package io.rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The result of a capture. Each lock is a lock like any other, which its holder releases with its own options. Closing
 * the result releases the locks that are still held.
 *
 * @param locks the one that is due for the longest time first; empty if there was none to take
 * @param retryAfter a hint when to try again, if there was none to take and the time is known
 */
public record Captured(List<HeldLock> locks, Optional<Duration> retryAfter) implements AutoCloseable {
  /**
   * Releases all locks that are still held. If no server answers, a lease ends with its ttl.
   *
   * @throws RowlockException with {@link Reason#LEASE_LOST} if one of the locks was lost: see {@link HeldLock#close}
   */
  @Override
  public void close() {
    for (HeldLock lock : locks) lock.startClosing();
    RowlockException failed = null;
    for (HeldLock lock : locks)
      try {
        lock.close();
      } catch (RowlockException error) {
        if (failed == null) failed = error;
        else failed.addSuppressed(error);
      }
    if (failed != null) throw failed;
  }

  /** Called when the caller does not want the locks any more. */
  void giveUp() {
    locks.forEach(HeldLock::giveUp);
  }
}

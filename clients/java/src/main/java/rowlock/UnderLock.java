// One run of work on a thread, which is interrupted when the lock is lost.

package rowlock;

import java.util.Optional;
import java.util.function.Consumer;

final class UnderLock {
  private final Thread thread = Thread.currentThread();
  private boolean isWorking = true;
  private boolean hasInterrupted;

  private UnderLock() {}

  static <T, E extends Exception> T call(Lock lock, LockedCall<T, E> work)
      throws E, InterruptedException {
    UnderLock under = new UnderLock();
    Consumer<LockState> listener =
        state -> {
          if (state == LockState.LOST) under.interrupt();
        };
    lock.lease().listen(listener);
    try {
      T value = work.call(lock);
      under.end();
      Optional<RowlockException> lost = whyLost(lock);
      if (lost.isPresent()) throw lost.get().again();
      return value;
    } catch (InterruptedException interrupted) {
      if (!under.end()) throw interrupted;
      RowlockException lost = whyLost(lock).orElseThrow().again();
      lost.addSuppressed(interrupted);
      throw lost;
    } finally {
      under.end();
      lock.lease().unlisten(listener);
    }
  }

  /** A lock that the work has released or handed over itself is none that was lost. */
  private static Optional<RowlockException> whyLost(Lock lock) {
    return lock.lease().why().filter(over -> over.reason() != Reason.RELEASED);
  }

  private synchronized void interrupt() {
    if (!isWorking) return;
    hasInterrupted = true;
    thread.interrupt();
  }

  /** Whether it was interrupted from here. The interruption was for the work alone, and ends with it. */
  private synchronized boolean end() {
    if (isWorking && hasInterrupted) Thread.interrupted();
    isWorking = false;
    return hasInterrupted;
  }
}

// Runs work on a thread, and interrupts that thread when the lock is lost.

package io.rowlock;

import java.util.Optional;
import java.util.function.Consumer;

final class UnderLock {
  private final Thread thread = Thread.currentThread();
  private boolean isWorking = true;
  private boolean hasInterrupted;

  private UnderLock() {}

  static <T, E extends Exception> T call(HeldLock lock, LockedCall<T, E> work)
      throws E, InterruptedException {
    UnderLock under = new UnderLock();
    Consumer<LockState> listener =
        state -> {
          if (state == LockState.LOST) under.interrupt();
        };
    lock.lease().listen(listener);
    T value;
    try (Telemetry.Current current = lock.hold().makeCurrent()) {
      value = work.call(lock);
    } catch (InterruptedException interrupted) {
      if (!under.end()) throw interrupted;
      RowlockException lost = lock.reportedLoss().orElseThrow().again();
      lost.addSuppressed(interrupted);
      throw lost;
    } catch (Throwable thrown) {
      under.end();
      // The work may have failed because of the loss, or may itself report it.
      boolean isReported =
          thrown instanceof RowlockException error && error.reason() == Reason.LEASE_LOST;
      if (!isReported) lock.reportedLoss().ifPresent(lost -> thrown.addSuppressed(lost.again()));
      throw thrown;
    } finally {
      under.end();
      lock.lease().unlisten(listener);
    }
    Optional<RowlockException> lost = lock.reportedLoss();
    if (lost.isPresent()) throw lost.get().again();
    return value;
  }

  private synchronized void interrupt() {
    if (!isWorking) return;
    hasInterrupted = true;
    thread.interrupt();
  }

  /** Returns whether this object has interrupted the thread. The interrupt was only for the work, so it is cleared. */
  private synchronized boolean end() {
    if (isWorking && hasInterrupted) Thread.interrupted();
    isWorking = false;
    return hasInterrupted;
  }
}

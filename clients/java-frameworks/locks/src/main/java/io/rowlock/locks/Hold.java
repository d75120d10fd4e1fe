// A lock that a thread holds, which is interrupted when the lock is lost.

package io.rowlock.locks;

import io.rowlock.HeldLock;

final class Hold {
  final HeldLock lock;

  /** How often the thread has taken the lock. Only the thread itself uses this. */
  int count = 1;

  private final Thread thread = Thread.currentThread();
  private boolean isOver;
  private boolean hasInterrupted;

  Hold(HeldLock lock) {
    this.lock = lock;
    lock.onLost(this::interrupt);
  }

  private synchronized void interrupt() {
    if (isOver) return;
    hasInterrupted = true;
    thread.interrupt();
  }

  /** Gives the lock back. The interrupt was only for the work, so it is cleared. */
  void end() {
    synchronized (this) {
      isOver = true;
      if (hasInterrupted) Thread.interrupted();
    }
    lock.close();
  }
}

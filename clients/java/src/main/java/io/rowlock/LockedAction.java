package io.rowlock;

/**
 * Work under a lock.
 *
 * @param <E> what else it throws
 */
@FunctionalInterface
public interface LockedAction<E extends Exception> {
  /**
   * Does the work.
   *
   * @param lock held while this method runs
   * @throws E for reasons of its own
   * @throws InterruptedException when its thread is interrupted, for example because the lock is lost
   */
  void run(HeldLock lock) throws E, InterruptedException;
}

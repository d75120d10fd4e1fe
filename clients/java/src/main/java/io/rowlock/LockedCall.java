package io.rowlock;

/**
 * Work under a lock, with a result.
 *
 * @param <T> the result
 * @param <E> what else it throws
 */
@FunctionalInterface
public interface LockedCall<T, E extends Exception> {
  /**
   * Does the work.
   *
   * @param lock held while this method runs
   * @return the result
   * @throws E for reasons of its own
   * @throws InterruptedException when its thread is interrupted, for example because the lock is lost
   */
  T call(HeldLock lock) throws E, InterruptedException;
}

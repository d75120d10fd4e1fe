package rowlock;

/**
 * Work to be done under a lock.
 *
 * @param <E> what else it throws
 */
@FunctionalInterface
public interface LockedAction<E extends Exception> {
  /**
   * Does it.
   *
   * @param lock that is held
   * @throws E as it likes
   * @throws InterruptedException when its thread is interrupted, as the lock is lost for one
   */
  void run(Lock lock) throws E, InterruptedException;
}

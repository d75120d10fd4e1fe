package rowlock;

/**
 * Work to be done under a lock, with a result.
 *
 * @param <T> the result
 * @param <E> what else it throws
 */
@FunctionalInterface
public interface LockedCall<T, E extends Exception> {
  /**
   * Does it.
   *
   * @param lock that is held
   * @return the result
   * @throws E as it likes
   * @throws InterruptedException when its thread is interrupted, as the lock is lost for one
   */
  T call(Lock lock) throws E, InterruptedException;
}

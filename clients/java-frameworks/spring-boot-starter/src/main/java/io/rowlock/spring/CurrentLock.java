package io.rowlock.spring;

import io.rowlock.HeldLock;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * The lock of the innermost method with a {@link WithLock} on this thread. Its {@linkplain HeldLock#token() fencing token}
 * belongs into every write to what it protects.
 */
public final class CurrentLock {
  private static final ThreadLocal<HeldLock> INNERMOST = new ThreadLocal<>();

  private CurrentLock() {}

  /**
   * Returns the lock.
   *
   * @return which the interceptor releases
   * @throws IllegalStateException if no such method runs on this thread
   */
  public static HeldLock get() {
    return find()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "no method with @WithLock runs on this thread; a call from within the same object takes no lock"));
  }

  /**
   * Returns the lock, if such a method runs on this thread.
   *
   * @return which the interceptor releases
   */
  public static Optional<HeldLock> find() {
    return Optional.ofNullable(INNERMOST.get());
  }

  static <T> T during(HeldLock lock, Callable<T> work) throws Exception {
    HeldLock outer = INNERMOST.get();
    INNERMOST.set(lock);
    try {
      return work.call();
    } finally {
      if (outer == null) INNERMOST.remove();
      else INNERMOST.set(outer);
    }
  }
}

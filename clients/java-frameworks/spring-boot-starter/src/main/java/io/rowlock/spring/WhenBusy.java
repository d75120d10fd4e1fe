package io.rowlock.spring;

/** What a method with a {@link WithLock} does if its lock is not granted. */
public enum WhenBusy {
  /** It does not run, and the call throws a {@link io.rowlock.RowlockException} with the reason. */
  THROW,
  /** It does not run, and the call returns: null, or an empty Optional if the method returns an Optional. */
  SKIP
}

// Who learns of what happens around methods with a @WithLock.

package io.rowlock.spring;

interface LockObserver {
  LockObserver NONE = template -> new Call() {};

  /** A call asks for a lock whose name is made from {@code template}. */
  Call asked(String template);

  /** One call. */
  interface Call {
    default void granted() {}

    default void skipped() {}

    default void refused() {}

    default void ended(boolean isLost) {}
  }
}

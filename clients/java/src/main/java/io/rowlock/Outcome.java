package io.rowlock;

/** The outcome of a request for a lock: one of the two. */
public sealed interface Outcome extends Answer {
  /**
   * The lock is held.
   *
   * @param lock to be closed
   */
  record Granted(HeldLock lock) implements Outcome {}

  /**
   * The lock was not granted.
   *
   * @param refusal why
   */
  record Refused(Refusal refusal) implements Outcome {}
}

package io.rowlock;

/** How far a lock that was granted can be relied on. */
public enum LockState {
  /** The lock is held. */
  HELD,
  /** The lock is still held, but its renewals do not get through. */
  UNCERTAIN,
  /** Its time is over, the server has ended it, or it was released. Final. */
  LOST
}

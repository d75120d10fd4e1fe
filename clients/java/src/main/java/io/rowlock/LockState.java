package io.rowlock;

/** How far a lock that was granted can be relied on. */
public enum LockState {
  /** The lock is held. */
  HELD,
  /** The lock is still held, but its renewals do not get through. */
  UNCERTAIN,
  /** Its time is over, or the server has ended it. Final. */
  LOST,
  /** This client has given it back or handed it over. Final, and listeners are not notified of it. */
  RELEASED
}

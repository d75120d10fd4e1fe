package rowlock;

/** How it stands with a lock that was granted. */
public enum LockState {
  /** It can be counted on. */
  HELD,
  /** Still held, but its renewals do not get through. */
  UNCERTAIN,
  /** Its time is over, or the server says that it has ended, or it was released. Final. */
  LOST
}

// The result of a release.

package io.rowlock;

/**
 * @param byThisCall whether this call ended the lease
 * @param hadEnded whether the lease had ended before, and no earlier try of this call can have ended it
 */
record Released(boolean byThisCall, boolean hadEnded) {
  /** Nothing was sent: the lock was not held any more, or others of its holder still hold it. */
  static final Released NOTHING = new Released(false, false);
}

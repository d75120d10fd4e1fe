// A request of a caller that may give it up: for one lock, or for some of many. Runs on the loop only.

package io.rowlock;

interface Asking {
  /** Called once. */
  void begin();

  /** Fails with {@code why}, and gives back what the server has granted or will grant. */
  void abandon(Throwable why);
}

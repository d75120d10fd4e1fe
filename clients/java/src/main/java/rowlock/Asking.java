// Something that a caller has asked for and may give up: a lock, or some of many. On the loop only.

package rowlock;

interface Asking {
  /** To be called once. */
  void begin();

  /** Fails with {@code why}, and gives back what was or will be got. */
  void abandon(Throwable why);
}

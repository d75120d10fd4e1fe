package rowlock;

/** What became of a request for a lock: one of the two. */
public sealed interface Outcome {
  /**
   * It is held.
   *
   * @param lock to be closed
   */
  record Granted(Lock lock) implements Outcome {}

  /**
   * It is not.
   *
   * @param refusal why
   */
  record Refused(Refusal refusal) implements Outcome {}
}

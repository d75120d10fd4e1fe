package io.rowlock;

/**
 * Who may wait for a lock. Without queue rules as many may wait as the server allows, in order of arrival.
 *
 * @param waitingMax the most claims that wait for the lock, 1 to 1,000,000; never more than the server allows
 * @param whenFull what becomes of a request that comes when so many wait
 */
public record QueueRules(int waitingMax, WhenFull whenFull) {
  /** What becomes of a request that would wait, and finds as many waiting as may. */
  public enum WhenFull {
    /** It is refused with {@link Reason#QUEUE_FULL}. */
    REFUSE,
    /**
     * The newest wins: the claim that has waited longest ends with {@link Reason#SUPERSEDED}, and the new one waits. To end the wait
     * of another principal takes the right {@code supersede}.
     */
    END_LONGEST_WAITING
  }

  /**
   * Rules by which a request that finds the queue full is refused.
   *
   * @param waitingMax the most claims that wait
   * @return queue rules
   */
  public static QueueRules atMost(int waitingMax) {
    return new QueueRules(waitingMax, WhenFull.REFUSE);
  }

  /**
   * Rules by which the newest wins.
   *
   * @param waitingMax the most claims that wait
   * @return queue rules
   */
  public static QueueRules newestWins(int waitingMax) {
    return new QueueRules(waitingMax, WhenFull.END_LONGEST_WAITING);
  }

  static QueueRules of(rowlock.v1.QueueRules rules) {
    return rules.getWhenFull() == rowlock.v1.WhenFull.WHEN_FULL_END_LONGEST_WAITING
        ? newestWins(rules.getWaitingMax())
        : atMost(rules.getWaitingMax());
  }

  rowlock.v1.QueueRules proto() {
    return rowlock.v1.QueueRules.newBuilder()
        .setWaitingMax(waitingMax)
        .setWhenFull(
            whenFull == WhenFull.END_LONGEST_WAITING
                ? rowlock.v1.WhenFull.WHEN_FULL_END_LONGEST_WAITING
                : rowlock.v1.WhenFull.WHEN_FULL_REFUSE)
        .build();
  }
}

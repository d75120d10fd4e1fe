package io.rowlock;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Who may wait for a lock, and in which order. Without queue rules as many may wait as the server allows, in order of arrival.
 *
 * @param waitingMax the most claims that wait for the lock, 1 to 1,000,000; never more than the server allows. Empty: as many as the
 *     server allows; then {@code shareBy} or {@code headStartMax} must be set
 * @param whenFull what becomes of a request that comes when so many wait
 * @param shareBy between whom shares of the lock are fair, as for {@link #sharedBy}; empty: the order is that of arrival. It does
 *     not go with {@link WhenFull#END_LONGEST_WAITING}
 * @param headStartMax the most by which a request may be queued as if it had come earlier: see {@link
 *     LockOptions.Builder#headStart}; empty: not at all. It does not go with {@code shareBy} or {@link
 *     WhenFull#END_LONGEST_WAITING}
 */
public record QueueRules(
    OptionalInt waitingMax,
    WhenFull whenFull,
    Optional<String> shareBy,
    Optional<Duration> headStartMax) {
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
   * Rules in order of arrival.
   *
   * @param waitingMax the most claims that wait
   * @param whenFull what becomes of a request that comes when so many wait
   */
  public QueueRules(int waitingMax, WhenFull whenFull) {
    this(OptionalInt.of(waitingMax), whenFull, Optional.empty(), Optional.empty());
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

  /**
   * Rules by which shares of the lock are fair between groups. Claims with the same principal, or the same value of the label, are a
   * group. The next grant goes to the group that holds the fewest permits of the lock then, of several such to the one that has
   * waited longest for its turn. As many may wait as the server allows.
   *
   * @param shareBy {@code principal}, or {@code label:} and the key of a label, such as {@code label:tenant}
   * @return queue rules
   */
  public static QueueRules sharedBy(String shareBy) {
    return new QueueRules(
        OptionalInt.empty(), WhenFull.REFUSE, Optional.of(shareBy), Optional.empty());
  }

  /**
   * Rules by which a request may be queued as if it had come earlier: see {@link LockOptions.Builder#headStart}. As many may wait
   * as the server allows.
   *
   * @param headStartMax by how much at most
   * @return queue rules
   */
  public static QueueRules headStartsUpTo(Duration headStartMax) {
    return new QueueRules(
        OptionalInt.empty(), WhenFull.REFUSE, Optional.empty(), Optional.of(headStartMax));
  }

  /**
   * The same rules with another bound.
   *
   * @param waitingMax the most claims that wait
   * @return queue rules
   */
  public QueueRules withWaitingMax(int waitingMax) {
    return new QueueRules(OptionalInt.of(waitingMax), whenFull, shareBy, headStartMax);
  }

  static QueueRules of(rowlock.v1.QueueRules rules) {
    int waitingMax = rules.getWaitingMax();
    return new QueueRules(
        waitingMax == 0 ? OptionalInt.empty() : OptionalInt.of(waitingMax),
        rules.getWhenFull() == rowlock.v1.WhenFull.WHEN_FULL_END_LONGEST_WAITING
            ? WhenFull.END_LONGEST_WAITING
            : WhenFull.REFUSE,
        Optional.of(rules.getShareBy()).filter(shareBy -> !shareBy.isEmpty()),
        Optional.of(Times.durationOf(rules.getHeadStartMax())).filter(most -> !most.isZero()));
  }

  rowlock.v1.QueueRules proto() {
    rowlock.v1.QueueRules.Builder rules =
        rowlock.v1.QueueRules.newBuilder()
            .setWaitingMax(waitingMax.orElse(0))
            .setWhenFull(
                whenFull == WhenFull.END_LONGEST_WAITING
                    ? rowlock.v1.WhenFull.WHEN_FULL_END_LONGEST_WAITING
                    : rowlock.v1.WhenFull.WHEN_FULL_REFUSE)
            .setShareBy(shareBy.orElse(""));
    headStartMax.ifPresent(most -> rules.setHeadStartMax(Times.protoOf(most)));
    return rules.build();
  }
}

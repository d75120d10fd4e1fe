package io.rowlock;

import com.google.protobuf.Empty;
import rowlock.v1.SetLimitRequest;

/**
 * A change of a limit, of a rate, of queue rules or of several of them, for {@link RowlockClient#setLimit(LimitChange)}. What it does not set stays.
 * Immutable: each method returns a new change.
 */
public final class LimitChange {
  private final SetLimitRequest request;

  private LimitChange(SetLimitRequest request) {
    this.request = request;
  }

  /**
   * Changes the settings of one lock, which overrides every pattern.
   *
   * @param name the lock
   * @return a change without a value yet: call {@link #to(int)}, {@link #unset()}, {@link #toRate(Rate)}, {@link
   * #unsetRate()}, {@link #toQueueRules(QueueRules)} or {@link #unsetQueueRules()}
   */
  public static LimitChange ofName(String name) {
    return new LimitChange(SetLimitRequest.newBuilder().setName(name).build());
  }

  /**
   * Changes the settings of all locks whose names begin with the text before the star. Each of them has a limit, a rate and queue
   * rules of its own. The longest matching pattern that has a limit wins, the longest one that has a rate, and the longest one
   * that has queue rules.
   *
   * @param pattern such as {@code etl/*}; at most 255 bytes
   * @return a change without a value yet: call {@link #to(int)}, {@link #unset()}, {@link #toRate(Rate)}, {@link
   * #unsetRate()}, {@link #toQueueRules(QueueRules)} or {@link #unsetQueueRules()}
   */
  public static LimitChange ofPattern(String pattern) {
    return new LimitChange(SetLimitRequest.newBuilder().setPattern(pattern).build());
  }

  /**
   * Changes the limit or rate of a pool, which counts all locks together whose names begin with the text before the star: with a
   * limit of 50, all leases under it have at most 50 permits at once. A claim takes its own lock first, then the pools over it,
   * narrow to wide, and waits at the first one without room. A pool with neither a limit nor a rate is removed. A pattern of the same
   * text is another setting.
   *
   * @param pattern such as {@code openai/*}; at most 247 bytes
   * @return a change without a value yet: call {@link #to(int)}, {@link #unset()}, {@link #toRate(Rate)}, {@link
   * #unsetRate()}, {@link #toQueueRules(QueueRules)} or {@link #unsetQueueRules()}
   */
  public static LimitChange ofPool(String pattern) {
    return new LimitChange(SetLimitRequest.newBuilder().setPool(pattern).build());
  }

  /**
   * Sets the limit.
   *
   * @param limit permits that may be held at once, 0 to 1,000,000; 0 pauses the lock
   * @return the change
   * @throws IllegalArgumentException after {@link #unset}
   */
  public LimitChange to(int limit) {
    refuseBoth(request.hasUnsetLimit(), "to and unset");
    return new LimitChange(request.toBuilder().setLimit(limit).build());
  }

  /**
   * Removes the limit, so that the next best pattern or the default of 1 applies.
   *
   * @return the change
   * @throws IllegalArgumentException after {@link #to}
   */
  public LimitChange unset() {
    refuseBoth(request.hasLimit(), "to and unset");
    return new LimitChange(request.toBuilder().setUnsetLimit(Empty.getDefaultInstance()).build());
  }

  /**
   * Sets how fast the locks may be granted: every grant takes of it, and the first in the queue waits until it allows that.
   *
   * @param rate such as {@code Rate.of(100, Duration.ofMinutes(1))}
   * @return the change
   * @throws IllegalArgumentException after {@link #unsetRate}
   */
  public LimitChange toRate(Rate rate) {
    refuseBoth(request.hasUnsetRate(), "toRate and unsetRate");
    return new LimitChange(request.toBuilder().setRate(rate.proto()).build());
  }

  /**
   * Removes the rate, so that the rate of the next best pattern applies, or none.
   *
   * @return the change
   * @throws IllegalArgumentException after {@link #toRate}
   */
  public LimitChange unsetRate() {
    refuseBoth(request.hasRate(), "toRate and unsetRate");
    return new LimitChange(request.toBuilder().setUnsetRate(Empty.getDefaultInstance()).build());
  }

  /**
   * Sets who may wait for the locks. A pool has no queue rules.
   *
   * @param rules such as {@code QueueRules.newestWins(1)}
   * @return the change
   * @throws IllegalArgumentException after {@link #unsetQueueRules}
   */
  public LimitChange toQueueRules(QueueRules rules) {
    refuseBoth(request.hasUnsetQueueRules(), "toQueueRules and unsetQueueRules");
    return new LimitChange(request.toBuilder().setQueueRules(rules.proto()).build());
  }

  /**
   * Removes the queue rules, so that those of the next best pattern apply, or none.
   *
   * @return the change
   * @throws IllegalArgumentException after {@link #toQueueRules}
   */
  public LimitChange unsetQueueRules() {
    refuseBoth(request.hasQueueRules(), "toQueueRules and unsetQueueRules");
    return new LimitChange(
        request.toBuilder().setUnsetQueueRules(Empty.getDefaultInstance()).build());
  }

  /** The request has room for one of them, and would silently lose the first. */
  private static void refuseBoth(boolean areBoth, String both) {
    if (areBoth) throw new IllegalArgumentException(both + ": set one of them");
  }

  /**
   * Makes the change only if the setting has this version. Otherwise it fails with {@link Reason#VERSION_MISMATCH}.
   *
   * @param version 0: only if it was never set
   * @return the change
   */
  public LimitChange ifVersion(long version) {
    return new LimitChange(request.toBuilder().setExpectedVersion(version).build());
  }

  /**
   * Gives a reason, for people who look later.
   *
   * @param reason why; at most 255 bytes
   * @return the change
   */
  public LimitChange reason(String reason) {
    return new LimitChange(request.toBuilder().setReason(reason).build());
  }

  SetLimitRequest request() {
    return request;
  }
}

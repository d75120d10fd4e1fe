package io.rowlock;

import com.google.protobuf.Empty;
import rowlock.v1.SetLimitRequest;

/** A change of a limit, for {@link RowlockClient#setLimit(LimitChange)}. Immutable: each method returns a new change. */
public final class LimitChange {
  private final SetLimitRequest request;

  private LimitChange(SetLimitRequest request) {
    this.request = request;
  }

  /**
   * Changes the limit of one lock, which overrides every pattern.
   *
   * @param name the lock
   * @return a change without a value yet: call {@link #to(int)} or {@link #unset()}
   */
  public static LimitChange ofName(String name) {
    return new LimitChange(SetLimitRequest.newBuilder().setName(name).build());
  }

  /**
   * Changes the limit of all locks whose names begin with the text before the star. Each of them has a limit of its
   * own; the longest matching pattern wins.
   *
   * @param pattern such as {@code etl/*}; at most 255 bytes
   * @return a change without a value yet: call {@link #to(int)} or {@link #unset()}
   */
  public static LimitChange ofPattern(String pattern) {
    return new LimitChange(SetLimitRequest.newBuilder().setPattern(pattern).build());
  }

  /**
   * Sets the limit.
   *
   * @param limit permits that may be held at once, 0 to 1,000,000; 0 pauses the lock
   * @return the change
   * @throws IllegalArgumentException after {@link #unset}
   */
  public LimitChange to(int limit) {
    refuseBoth(request.hasUnsetLimit());
    return new LimitChange(request.toBuilder().setLimit(limit).build());
  }

  /**
   * Removes the setting, so that the next best pattern or the default of 1 applies.
   *
   * @return the change
   * @throws IllegalArgumentException after {@link #to}
   */
  public LimitChange unset() {
    refuseBoth(request.hasLimit());
    return new LimitChange(request.toBuilder().setUnsetLimit(Empty.getDefaultInstance()).build());
  }

  /** The request has room for one of them, and would silently lose the first. */
  private static void refuseBoth(boolean areBoth) {
    if (areBoth) throw new IllegalArgumentException("to and unset: set one of them");
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

package rowlock;

import rowlock.v1.SetLimitRequest;

/** A change of a limit, for {@link Rowlock#setLimit(LimitChange)}; each method answers a new one. */
public final class LimitChange {
  private final SetLimitRequest request;

  private LimitChange(SetLimitRequest request) {
    this.request = request;
  }

  /**
   * Of one lock. An exact name beats every pattern.
   *
   * @param name the lock
   * @return a change that still has to be told to what
   */
  public static LimitChange ofName(String name) {
    return new LimitChange(SetLimitRequest.newBuilder().setName(name).build());
  }

  /**
   * Of all locks whose names begin with what stands before the star.
   *
   * @param pattern such as {@code etl/*}
   * @return a change that still has to be told to what
   */
  public static LimitChange ofPattern(String pattern) {
    return new LimitChange(SetLimitRequest.newBuilder().setPattern(pattern).build());
  }

  /**
   * Sets it.
   *
   * @param limit permits that may be held at once; 0 pauses
   * @return the change
   */
  public LimitChange to(int limit) {
    return new LimitChange(request.toBuilder().setLimit(limit).clearUnset().build());
  }

  /**
   * Takes the setting away, so that the next best pattern, or the default, applies.
   *
   * @return the change
   */
  public LimitChange unset() {
    return new LimitChange(request.toBuilder().clearLimit().setUnset(true).build());
  }

  /**
   * Only if the setting has this version; otherwise {@link Reason#VERSION_MISMATCH}.
   *
   * @param version 0: only if it was never set
   * @return the change
   */
  public LimitChange ifVersion(long version) {
    return new LimitChange(request.toBuilder().setExpectedVersion(version).build());
  }

  /**
   * For those who look later.
   *
   * @param reason why
   * @return the change
   */
  public LimitChange because(String reason) {
    return new LimitChange(request.toBuilder().setReason(reason).build());
  }

  SetLimitRequest request() {
    return request;
  }
}

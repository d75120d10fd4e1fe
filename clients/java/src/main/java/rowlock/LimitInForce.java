package rowlock;

/**
 * What is in force after a change.
 *
 * @param limit permits that may be held at once
 * @param version of the setting, for the next {@link LimitChange#ifVersion(long)}
 * @param heldPermits permits held; for a pattern the sum over its locks
 * @param waiting claims that wait, likewise
 * @param isDraining more is held than the limit allows
 * @param serversBehind for a pattern, how many servers may still grant by the limit before; usually 0
 */
public record LimitInForce(
    int limit,
    long version,
    long heldPermits,
    long waiting,
    boolean isDraining,
    int serversBehind) {
  static LimitInForce of(rowlock.v1.SetLimitResponse response) {
    return new LimitInForce(
        response.getLimit(),
        response.getVersion(),
        response.getHeldPermits(),
        response.getWaiting(),
        response.getDraining(),
        response.getServersBehind());
  }
}

package io.rowlock;

import java.time.Instant;

/**
 * How the last lease of a lock went.
 *
 * @param owner the owner that its caller gave
 * @param token its fencing token
 * @param grantedAt when it was granted
 * @param endedAt when it ended
 * @param endReason {@link Reason#RELEASED}, {@link Reason#FAILED}, {@link Reason#EXPIRED} or {@link
 * Reason#FORCE_RELEASED}
 * @param status the lock's status after it ended
 */
public record LastRunView(
    String owner, long token, Instant grantedAt, Instant endedAt, Reason endReason, String status) {
  static LastRunView of(rowlock.v1.LastRun run) {
    return new LastRunView(
        run.getOwner(),
        run.getFencingToken(),
        Times.instantOf(run.getGrantedAt()),
        Times.instantOf(run.getEndedAt()),
        Reason.of(run.getEndReason()),
        run.getStatus());
  }
}

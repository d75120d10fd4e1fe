package io.rowlock;

import java.time.Instant;
import java.util.Optional;

/**
 * How a claim ended.
 *
 * @param reason how: {@link Reason#RELEASED}, {@link Reason#EXPIRED}, {@link Reason#FORCE_RELEASED}, ...
 * @param endedAt when, by the database's clock; empty if no server has said so
 * @param endedBy who force-released it: a principal, or an address if the server asks nobody who they are; otherwise empty
 * @param note the reason that came with its forced release; otherwise empty
 * @param status the lock's status at that time, for {@link Reason#STATUS_MISMATCH}; after a run the one that it left, if the
 * lock has a record; otherwise empty
 * @param lockName of a claim for several locks, the one because of which it ended, for {@link Reason#NEVER_FITS}, {@link
 * Reason#EXHAUSTED} and {@link Reason#STATUS_MISMATCH}; otherwise empty
 */
public record ClaimEndView(
    Reason reason,
    Optional<Instant> endedAt,
    String endedBy,
    String note,
    String status,
    String lockName) {
  static ClaimEndView of(rowlock.v1.ClaimEnd end) {
    return new ClaimEndView(
        Reason.of(end.getReason()),
        end.hasEndedAt() ? Optional.of(Times.instantOf(end.getEndedAt())) : Optional.empty(),
        end.getEndedBy(),
        end.getNote(),
        end.getStatus(),
        end.getLockName());
  }

  /** An end that this client concludes by itself. */
  static ClaimEndView of(Reason reason) {
    return new ClaimEndView(reason, Optional.empty(), "", "", "", "");
  }
}

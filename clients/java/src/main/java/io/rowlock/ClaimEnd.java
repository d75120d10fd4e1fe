package io.rowlock;

import java.time.Instant;

/**
 * When and how a claim ended.
 *
 * @param at when, by the database's clock
 * @param reason how: {@link Reason#RELEASED}, {@link Reason#EXPIRED}, {@link Reason#FORCE_RELEASED}, ...
 * @param note the reason of its forced release, or the lock's status for {@link Reason#STATUS_MISMATCH}; otherwise empty
 * @param by who force-released it: a principal, or an address if the server asks nobody who they are; otherwise empty
 * @param replica the server that kept its place in the queue; empty for a claim that did not wait
 */
public record ClaimEnd(Instant at, Reason reason, String note, String by, String replica) {
  static ClaimEnd of(rowlock.v1.Claim claim) {
    return new ClaimEnd(
        Times.instantOf(claim.getEndedAt()),
        Reason.of(claim.getEndReason()),
        claim.getEndNote(),
        claim.getEndedBy(),
        claim.getReplica());
  }
}

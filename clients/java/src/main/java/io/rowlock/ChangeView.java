package io.rowlock;

import java.time.Instant;
import java.util.Optional;

/**
 * A change that somebody made, as the server's history keeps it.
 *
 * @param at when, by the database's clock
 * @param kind what was changed
 * @param lockName the changed lock; empty for a pattern or a policy
 * @param pattern the changed pattern; empty for one lock or a policy
 * @param by who: a principal, or an address if the server asks nobody who they are; for a policy, the server that read it
 * @param from what it was before: a limit, a record or a claim as JSON, or the hash of a policy; empty: nothing
 * @param to what it is since; empty: nothing
 * @param reason the reason that came with the change
 */
public record ChangeView(
    Instant at,
    Kind kind,
    Optional<String> lockName,
    Optional<String> pattern,
    String by,
    String from,
    String to,
    String reason) {
  /** What a change changed. */
  public enum Kind {
    /** A limit. */
    LIMIT(rowlock.v1.ChangeKind.CHANGE_KIND_LIMIT),
    /** A record. */
    RECORD(rowlock.v1.ChangeKind.CHANGE_KIND_RECORD),
    /** A claim was ended by force. */
    FORCED_RELEASE(rowlock.v1.ChangeKind.CHANGE_KIND_FORCED_RELEASE),
    /** The policy file of a server. */
    POLICY(rowlock.v1.ChangeKind.CHANGE_KIND_POLICY);

    final rowlock.v1.ChangeKind proto;

    Kind(rowlock.v1.ChangeKind proto) {
      this.proto = proto;
    }
  }

  static ChangeView of(rowlock.v1.Change change) {
    Kind kind = Kind.POLICY;
    for (Kind one : Kind.values()) if (one.proto == change.getKind()) kind = one;
    return new ChangeView(
        Times.instantOf(change.getChangedAt()),
        kind,
        change.hasLockName() ? Optional.of(change.getLockName()) : Optional.empty(),
        change.hasPattern() ? Optional.of(change.getPattern()) : Optional.empty(),
        change.getChangedBy(),
        change.getFrom(),
        change.getTo(),
        change.getReason());
  }
}

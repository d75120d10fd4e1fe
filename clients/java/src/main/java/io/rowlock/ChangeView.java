package io.rowlock;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A change that somebody made, as the server's history keeps it: {@code if (change.what() instanceof ChangeView.OfLimit
 * limit) limit.to()}.
 *
 * @param at when, by the database's clock
 * @param lockName the changed lock; empty for a pattern, a pool or a policy
 * @param pattern the changed pattern; empty for one lock, a pool or a policy
 * @param by who: a principal, or an address if the server asks nobody who they are; for a policy, the server that read it
 * @param reason the reason that came with the change
 * @param what what was changed
 * @param pool the changed pool; empty for one lock, a pattern or a policy
 */
public record ChangeView(
    Instant at,
    Optional<String> lockName,
    Optional<String> pattern,
    String by,
    String reason,
    What what,
    Optional<String> pool) {
  /** What a change changed. */
  public enum Kind {
    /** A limit, a rate, queue rules or several of them. */
    LIMIT(rowlock.v1.ChangeKind.CHANGE_KIND_LIMIT),
    /** A record. */
    RECORD(rowlock.v1.ChangeKind.CHANGE_KIND_RECORD),
    /** A claim was ended by force. */
    FORCED_RELEASE(rowlock.v1.ChangeKind.CHANGE_KIND_FORCED_RELEASE),
    /** The policy file of a server. */
    POLICY(rowlock.v1.ChangeKind.CHANGE_KIND_POLICY),
    /** A kind that this client does not know. */
    UNKNOWN(rowlock.v1.ChangeKind.CHANGE_KIND_UNSPECIFIED);

    final rowlock.v1.ChangeKind proto;

    Kind(rowlock.v1.ChangeKind proto) {
      this.proto = proto;
    }
  }

  /** What a change changed, with its values before and after. */
  public sealed interface What {
    /**
     * Returns the kind.
     *
     * @return the kind
     */
    Kind kind();
  }

  /**
   * A limit, a rate, queue rules or several of them were set or removed. What the change left alone is the same before and since.
   *
   * @param from the limit before; empty: none was set
   * @param to the limit since; empty: none is set
   * @param rateFrom the rate before; empty: none was set
   * @param rateTo the rate since; empty: none is set
   * @param queueRulesFrom the queue rules before; empty: none were set
   * @param queueRulesTo the queue rules since; empty: none are set
   */
  public record OfLimit(
      OptionalInt from,
      OptionalInt to,
      Optional<Rate> rateFrom,
      Optional<Rate> rateTo,
      Optional<QueueRules> queueRulesFrom,
      Optional<QueueRules> queueRulesTo)
      implements What {
    @Override
    public Kind kind() {
      return Kind.LIMIT;
    }
  }

  /**
   * A record was changed or deleted. Neither value has a last run.
   *
   * @param from the record before; empty: there was none
   * @param to the record since; empty: there is none
   */
  public record OfRecord(Optional<RecordView> from, Optional<RecordView> to) implements What {
    @Override
    public Kind kind() {
      return Kind.RECORD;
    }
  }

  /**
   * A claim was ended by force.
   *
   * @param ticketNumber identifies the claim within its lock
   * @param state what the claim did before
   * @param owner the owner that its caller gave
   * @param principal who asked for it; empty if the server asks nobody who they are
   */
  public record OfForcedRelease(
      long ticketNumber, ClaimView.State state, String owner, String principal) implements What {
    @Override
    public Kind kind() {
      return Kind.FORCED_RELEASE;
    }
  }

  /**
   * A server read a changed policy file.
   *
   * @param from the hash of the policy before, {@code ""} if there was none
   * @param to the hash of the policy since, {@code ""} if there is none
   */
  public record OfPolicy(String from, String to) implements What {
    @Override
    public Kind kind() {
      return Kind.POLICY;
    }
  }

  /** Something that a newer server knows and this client does not. */
  public record OfUnknown() implements What {
    @Override
    public Kind kind() {
      return Kind.UNKNOWN;
    }
  }

  /**
   * Returns the kind of {@link #what()}.
   *
   * @return the kind
   */
  public Kind kind() {
    return what.kind();
  }

  static ChangeView of(rowlock.v1.Change change) {
    return new ChangeView(
        Times.instantOf(change.getChangedAt()),
        change.hasLockName() ? Optional.of(change.getLockName()) : Optional.empty(),
        change.hasPattern() ? Optional.of(change.getPattern()) : Optional.empty(),
        change.getChangedBy(),
        change.getReason(),
        what(change),
        change.hasPool() ? Optional.of(change.getPool()) : Optional.empty());
  }

  private static What what(rowlock.v1.Change change) {
    return switch (change.getWhatCase()) {
      case LIMIT -> limit(change.getLimit());
      case RECORD -> record(change.getRecord());
      case FORCED_RELEASE -> forcedRelease(change.getForcedRelease().getClaim());
      case POLICY -> new OfPolicy(change.getPolicy().getFrom(), change.getPolicy().getTo());
      case WHAT_NOT_SET -> new OfUnknown();
    };
  }

  private static What limit(rowlock.v1.LimitChange limit) {
    return new OfLimit(
        limit.hasFrom() ? OptionalInt.of(limit.getFrom()) : OptionalInt.empty(),
        limit.hasTo() ? OptionalInt.of(limit.getTo()) : OptionalInt.empty(),
        limit.hasRateFrom() ? Optional.of(Rate.of(limit.getRateFrom())) : Optional.empty(),
        limit.hasRateTo() ? Optional.of(Rate.of(limit.getRateTo())) : Optional.empty(),
        limit.hasQueueRulesFrom()
            ? Optional.of(QueueRules.of(limit.getQueueRulesFrom()))
            : Optional.empty(),
        limit.hasQueueRulesTo()
            ? Optional.of(QueueRules.of(limit.getQueueRulesTo()))
            : Optional.empty());
  }

  private static What record(rowlock.v1.RecordChange record) {
    return new OfRecord(
        record.hasFrom() ? Optional.of(RecordView.of(record.getFrom())) : Optional.empty(),
        record.hasTo() ? Optional.of(RecordView.of(record.getTo())) : Optional.empty());
  }

  private static What forcedRelease(rowlock.v1.Claim claim) {
    return new OfForcedRelease(
        claim.getTicketNumber(),
        ClaimView.State.of(claim.getState()),
        claim.getOwner(),
        claim.getPrincipal());
  }
}

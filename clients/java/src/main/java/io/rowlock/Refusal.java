package io.rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Why a lock was not granted: an expected answer, not an error. Either the server refuses it, or the claim has ended,
 * before it was waited for or meanwhile.
 *
 * @param reason what a program acts on
 * @param message for people, and not stable
 * @param holders who holds the lock, oldest first and at most 10; for {@link Reason#BUSY} and {@link Reason#TIMED_OUT}
 * @param retryAfter a hint when to try again; exact for {@link Reason#RATE}
 * @param limit the limit that forbids the grant; for {@link Reason#NEVER_FITS}, for {@link Reason#PAUSED} and
 * {@link Reason#TIMED_OUT} by a limit of 0, and for {@link Reason#BUSY} and {@link Reason#QUEUE_FULL} by a pool
 * @param status the status that the lock has; for {@link Reason#STATUS_MISMATCH}
 * @param heldByYou whether this client itself holds the lock; for {@link Reason#BUSY} and {@link Reason#TIMED_OUT}
 * @param rate the rate that forbids the grant; for {@link Reason#RATE}, and for {@link Reason#NEVER_FITS} by its burst
 * @param lockName of a request for several locks, the one that is in the way, of which all this is; empty: it was for one lock,
 * or the server does not say
 * @param queueRules those that forbid the grant; for {@link Reason#QUEUE_FULL} by their bound, and for {@link Reason#NEVER_FITS} of
 * several locks
 */
public record Refusal(
    Reason reason,
    String message,
    List<ClaimView> holders,
    Optional<Duration> retryAfter,
    Optional<LimitView> limit,
    Optional<String> status,
    boolean heldByYou,
    Optional<RateView> rate,
    Optional<String> lockName,
    Optional<QueueRulesView> queueRules) {
  static Refusal of(rowlock.v1.Refusal refusal) {
    return of(
        Reason.of(refusal.getReason()),
        refusal.getMessage(),
        refusal.getHoldersList(),
        refusal.hasRetryAfter() ? Optional.of(refusal.getRetryAfter()) : Optional.empty(),
        refusal.hasLimit() ? Optional.of(refusal.getLimit()) : Optional.empty(),
        refusal.getStatus(),
        refusal.hasRate() ? Optional.of(refusal.getRate()) : Optional.empty(),
        refusal.getLockName(),
        refusal.hasQueueRules()
            ? Optional.of(QueueRulesView.of(refusal.getQueueRules()))
            : Optional.empty());
  }

  /** Of a lock whose claim has ended, before it was waited for or meanwhile. */
  static Refusal of(rowlock.v1.ClaimEnd end) {
    return of(
        Reason.of(end.getReason()),
        end.getMessage(),
        end.getHoldersList(),
        end.hasRetryAfter() ? Optional.of(end.getRetryAfter()) : Optional.empty(),
        end.hasLimit() ? Optional.of(end.getLimit()) : Optional.empty(),
        end.getStatus(),
        Optional.empty(),
        end.getLockName(),
        Optional.empty());
  }

  private static Refusal of(
      Reason reason,
      String message,
      List<rowlock.v1.Claim> holders,
      Optional<com.google.protobuf.Duration> retryAfter,
      Optional<rowlock.v1.Limit> limit,
      String status,
      Optional<rowlock.v1.RateInForce> rate,
      String lockName,
      Optional<QueueRulesView> queueRules) {
    return new Refusal(
        reason,
        message,
        holders.stream().map(ClaimView::of).toList(),
        retryAfter.map(Times::durationOf),
        limit.map(LimitView::of),
        reason == Reason.STATUS_MISMATCH ? Optional.of(status) : Optional.empty(),
        false,
        rate.map(RateView::of),
        lockName.isEmpty() ? Optional.empty() : Optional.of(lockName),
        queueRules);
  }

  /** This refusal of a request for a lock that this client holds itself. */
  Refusal byYourself(HeldLocks.OwnHold own) {
    String said = message.replaceFirst("\\.$", "") + "; " + heldByYou(own);
    return new Refusal(
        reason, said, holders, retryAfter, limit, status, true, rate, lockName, queueRules);
  }

  static String heldByYou(HeldLocks.OwnHold own) {
    long seconds = own.heldFor().toSeconds();
    return "you hold \"" + own.name() + "\" yourself, since " + seconds + " s; locks are not reentrant";
  }
}

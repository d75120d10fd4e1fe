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
 * @param retryAfter a hint when to try again
 * @param limit the limit that forbids the grant; for {@link Reason#NEVER_FITS}, and for {@link Reason#PAUSED} and
 * {@link Reason#TIMED_OUT} by a limit of 0
 * @param status the status that the lock has; for {@link Reason#STATUS_MISMATCH}
 * @param heldByYou whether this client itself holds the lock; for {@link Reason#BUSY} and {@link Reason#TIMED_OUT}
 */
public record Refusal(
    Reason reason,
    String message,
    List<ClaimView> holders,
    Optional<Duration> retryAfter,
    Optional<LimitView> limit,
    Optional<String> status,
    boolean heldByYou) {
  static Refusal of(rowlock.v1.Refusal refusal) {
    Reason reason = Reason.of(refusal.getReason());
    return new Refusal(
        reason,
        refusal.getMessage(),
        viewsOf(refusal.getHoldersList()),
        refusal.hasRetryAfter() ? durationOf(refusal.getRetryAfter()) : Optional.empty(),
        refusal.hasLimit() ? viewOf(refusal.getLimit()) : Optional.empty(),
        statusFor(reason, refusal.getStatus()),
        false);
  }

  /** Of a lock whose claim has ended, before it was waited for or meanwhile. */
  static Refusal of(rowlock.v1.ClaimEnd end) {
    Reason reason = Reason.of(end.getReason());
    return new Refusal(
        reason,
        end.getMessage(),
        viewsOf(end.getHoldersList()),
        end.hasRetryAfter() ? durationOf(end.getRetryAfter()) : Optional.empty(),
        end.hasLimit() ? viewOf(end.getLimit()) : Optional.empty(),
        statusFor(reason, end.getStatus()),
        false);
  }

  private static List<ClaimView> viewsOf(List<rowlock.v1.Claim> holders) {
    return holders.stream().map(ClaimView::of).toList();
  }

  private static Optional<Duration> durationOf(com.google.protobuf.Duration duration) {
    return Optional.of(Times.durationOf(duration));
  }

  private static Optional<LimitView> viewOf(rowlock.v1.Limit limit) {
    return Optional.of(LimitView.of(limit));
  }

  private static Optional<String> statusFor(Reason reason, String status) {
    return reason == Reason.STATUS_MISMATCH ? Optional.of(status) : Optional.empty();
  }

  /** This refusal by a lock that this client has held itself for so long. */
  Refusal byYourself(String name, Duration held) {
    String said = message.replaceFirst("\\.$", "") + "; " + heldByYou(name, held);
    return new Refusal(reason, said, holders, retryAfter, limit, status, true);
  }

  static String heldByYou(String name, Duration held) {
    return "you hold \"" + name + "\" yourself, since " + held.toSeconds() + " s; locks are not reentrant";
  }
}

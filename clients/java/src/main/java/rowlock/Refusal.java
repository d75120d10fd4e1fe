package rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * An expected no, which is an answer and not an error.
 *
 * @param reason why there is no lock
 * @param message what a person reads
 * @param holders who holds the lock, oldest first; for {@link Reason#BUSY} and {@link Reason#TIMED_OUT}
 * @param retryAfter when another try may be worth while: a hint
 * @param limit the limit that stands in the way; for {@link Reason#NEVER_FITS}, and for {@link Reason#PAUSED} by a limit of 0
 * @param status the lock's status that was found; for {@link Reason#STATUS_MISMATCH}
 */
public record Refusal(
    Reason reason,
    String message,
    List<ClaimView> holders,
    Optional<Duration> retryAfter,
    Optional<LimitView> limit,
    Optional<String> status) {
  static Refusal of(rowlock.v1.Refusal refusal) {
    Reason reason = Reason.of(refusal.getReason());
    return new Refusal(
        reason,
        refusal.getMessage(),
        refusal.getHoldersList().stream().map(ClaimView::of).toList(),
        refusal.hasRetryAfter()
            ? Optional.of(Times.durationOf(refusal.getRetryAfter()))
            : Optional.empty(),
        refusal.hasLimit() ? Optional.of(LimitView.of(refusal.getLimit())) : Optional.empty(),
        reason == Reason.STATUS_MISMATCH ? Optional.of(refusal.getStatus()) : Optional.empty());
  }
}

package io.rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Why a claim waits, or why a request would have to.
 *
 * @param lock the lock without holders, waiters and record: the causes have what matters
 * @param claim the waiter; empty for a request that would come now
 * @param causes the most important first; none: a request would be granted at once, or the waiter is about to be
 * @param summary the same in one line for people, and not stable
 * @param estimate how long the wait is likely to last; empty if too little is known
 */
public record WaitExplanation(
    LockView lock,
    Optional<ClaimView> claim,
    List<WaitCause> causes,
    String summary,
    Optional<Estimate> estimate) {
  /**
   * How long a wait is likely to last from now on, judged by recent leases of the lock.
   *
   * @param median in half of the cases it is over by then
   * @param low in one case of ten it is over by then
   * @param high in nine cases of ten it is over by then
   * @param leases how many leases this is based on
   */
  public record Estimate(Duration median, Duration low, Duration high, int leases) {}

  static WaitExplanation of(rowlock.v1.ExplainWaitResponse explained) {
    return new WaitExplanation(
        LockView.of(explained.getLock()),
        explained.hasClaim() ? Optional.of(ClaimView.of(explained.getClaim())) : Optional.empty(),
        explained.getCausesList().stream().flatMap(cause -> WaitCauses.of(cause).stream()).toList(),
        explained.getSummary(),
        explained.hasEstimate() ? Optional.of(estimate(explained.getEstimate())) : Optional.empty());
  }

  private static Estimate estimate(rowlock.v1.WaitEstimate estimate) {
    return new Estimate(
        Times.durationOf(estimate.getMedian()),
        Times.durationOf(estimate.getLow()),
        Times.durationOf(estimate.getHigh()),
        estimate.getLeases());
  }
}

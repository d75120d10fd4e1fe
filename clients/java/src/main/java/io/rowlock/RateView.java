package io.rowlock;

import java.util.Optional;

/**
 * The rate of a lock, and where it comes from.
 *
 * @param rate how fast the lock may be granted
 * @param source where it comes from; never {@link LimitView.Source#DEFAULT}
 * @param pattern the pattern, if that or a pool is the source; empty text if the caller may not see it
 * @param version for the {@link LimitChange#ifVersion(long)} of the next change; a limit, a rate and queue rules share it
 * @param reason the reason that came with the change
 * @param available how many permits may be taken now; only a {@link LockView} and a {@link PoolView} have it, elsewhere it is 0
 */
public record RateView(
    Rate rate,
    LimitView.Source source,
    Optional<String> pattern,
    long version,
    String reason,
    int available) {
  static RateView of(rowlock.v1.RateInForce rate) {
    LimitView.Source source = LimitView.Source.of(rate.getSource());
    return new RateView(
        Rate.of(rate.getRate()),
        source,
        source.hasPattern() ? Optional.of(rate.getPattern()) : Optional.empty(),
        rate.getVersion(),
        rate.getReason(),
        rate.getAvailable());
  }
}

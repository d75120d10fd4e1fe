package io.rowlock;

import java.util.Optional;

/**
 * A pool, which counts all names under a pattern together.
 *
 * @param pattern such as {@code openai/*}; empty text if the caller may not see it
 * @param limit how many permits all names under it may have at once; empty: any number
 * @param rate how fast they may be granted, all together; empty: as fast as they become free
 * @param use what is used of it
 */
public record PoolView(
    String pattern, Optional<LimitView> limit, Optional<RateView> rate, PoolUse use) {
  static PoolView of(rowlock.v1.PoolInForce pool) {
    return new PoolView(
        pool.getPattern(),
        pool.hasLimit() ? Optional.of(LimitView.of(pool.getLimit())) : Optional.empty(),
        pool.hasRate() ? Optional.of(RateView.of(pool.getRate())) : Optional.empty(),
        PoolUse.of(pool.getUse()));
  }

  /** Its limit or its rate has the pattern. */
  static PoolView of(rowlock.v1.PoolInTheWay pool) {
    return new PoolView(
        pool.hasLimit() ? pool.getLimit().getPattern() : pool.getRate().getPattern(),
        pool.hasLimit() ? Optional.of(LimitView.of(pool.getLimit())) : Optional.empty(),
        pool.hasRate() ? Optional.of(RateView.of(pool.getRate())) : Optional.empty(),
        PoolUse.of(pool.getUse()));
  }
}

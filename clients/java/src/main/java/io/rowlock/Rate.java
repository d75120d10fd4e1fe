package io.rowlock;

import java.time.Duration;

/**
 * How fast a lock may be granted. A grant takes as many permits of the rate as the claim asks for, and a reader or writer
 * takes one. Nothing gives them back: they come back evenly with time.
 *
 * @param permits how many permits come back in each {@code per}; 1 to 1,000,000
 * @param per 1 s to 24 days
 * @param burst how many permits may be taken at once after a pause, 1 to 1,000,000; 1 spaces grants evenly
 */
public record Rate(int permits, Duration per, int burst) {
  /**
   * A rate whose burst is {@code permits}.
   *
   * @param permits how many permits come back in each {@code per}
   * @param per 1 s to 24 days
   * @return a rate
   */
  public static Rate of(int permits, Duration per) {
    return new Rate(permits, per, permits);
  }

  /**
   * The same rate with another burst.
   *
   * @param burst how many permits may be taken at once after a pause
   * @return a rate
   */
  public Rate withBurst(int burst) {
    return new Rate(permits, per, burst);
  }

  static Rate of(rowlock.v1.Rate rate) {
    return new Rate(rate.getPermits(), Times.durationOf(rate.getPer()), rate.getBurst());
  }

  rowlock.v1.Rate proto() {
    return rowlock.v1.Rate.newBuilder()
        .setPermits(permits)
        .setPer(Times.protoOf(per))
        .setBurst(burst)
        .build();
  }
}

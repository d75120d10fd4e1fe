// The options of a lease that concern the lock's record: when to grant it, and what to remember when it ends.

package io.rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import rowlock.v1.LeaseTerms;

record Terms(
    Optional<Duration> minInterval,
    Optional<Duration> lockDelay,
    Optional<String> statusIfLost,
    List<String> ifStatus,
    Optional<rowlock.v1.Backoff> backoff) {

  /** Whether the lock's record must show a loss differently from a release. Then a lost lease has to expire. */
  boolean differIfLost() {
    return minInterval.isPresent() || lockDelay.isPresent() || statusIfLost.isPresent() || backoff.isPresent();
  }

  /** Whether the end of a confirmed lease leaves a mark in the lock's record. */
  boolean areSet() {
    return differIfLost() || !ifStatus.isEmpty();
  }

  void addTo(LeaseTerms.Builder lease) {
    minInterval.ifPresent(interval -> lease.setMinInterval(Times.protoOf(interval)));
    lockDelay.ifPresent(delay -> lease.setLockDelay(Times.protoOf(delay)));
    statusIfLost.ifPresent(lease::setStatusIfLost);
    lease.addAllIfStatus(ifStatus);
    backoff.ifPresent(lease::setBackoff);
  }
}

// The options of a lease that concern the lock's record: when to grant it, and what to remember when it ends.

package io.rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import rowlock.v1.AcquireRequest;
import rowlock.v1.CaptureRequest;

record Terms(
    Optional<Duration> minInterval,
    Optional<Duration> lockDelay,
    Optional<String> statusIfLost,
    List<String> ifStatus) {

  /** Whether the lock's record must show a loss differently from a release. Then a lost lease has to expire. */
  boolean differIfLost() {
    return minInterval.isPresent() || lockDelay.isPresent() || statusIfLost.isPresent();
  }

  /** Whether the end of a confirmed lease leaves a mark in the lock's record. */
  boolean areSet() {
    return differIfLost() || !ifStatus.isEmpty();
  }

  void addTo(AcquireRequest.Builder request) {
    minInterval.ifPresent(interval -> request.setMinInterval(Times.protoOf(interval)));
    lockDelay.ifPresent(delay -> request.setLockDelay(Times.protoOf(delay)));
    statusIfLost.ifPresent(request::setStatusIfLost);
    request.addAllIfStatus(ifStatus);
  }

  void addTo(CaptureRequest.Builder request) {
    minInterval.ifPresent(interval -> request.setMinInterval(Times.protoOf(interval)));
    lockDelay.ifPresent(delay -> request.setLockDelay(Times.protoOf(delay)));
    statusIfLost.ifPresent(request::setStatusIfLost);
    request.addAllIfStatus(ifStatus);
  }
}

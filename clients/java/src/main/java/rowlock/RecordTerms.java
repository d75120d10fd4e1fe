// What a lease asks of its lock's record: when it may be granted, and what is remembered when it ends.

package rowlock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import rowlock.v1.AcquireRequest;
import rowlock.v1.CaptureRequest;

record RecordTerms(
    Optional<Duration> minInterval,
    Optional<Duration> lockDelay,
    Optional<String> statusIfLost,
    List<String> ifStatus) {

  /** Whether the lock shall remember how a lease was lost, which has to end by itself for that. */
  boolean differIfLost() {
    return minInterval.isPresent() || lockDelay.isPresent() || statusIfLost.isPresent();
  }

  /** Whether the end of a lease leaves a mark in the lock's record, if the lease was confirmed before. */
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

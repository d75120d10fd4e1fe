package rowlock;

import java.time.Duration;
import java.time.Instant;
import rowlock.v1.UpdateLockRequest;

/**
 * A change of what a lock remembers, for {@link Rowlock#updateLock(LockChange)}. Each method answers a new one; what is not named
 * stays as it is.
 */
public final class LockChange {
  private final UpdateLockRequest request;

  private LockChange(UpdateLockRequest request) {
    this.request = request;
  }

  /**
   * Of one lock, which is made where nobody has named it yet.
   *
   * @param name the lock
   * @return a change that still has to be told to what
   */
  public static LockChange of(String name) {
    return new LockChange(UpdateLockRequest.newBuilder().setName(name).build());
  }

  /**
   * Nothing is granted before this instant of the database's clock. One that has passed makes the lock due since then.
   *
   * @param instant from 1970 on, and 10 years ahead at the most
   * @return the change
   */
  public LockChange notBefore(Instant instant) {
    return new LockChange(request.toBuilder().setNotBefore(Times.protoOf(instant)).build());
  }

  /**
   * The same as a time from now, for whose own clock may differ from the database's.
   *
   * @param fromNow up to 10 years
   * @return the change
   */
  public LockChange notBeforeIn(Duration fromNow) {
    return new LockChange(request.toBuilder().setNotBeforeIn(Times.protoOf(fromNow)).build());
  }

  /**
   * It may be granted at any time.
   *
   * @return the change
   */
  public LockChange unsetNotBefore() {
    return new LockChange(request.toBuilder().setUnsetNotBefore(true).build());
  }

  /**
   * How many more times it may be granted.
   *
   * @param attempts 0 to 1,000,000
   * @return the change
   */
  public LockChange attemptsLeft(int attempts) {
    return new LockChange(request.toBuilder().setAttemptsLeft(attempts).build());
  }

  /**
   * It may be granted any number of times.
   *
   * @return the change
   */
  public LockChange unsetAttemptsLeft() {
    return new LockChange(request.toBuilder().setUnsetAttemptsLeft(true).build());
  }

  /**
   * Its status.
   *
   * @param status up to 63 bytes; a word of your own
   * @return the change
   */
  public LockChange status(String status) {
    return new LockChange(request.toBuilder().setStatus(status).build());
  }

  /**
   * Only if the record has this version; otherwise {@link Reason#VERSION_MISMATCH}.
   *
   * @param version of {@link RecordView}; 0: only if the lock has no record
   * @return the change
   */
  public LockChange ifVersion(long version) {
    return new LockChange(request.toBuilder().setExpectedVersion(version).build());
  }

  UpdateLockRequest request() {
    return request;
  }
}

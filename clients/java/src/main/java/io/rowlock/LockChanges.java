package io.rowlock;

import java.time.Duration;
import java.time.Instant;
import rowlock.v1.UpdateLockRequest;

/**
 * A change of a lock's record, for {@link RowlockClient#updateLock(LockChanges)}. Immutable: each method returns a new change.
 * Values that are not named stay as they are.
 */
public final class LockChanges {
  private final UpdateLockRequest request;

  private LockChanges(UpdateLockRequest request) {
    this.request = request;
  }

  /**
   * Changes the record of one lock, which is created if nobody has named it yet.
   *
   * @param name the lock
   * @return a change without values yet: call at least one of the other methods
   */
  public static LockChanges of(String name) {
    return new LockChanges(UpdateLockRequest.newBuilder().setName(name).build());
  }

  /**
   * Forbids grants before this instant of the database's clock. With an instant in the past, the lock is due since
   * then, which puts it before others in a capture.
   *
   * @param instant from 1970 on, at most 10 years ahead
   * @return the change
   */
  public LockChanges notBefore(Instant instant) {
    return new LockChanges(request.toBuilder().setNotBefore(Times.protoOf(instant)).build());
  }

  /**
   * The same as a time from now, for programs whose clock may differ from the database's.
   *
   * @param fromNow 0 to 10 years
   * @return the change
   */
  public LockChanges notBeforeIn(Duration fromNow) {
    return new LockChanges(request.toBuilder().setNotBeforeIn(Times.protoOf(fromNow)).build());
  }

  /**
   * Allows grants at any time.
   *
   * @return the change
   */
  public LockChanges unsetNotBefore() {
    return new LockChanges(request.toBuilder().setUnsetNotBefore(true).build());
  }

  /**
   * Sets how many more times the lock may be granted.
   *
   * @param attempts 0 to 1,000,000
   * @return the change
   */
  public LockChanges attemptsLeft(int attempts) {
    return new LockChanges(request.toBuilder().setAttemptsLeft(attempts).build());
  }

  /**
   * Allows any number of grants.
   *
   * @return the change
   */
  public LockChanges unsetAttemptsLeft() {
    return new LockChanges(request.toBuilder().setUnsetAttemptsLeft(true).build());
  }

  /**
   * Sets the lock's status.
   *
   * @param status a word of your own, at most 63 bytes
   * @return the change
   */
  public LockChanges status(String status) {
    return new LockChanges(request.toBuilder().setStatus(status).build());
  }

  /**
   * Makes the change only if the record has this version. Otherwise it fails with {@link Reason#VERSION_MISMATCH}.
   *
   * @param version of {@link RecordView}; 0: only if the lock has no record
   * @return the change
   */
  public LockChanges ifVersion(long version) {
    return new LockChanges(request.toBuilder().setExpectedVersion(version).build());
  }

  UpdateLockRequest request() {
    return request;
  }
}

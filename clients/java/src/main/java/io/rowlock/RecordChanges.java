package io.rowlock;

import java.time.Duration;
import java.time.Instant;
import rowlock.v1.UpdateRecordRequest;

/**
 * A change of a lock's record, for {@link RowlockClient#updateRecord(RecordChanges)}. Immutable: each method returns a new change.
 * Values that are not named stay as they are.
 */
public final class RecordChanges {
  private final UpdateRecordRequest request;

  private RecordChanges(UpdateRecordRequest request) {
    this.request = request;
  }

  /**
   * Changes the record of one lock, which is created if nobody has named it yet.
   *
   * @param name the lock
   * @return a change without values yet: call at least one of the other methods
   */
  public static RecordChanges of(String name) {
    return new RecordChanges(UpdateRecordRequest.newBuilder().setName(name).build());
  }

  /**
   * Forbids grants before this instant of the database's clock. With an instant in the past, the lock is due since
   * then, which puts it before others in a capture.
   *
   * @param instant from 1970 on, at most 10 years ahead
   * @return the change
   */
  public RecordChanges notBefore(Instant instant) {
    return new RecordChanges(request.toBuilder().setNotBefore(Times.protoOf(instant)).build());
  }

  /**
   * The same as a time from now, for programs whose clock may differ from the database's.
   *
   * @param fromNow 0 to 10 years
   * @return the change
   */
  public RecordChanges notBeforeIn(Duration fromNow) {
    return new RecordChanges(request.toBuilder().setNotBeforeIn(Times.protoOf(fromNow)).build());
  }

  /**
   * Allows grants at any time.
   *
   * @return the change
   */
  public RecordChanges unsetNotBefore() {
    return new RecordChanges(request.toBuilder().setUnsetNotBefore(true).build());
  }

  /**
   * Sets how many more times the lock may be granted.
   *
   * @param attempts 0 to 1,000,000
   * @return the change
   */
  public RecordChanges attemptsLeft(int attempts) {
    return new RecordChanges(request.toBuilder().setAttemptsLeft(attempts).build());
  }

  /**
   * Allows any number of grants.
   *
   * @return the change
   */
  public RecordChanges unsetAttemptsLeft() {
    return new RecordChanges(request.toBuilder().setUnsetAttemptsLeft(true).build());
  }

  /**
   * Sets the lock's status.
   *
   * @param status a word of your own, at most 63 bytes
   * @return the change
   */
  public RecordChanges status(String status) {
    return new RecordChanges(request.toBuilder().setStatus(status).build());
  }

  /**
   * Makes the change only if the record has this version. Otherwise it fails with {@link Reason#VERSION_MISMATCH}.
   *
   * @param version of {@link RecordView}; 0: only if the lock has no record
   * @return the change
   */
  public RecordChanges ifVersion(long version) {
    return new RecordChanges(request.toBuilder().setExpectedVersion(version).build());
  }

  UpdateRecordRequest request() {
    return request;
  }
}

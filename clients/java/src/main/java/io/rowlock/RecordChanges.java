package io.rowlock;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Empty;
import java.time.Duration;
import java.time.Instant;
import rowlock.v1.UpdateRecordRequest;

/**
 * A change of a lock's record, for {@link RowlockClient#updateRecord(RecordChanges)}. Immutable: each method returns a
 * new change. Values that are not named stay as they are.
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
   * @throws IllegalArgumentException after {@link #notBeforeIn} or {@link #unsetNotBefore}
   */
  public RecordChanges notBefore(Instant instant) {
    return new RecordChanges(
        toSet(UpdateRecordRequest.NOT_BEFORE_FIELD_NUMBER).setNotBefore(Times.protoOf(instant)).build());
  }

  /**
   * The same as a time from now, for programs whose clock may differ from the database's.
   *
   * @param fromNow 0 to 10 years
   * @return the change
   * @throws IllegalArgumentException after {@link #notBefore} or {@link #unsetNotBefore}
   */
  public RecordChanges notBeforeIn(Duration fromNow) {
    return new RecordChanges(
        toSet(UpdateRecordRequest.NOT_BEFORE_IN_FIELD_NUMBER).setNotBeforeIn(Times.protoOf(fromNow)).build());
  }

  /**
   * Allows grants at any time.
   *
   * @return the change
   * @throws IllegalArgumentException after {@link #notBefore} or {@link #notBeforeIn}
   */
  public RecordChanges unsetNotBefore() {
    return new RecordChanges(
        toSet(UpdateRecordRequest.UNSET_NOT_BEFORE_FIELD_NUMBER)
            .setUnsetNotBefore(Empty.getDefaultInstance())
            .build());
  }

  /**
   * Sets how many more times the lock may be granted.
   *
   * @param attempts 0 to 1,000,000
   * @return the change
   * @throws IllegalArgumentException after {@link #unsetAttemptsLeft}
   */
  public RecordChanges attemptsLeft(int attempts) {
    return new RecordChanges(
        toSet(UpdateRecordRequest.ATTEMPTS_LEFT_FIELD_NUMBER).setAttemptsLeft(attempts).build());
  }

  /**
   * Allows any number of grants.
   *
   * @return the change
   * @throws IllegalArgumentException after {@link #attemptsLeft}
   */
  public RecordChanges unsetAttemptsLeft() {
    return new RecordChanges(
        toSet(UpdateRecordRequest.UNSET_ATTEMPTS_LEFT_FIELD_NUMBER)
            .setUnsetAttemptsLeft(Empty.getDefaultInstance())
            .build());
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

  /**
   * Gives a reason, for people who look later.
   *
   * @param reason why; at most 255 bytes
   * @return the change
   */
  public RecordChanges reason(String reason) {
    return new RecordChanges(request.toBuilder().setReason(reason).build());
  }

  /** Refuses a contradiction: the request has room for one of the values, and would silently lose the first. */
  private UpdateRecordRequest.Builder toSet(int field) {
    FieldDescriptor chosen = UpdateRecordRequest.getDescriptor().findFieldByNumber(field);
    FieldDescriptor present = request.getOneofFieldDescriptor(chosen.getContainingOneof());
    if (present != null && !present.equals(chosen))
      // These names are those of the methods.
      throw new IllegalArgumentException(
          present.getJsonName() + " and " + chosen.getJsonName() + ": set one of them");
    return request.toBuilder();
  }

  UpdateRecordRequest request() {
    return request;
  }
}

package io.rowlock;

import rowlock.v1.DeleteRecordRequest;

/**
 * Which record to remove, for {@link RowlockClient#deleteRecord(RecordDeletion)}. Immutable: each method returns a new
 * deletion.
 */
public final class RecordDeletion {
  private final DeleteRecordRequest request;

  private RecordDeletion(DeleteRecordRequest request) {
    this.request = request;
  }

  /**
   * Removes the record of one lock.
   *
   * @param name the lock
   * @return the deletion
   */
  public static RecordDeletion of(String name) {
    return new RecordDeletion(DeleteRecordRequest.newBuilder().setName(name).build());
  }

  /**
   * Removes the record only if it has this version. Otherwise it fails with {@link Reason#VERSION_MISMATCH}.
   *
   * @param version of {@link RecordView}; 0: only if there is no record, which changes nothing
   * @return the deletion
   */
  public RecordDeletion ifVersion(long version) {
    return new RecordDeletion(request.toBuilder().setExpectedVersion(version).build());
  }

  /**
   * Gives a reason, for people who look later.
   *
   * @param reason why; at most 255 bytes
   * @return the deletion
   */
  public RecordDeletion reason(String reason) {
    return new RecordDeletion(request.toBuilder().setReason(reason).build());
  }

  DeleteRecordRequest request() {
    return request;
  }
}

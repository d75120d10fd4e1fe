package io.rowlock;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What a lock remembers beyond its claims.
 *
 * @param notBefore the earliest time of the next grant, by the database's clock; empty: any time
 * @param attemptsLeft how many more times it may be granted; empty: any number of times
 * @param status a short word of your own, {@code ""} at first
 * @param lastRun how the last lease went; empty if none has ended since the record was made
 * @param lastSuccess the last run that was {@link Reason#RELEASED}; empty if none was since the record was made
 * @param failures how many runs in a row, up to the last one, have failed or were lost
 * @param version for the {@link RecordChanges#ifVersion(long)} of the next change
 */
public record RecordView(
    Optional<Instant> notBefore,
    OptionalInt attemptsLeft,
    String status,
    Optional<LastRunView> lastRun,
    Optional<LastRunView> lastSuccess,
    int failures,
    long version) {
  static RecordView of(rowlock.v1.LockRecord record) {
    return new RecordView(
        record.hasNotBefore() ? Optional.of(Times.instantOf(record.getNotBefore())) : Optional.empty(),
        record.hasAttemptsLeft() ? OptionalInt.of(record.getAttemptsLeft()) : OptionalInt.empty(),
        record.getStatus(),
        record.hasLastRun() ? Optional.of(LastRunView.of(record.getLastRun())) : Optional.empty(),
        record.hasLastSuccess() ? Optional.of(LastRunView.of(record.getLastSuccess())) : Optional.empty(),
        record.getFailures(),
        record.getVersion());
  }
}

package rowlock;

import java.util.List;
import java.util.Optional;

/**
 * A lock as it stands.
 *
 * @param name its name
 * @param limit the limit in force
 * @param heldPermits permits held, each reader or writer counted as 1
 * @param holderCount how many hold it
 * @param waiting how many wait
 * @param isDraining more is held than the limit allows, as it was lowered
 * @param lastToken the fencing token given last; 0 when none was
 * @param holders oldest first, and not all of many
 * @param waiters the first ones
 * @param record what it remembers; empty: nothing
 */
public record LockView(
    String name,
    LimitView limit,
    long heldPermits,
    int holderCount,
    int waiting,
    boolean isDraining,
    long lastToken,
    List<ClaimView> holders,
    List<ClaimView> waiters,
    Optional<RecordView> record) {
  static LockView of(rowlock.v1.Lock lock) {
    return new LockView(
        lock.getName(),
        LimitView.of(lock.getLimit()),
        lock.getHeldPermits(),
        lock.getHolderCount(),
        lock.getWaiting(),
        lock.getDraining(),
        lock.getLastFencingToken(),
        lock.getHoldersList().stream().map(ClaimView::of).toList(),
        lock.getWaitersList().stream().map(ClaimView::of).toList(),
        lock.hasRecord() ? Optional.of(RecordView.of(lock.getRecord())) : Optional.empty());
  }
}

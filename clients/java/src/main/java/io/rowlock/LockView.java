package io.rowlock;

import java.util.List;
import java.util.Optional;

/**
 * A lock and its present state.
 *
 * @param name its name
 * @param limit the limit in force
 * @param heldPermits permits held; each reader or writer counts as 1
 * @param holderCount the number of holders
 * @param waiterCount the number of waiters, for the lock or for a pool over it
 * @param draining whether more is held than the limit allows, because the limit was lowered
 * @param lastToken the latest fencing token; 0 if none was given
 * @param holders the oldest holders, oldest first; 100 at most, in listings 10
 * @param waiters the first waiters, in order; as many at most
 * @param record what the lock remembers; empty if it has no record
 * @param rate how fast it may be granted; empty: as fast as it becomes free
 * @param pools the pools over it that the caller may see, narrow to wide; only {@link RowlockClient#getLock(String)} shows them
 * @param queueRules who may wait; empty: as many as the server allows
 */
public record LockView(
    String name,
    LimitView limit,
    long heldPermits,
    int holderCount,
    int waiterCount,
    boolean draining,
    long lastToken,
    List<ClaimView> holders,
    List<ClaimView> waiters,
    Optional<RecordView> record,
    Optional<RateView> rate,
    List<PoolView> pools,
    Optional<QueueRulesView> queueRules) {
  static LockView of(rowlock.v1.Lock lock) {
    return new LockView(
        lock.getName(),
        LimitView.of(lock.getLimit()),
        lock.getHeldPermits(),
        lock.getHolderCount(),
        lock.getWaiterCount(),
        lock.getDraining(),
        lock.getLastFencingToken(),
        lock.getHoldersList().stream().map(ClaimView::of).toList(),
        lock.getWaitersList().stream().map(ClaimView::of).toList(),
        lock.hasRecord() ? Optional.of(RecordView.of(lock.getRecord())) : Optional.empty(),
        lock.hasRate() ? Optional.of(RateView.of(lock.getRate())) : Optional.empty(),
        lock.getPoolsList().stream().map(PoolView::of).toList(),
        lock.hasQueueRules()
            ? Optional.of(QueueRulesView.of(lock.getQueueRules()))
            : Optional.empty());
  }
}

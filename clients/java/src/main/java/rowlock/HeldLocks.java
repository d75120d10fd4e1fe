// The locks that this client holds, by the ids of their leases: one for all calls that were granted the same lease, and what
// becomes of it when it is released, given up or handed over. For any thread.

package rowlock;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import rowlock.v1.RenewRequest;

final class HeldLocks {
  private final Loop loop;
  private final LeaseKeeper keeper;
  private final Verbs verbs;
  private final Promises promises;
  private final Told told;
  private final Map<String, Lock> locks = new ConcurrentHashMap<>();

  HeldLocks(Loop loop, LeaseKeeper keeper, Verbs verbs, Promises promises, Told told) {
    this.loop = loop;
    this.keeper = keeper;
    this.verbs = verbs;
    this.promises = promises;
    this.told = told;
  }

  /** The lease is held from now on. On the loop. */
  Lock keep(HeldLease lease, RecordTerms terms) {
    keeper.keep(lease);
    Lock lock = new Lock(lease, new LockVerbs(terms), told);
    locks.put(lease.id, lock);
    return lock;
  }

  /** Null unless the lease is held already: the request id is that of another call of this client, which shares the lock now. */
  Lock shared(String leaseId) {
    Lock lock = locks.get(leaseId);
    return lock != null && lock.share() ? lock : null;
  }

  /** Null unless this client holds it. */
  Lock find(String leaseId) {
    return locks.get(leaseId);
  }

  void releaseAll() {
    for (Lock lock : List.copyOf(locks.values())) lock.releaseAsync();
  }

  /**
   * Ends a claim that nobody wants any more, unless another call has it. What was never used does not count as a run, after
   * which the next one is not due yet. If the server cannot be told, it ends by itself.
   */
  void giveBack(String id, RecordTerms terms) {
    if (locks.containsKey(id)) return;
    if (terms.minInterval().isEmpty()) {
      verbs.giveBack(id);
      return;
    }
    verbs
        .release(id, ReleaseOptions.UNUSED, Times.FOREVER)
        .whenComplete(
            (released, failure) -> {
              // A ticket leaves the queue without a word about the lock.
              boolean isTicket =
                  failure instanceof RowlockException error && error.reason() == Reason.NOT_GRANTED_YET;
              if (isTicket) verbs.giveBack(id);
            });
  }

  private final class LockVerbs implements Lock.Verbs {
    private final RecordTerms terms;

    LockVerbs(RecordTerms terms) {
      this.terms = terms;
    }

    @Override
    public CompletableFuture<Boolean> release(Lock lock, ReleaseOptions options) {
      HeldLease lease = lock.lease();
      boolean isHeld = lease.state() != LockState.LOST;
      // By then it has ended by itself.
      long within = lease.remaining() + lease.margin;
      if (isHeld) {
        // Asked for before it is left out here, so that closing knows of it by the one or the other.
        CompletableFuture<Boolean> released = verbs.release(lease.id, options, within);
        drop(lock);
        return promises.promised(released);
      }
      drop(lock);
      // It was lost by this client's own count, perhaps, and the server keeps it still.
      if (!terms.differIfLost()) giveBack(lease.id, terms);
      return CompletableFuture.completedFuture(false);
    }

    @Override
    public void giveUp(Lock lock) {
      lock.lease().giveBack();
      loop.soon(
          () -> {
            drop(lock);
            giveBack(lock.leaseId(), terms);
          });
    }

    @Override
    public CompletableFuture<HandedOver> handOver(Lock lock, RenewRequest request) {
      return promises
          .open(() -> verbs.renew(request))
          .thenApply(
              renewed -> {
                drop(lock);
                return new HandedOver(lock.leaseId(), lock.token());
              });
    }

    private void drop(Lock lock) {
      locks.remove(lock.leaseId(), lock);
      lock.lease().giveBack();
      loop.soon(() -> keeper.drop(lock.lease()));
    }
  }
}

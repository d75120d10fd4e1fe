// The locks that this client holds, by the ids of their leases: one for all calls that were granted the same lease, and what
// becomes of it when it is released, given up or handed over. For any thread.

package rowlock;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import rowlock.v1.RenewRequest;

final class HeldLocks {
  private final Loop loop;
  private final LeaseKeeper keeper;
  private final Verbs verbs;
  private final Promises promises;
  private final Told told;
  private final Map<String, Lock> locks = new ConcurrentHashMap<>();

  /** Under which callers ask. */
  final Requests requests = new Requests();

  final LeftBehind leftBehind;

  HeldLocks(
      Loop loop,
      Clock clock,
      LeaseKeeper keeper,
      Verbs verbs,
      Promises promises,
      Told told,
      Consumer<Consumer<LeftBehind>> inherit) {
    this.loop = loop;
    this.keeper = keeper;
    this.verbs = verbs;
    this.promises = promises;
    this.told = told;
    leftBehind = new LeftBehind(loop, clock, verbs, this, inherit);
  }

  /** The lease is held from now on. On the loop. */
  Lock keep(HeldLease lease, LeaseOptions asked) {
    keeper.keep(lease);
    Lock lock = new Lock(lease, new LockVerbs(asked), told);
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
   * On the loop. Ends a claim that nobody wants any more, unless another call has it. What was never used does not count as a run, after
   * which the next one is not due yet. It is tried for as long as the lease can last.
   */
  void giveBack(String id, LeaseOptions asked) {
    if (locks.containsKey(id)) return;
    long lasting = asked.ttl.map(Times::ofDuration).orElse(Times.FOREVER);
    if (asked.terms.minInterval().isEmpty()) {
      leftBehind.release(id, ReleaseOptions.defaults(), lasting);
      return;
    }
    leftBehind
        .release(id, ReleaseOptions.UNUSED, lasting)
        .whenComplete(
            (released, failure) -> {
              // A ticket leaves the queue without a word about the lock.
              boolean isTicket =
                  failure instanceof RowlockException error && error.reason() == Reason.NOT_GRANTED_YET;
              if (isTicket) leftBehind.release(id, ReleaseOptions.defaults(), lasting);
            });
  }

  private final class LockVerbs implements Lock.Verbs {
    private final LeaseOptions asked;

    LockVerbs(LeaseOptions asked) {
      this.asked = asked;
    }

    @Override
    public CompletableFuture<Boolean> release(Lock lock, ReleaseOptions options) {
      HeldLease lease = lock.lease();
      boolean isHeld = lease.state() != LockState.LOST;
      // By then it has ended by itself.
      long within = lease.remaining() + lease.margin;
      if (isHeld) {
        // Asked for before it is left out here, so that closing knows of it by the one or the other.
        requests.released(asked.sharedId(), lease.id);
        CompletableFuture<Boolean> released = verbs.release(lease.id, options, within);
        drop(lock);
        if (asked.ttl.isEmpty()) released.whenComplete((wasHeld, failure) -> goOn(lease.id, options, failure));
        return promises.promised(released);
      }
      drop(lock);
      // It was lost by this client's own count, perhaps, and the server keeps it still.
      if (!asked.terms.differIfLost()) loop.soon(() -> giveBack(lease.id, asked));
      return CompletableFuture.completedFuture(false);
    }

    @Override
    public void giveUp(Lock lock) {
      lock.lease().giveBack();
      loop.soon(
          () -> {
            drop(lock);
            giveBack(lock.leaseId(), asked);
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

    /** A lease without end does not end by itself. */
    private void goOn(String leaseId, ReleaseOptions options, Throwable failure) {
      if (failure instanceof RowlockException error && error.leavesDoubt())
        loop.soon(() -> leftBehind.release(leaseId, options, Times.FOREVER));
    }

    private void drop(Lock lock) {
      locks.remove(lock.leaseId(), lock);
      lock.lease().giveBack();
      loop.soon(() -> keeper.drop(lock.lease()));
    }
  }
}

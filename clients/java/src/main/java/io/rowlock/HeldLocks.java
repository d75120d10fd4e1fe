// The locks that this client holds, by lease id: one lock for all calls that were granted the same lease. Also handles
// their release, giving up and handing over. For any thread.

package io.rowlock;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import rowlock.v1.RenewRequest;

final class HeldLocks {
  private final EventLoop loop;
  private final LeaseKeeper keeper;
  private final Verbs verbs;
  private final Promises promises;
  private final Callbacks callbacks;
  private final Telemetry telemetry;
  private final Map<String, HeldLock> locks = new ConcurrentHashMap<>();

  /** The request ids under which callers ask. */
  final Requests requests = new Requests();

  final LeftBehind leftBehind;

  HeldLocks(
      EventLoop loop,
      Clock clock,
      LeaseKeeper keeper,
      Verbs verbs,
      Promises promises,
      Callbacks callbacks,
      Telemetry telemetry,
      Consumer<Consumer<LeftBehind>> inherit) {
    this.loop = loop;
    this.keeper = keeper;
    this.verbs = verbs;
    this.promises = promises;
    this.callbacks = callbacks;
    this.telemetry = telemetry;
    leftBehind = new LeftBehind(loop, clock, verbs, this, inherit);
  }

  /**
   * Makes a lock of a lease, which is held from now on. On the loop.
   *
   * @param asker the thread that has asked; null for a capture
   */
  HeldLock keep(HeldLease lease, LeaseOptions asked, Telemetry.Request request, Thread asker) {
    keeper.keep(lease);
    Telemetry.Hold hold = telemetry.kept(lease, request);
    HeldLock lock = new HeldLock(lease, new LockVerbs(asked), callbacks, hold, asker);
    locks.put(lease.id, lock);
    return lock;
  }

  /**
   * The lock of a lease that another call of this client already holds under the same request id, now shared; otherwise
   * null.
   */
  HeldLock shared(String leaseId) {
    HeldLock lock = locks.get(leaseId);
    return lock != null && lock.share() ? lock : null;
  }

  /** The lock once more for the thread that holds it; otherwise null. */
  HeldLock again(String name, LockOptions asked) {
    for (HeldLock lock : locks.values()) {
      boolean isSame =
          lock.isOf(Thread.currentThread()) && lock.lease().locks.held().equals(asked.locks(name));
      HeldLock again = isSame ? lock.again() : null;
      if (again != null) return again;
    }
    return null;
  }

  /** Whether this thread holds one of these locks. */
  boolean holds(List<String> names, Thread asker) {
    return names.stream().flatMap(this::held).anyMatch(lock -> lock.isOf(asker));
  }

  /** A lock that this client holds itself while it asks for it, and for how long. */
  record OwnHold(String name, Duration heldFor) {}

  /** Which of these locks this client holds, the first if there are several; empty if it holds none. */
  Optional<OwnHold> ownHold(List<String> names) {
    return names.stream().flatMap(name -> ownHold(name).stream()).findFirst();
  }

  private Optional<OwnHold> ownHold(String name) {
    return held(name)
        .map(lock -> lock.lease().heldFor())
        .max(Comparator.naturalOrder())
        .map(longest -> new OwnHold(name, longest));
  }

  private Stream<HeldLock> held(String name) {
    return locks.values().stream().filter(lock -> lock.tokens().containsKey(name) && lock.isHeld());
  }

  /** Null unless this client holds it. */
  HeldLock find(String leaseId) {
    return locks.get(leaseId);
  }

  void releaseAll() {
    for (HeldLock lock : List.copyOf(locks.values())) lock.releaseForGood();
  }

  /** Gives all locks up before this program ends: their holders see a loss, and the server gets them back. */
  void leaveAll() {
    for (HeldLock lock : List.copyOf(locks.values())) lock.leave();
  }

  /**
   * Ends a claim that nobody wants any more, unless another call holds it. It sets no min interval, because there was
   * no run. It tries for as long as the lease can last. On the loop.
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
              // A ticket leaves the queue only by a release that sets nothing of the record.
              boolean isTicket =
                  failure instanceof RowlockException error && error.reason() == Reason.NOT_GRANTED_YET;
              if (isTicket) leftBehind.release(id, ReleaseOptions.defaults(), lasting);
            });
  }

  private final class LockVerbs implements HeldLock.Verbs {
    private final LeaseOptions asked;

    LockVerbs(LeaseOptions asked) {
      this.asked = asked;
    }

    @Override
    public CompletableFuture<Released> release(HeldLock lock, ReleaseOptions options) {
      HeldLease lease = lock.lease();
      boolean isHeld = lock.isHeld();
      // After that it counts as lost.
      long within = lease.remaining();
      if (isHeld) {
        // Begun before the lock is dropped here, so that a concurrent close finds it in one place or the other.
        requests.released(asked.sharedId(), lease.id);
        CompletableFuture<Released> released = verbs.release(lease.id, options, within, lock::accepted);
        drop(lock);
        if (asked.ttl.isEmpty()) released.whenComplete((wasHeld, failure) -> goOn(lease.id, options, failure));
        return promises.promised(released);
      }
      drop(lock);
      // The lock may be lost only by this client's own clock, while the server still keeps the lease.
      if (!asked.terms.differIfLost()) verbs.giveBackLost(lease.id, lasting());
      return CompletableFuture.completedFuture(Released.NOTHING);
    }

    private long lasting() {
      return asked.ttl.map(Times::ofDuration).orElse(Times.FOREVER);
    }

    @Override
    public void leave(HeldLock lock) {
      HeldLease lease = lock.lease();
      lease.lose(
          RowlockException.leaseLost(
              lease.lockName, ClaimEndView.of(Reason.RELEASED), "is given up, because this program exits."));
      drop(lock);
      if (!asked.terms.differIfLost()) giveBack(lease.id, asked);
    }

    @Override
    public void giveUp(HeldLock lock) {
      lock.lease().giveBack();
      loop.soon(
          () -> {
            drop(lock);
            giveBack(lock.leaseId(), asked);
          });
    }

    @Override
    public CompletableFuture<HandedOver> handOver(HeldLock lock, RenewRequest request) {
      return promises
          .open(() -> verbs.renew(request))
          .thenApply(
              renewed -> {
                drop(lock);
                return new HandedOver(lock.leaseId(), lock.token(), lock.tokens());
              });
    }

    /** Repeats the release, because a lease without end does not expire. */
    private void goOn(String leaseId, ReleaseOptions options, Throwable failure) {
      if (failure instanceof RowlockException error && error.leavesDoubt())
        loop.soon(() -> leftBehind.release(leaseId, options, Times.FOREVER));
    }

    private void drop(HeldLock lock) {
      locks.remove(lock.leaseId(), lock);
      lock.lease().giveBack();
      loop.soon(() -> keeper.drop(lock.lease()));
    }
  }
}

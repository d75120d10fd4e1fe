// One lease that this client holds. It knows until when its holder may rely on the lease, and notifies listeners of
// changes. Renewed on the loop; read from any thread, and each read checks the clock.
//
//   held ── no answer to its renewals ──> uncertain ── an answer ──> held
//     └──────────────┴── its time is over, or the server says that it has ended ──> lost
//
// Lost is final. A lease that is given back is final, too, but listeners are not notified of that.

package io.rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

final class HeldLease {
  /** The first renewal is due after one third of the ttl. Without a successful renewal by two thirds, it is overdue. */
  private static final int THIRDS = 3;

  /**
   * A lease that awaits its confirmation must have a ttl of this many margins, or it is renewed before anybody relies
   * on it.
   */
  private static final int MARGINS_TO_BEGIN = 4;

  /**
   * Bounds how often a grant is renewed because it came with too little time left. After that, the round trip to the
   * server is too long for the lease.
   */
  static final int LATE_GRANTS_MAX = 3;

  final String id;
  final String lockName;
  final long token;
  final Mode mode;
  final int permits;

  /** All locks of its claim. */
  final LeasedLocks locks;

  final long margin;

  /** When this client received the lease, before it had acknowledged it. */
  final long toldAt;

  /** For the keeper: whether the lease is being renewed, and when the next renewal is due. */
  boolean isRenewing;

  long renewAt;

  private final Clock clock;
  private final List<Consumer<LockState>> listeners = new ArrayList<>();
  private long ttl;
  private long basis;

  /** The connection that last carried news of the lease is gone. */
  private boolean isOrphan;

  private boolean isProvisional;

  /** Why it is over; null while it is not. */
  private RowlockException over;

  private Consumer<RowlockException> onEnd = why -> {};

  /** Whether its overdue renewal was noticed. */
  private boolean isLate;

  private LockState reported = LockState.HELD;

  HeldLease(rowlock.v1.Lease lease, long basis, long margin, Clock clock) {
    id = lease.getLeaseId();
    lockName = lease.getLockName();
    token = lease.getFencingToken();
    mode = Mode.of(lease.getMode());
    permits = lease.getPermits();
    locks = LeasedLocks.of(lease);
    this.margin = margin;
    this.clock = clock;
    toldAt = clock.now();
    take(lease, basis);
  }

  /** When the lease counts as lost, by the client's clock. The work must have stopped {@code margin} later. */
  synchronized long deadline() {
    return basis + ttl - margin;
  }

  /** When the state changes next by time alone. */
  synchronized long changesAt() {
    long overdueAt = overdueAt();
    return isOrphan || clock.now() >= overdueAt ? deadline() : Math.min(overdueAt, deadline());
  }

  private long overdueAt() {
    return basis + ttl / THIRDS * 2;
  }

  /**
   * Whether the lease must be renewed before anybody relies on it. That is so for a grant that arrived late, and for a
   * provisional lease that is too short to start work with, or that has terms: unless the server knows that the client
   * has the lease, its end leaves no mark in the lock's record.
   */
  synchronized boolean isTooEarly(boolean hasTerms) {
    boolean isLate = remaining() < ttl / THIRDS;
    boolean isBrief = ttl < margin * MARGINS_TO_BEGIN;
    return isLate || (isProvisional && (isBrief || hasTerms));
  }

  /** Half way to the next renewal. From then on, the lease may be renewed together with others. */
  synchronized long mayRenewAt() {
    return basis + (renewAt - basis) / 2;
  }

  synchronized LockState state() {
    look();
    return now();
  }

  private LockState now() {
    if (over != null) return isLost() ? LockState.LOST : LockState.RELEASED;
    return isOrphan || clock.now() >= overdueAt() ? LockState.UNCERTAIN : LockState.HELD;
  }

  synchronized boolean isOver() {
    return over != null;
  }

  /** Why the lease is over; empty while it is not. Checks the clock. */
  synchronized Optional<RowlockException> why() {
    look();
    return Optional.ofNullable(over);
  }

  /** How long the holder may rely on the lease. */
  synchronized long remaining() {
    return over != null ? 0 : Math.max(0, deadline() - clock.now());
  }

  /** The same; empty: without end. */
  synchronized Optional<Duration> left() {
    look();
    return over == null && ttl >= Times.FOREVER
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(remaining()));
  }

  /** Takes the ttl of an answer, which was true at {@code basis} or later. A lost lease stays lost. */
  synchronized void prolong(rowlock.v1.Lease lease, long since) {
    look();
    if (over != null) return;
    take(lease, since);
    tell();
  }

  private void take(rowlock.v1.Lease lease, long since) {
    ttl = lease.hasTtl() ? Times.ofProto(lease.getTtl()) : Times.FOREVER;
    basis = since;
    isProvisional = lease.getProvisional();
    isOrphan = false;
    isLate = false;
    renewAt = since + ttl / THIRDS;
  }

  synchronized void orphaned() {
    isOrphan = true;
    look();
  }

  /** Marks the lease as lost if its time is over, and notifies the listeners of any change. */
  synchronized void look() {
    if (over == null && clock.now() >= deadline())
      end(
          RowlockException.leaseLost(
              lockName, ClaimEndView.of(Reason.EXPIRED), "was not renewed in time, so others may hold the lock."));
    tell();
  }

  synchronized void lose(RowlockException why) {
    if (over == null) end(why);
    tell();
  }

  synchronized void giveBack() {
    listeners.clear();
    if (over == null)
      end(
          new RowlockException(
              Reason.RELEASED,
              Status.Code.CANCELLED,
              "The lock \"" + lockName + "\" was released by this client."));
  }

  private void end(RowlockException why) {
    over = why;
    onEnd.accept(why);
  }

  /**
   * Calls back once, when the lease is lost or given back, with the reason, on the thread that finds it; at once if it
   * has ended. There is one such callback, which must be quick.
   */
  synchronized void onEnd(Consumer<RowlockException> callback) {
    onEnd = callback;
    if (over != null) callback.accept(over);
  }

  /** Whether its renewal is overdue. Returns true once for each renewal. */
  synchronized boolean becomesLate() {
    look();
    if (isLate || over != null || clock.now() < overdueAt()) return false;
    isLate = true;
    return true;
  }

  /**
   * Notifies the listener of each change from now on, on the thread that finds it, so the listener must be quick. If
   * the lease is lost already, notifies it at once.
   */
  synchronized void listen(Consumer<LockState> listener) {
    look();
    if (isLost()) listener.accept(LockState.LOST);
    else if (over == null) listeners.add(listener);
  }

  synchronized void unlisten(Consumer<LockState> listener) {
    listeners.remove(listener);
  }

  /** For how long this client has held it. */
  Duration heldFor() {
    return Duration.ofNanos(clock.now() - toldAt);
  }

  /** Whether its time is over by the client's clock, even if it was given back before that. */
  synchronized boolean isPastDeadline() {
    return clock.now() >= deadline();
  }

  private boolean isLost() {
    return over != null && over.reason() != Reason.RELEASED;
  }

  private void tell() {
    LockState state = now();
    if (state == reported) return;
    reported = state;
    for (Consumer<LockState> listener : List.copyOf(listeners)) listener.accept(state);
    if (state == LockState.LOST) listeners.clear();
  }
}

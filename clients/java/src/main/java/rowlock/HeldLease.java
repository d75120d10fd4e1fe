// One lease that this client holds: until when its holder may count on it, and who wants to know when that changes. Renewed on
// the loop; looked at from any thread, and then the clock is, too.
//
//   held ── no answer to its renewals ──> uncertain ── an answer ──> held
//     └──────────────┴── its time is over, or the server says that it has ended ──> lost
//
// Lost is final. So is given back, of which nobody is told.

package rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

final class HeldLease {
  /** A renewal that has not succeeded by two thirds of the time to live is overdue; the first one begins at one third. */
  private static final int THIRDS = 3;

  /** A lease that waits for its confirmation must last for so many margins, or it is renewed before anybody relies on it. */
  private static final int MARGINS_TO_BEGIN = 4;

  /**
   * How many renewals of a grant may come back with too little time to begin with: the way to the server takes longer than the
   * lease can bear.
   */
  static final int LATE_GRANTS_MAX = 3;

  final String id;
  final String lockName;
  final long token;
  final Mode mode;
  final int permits;
  final long margin;

  /** When this client was told of it, and had not acknowledged it yet. */
  final long toldAt;

  /** For the keeper: whether it is being renewed, and when the next renewal is due. */
  boolean isRenewing;

  long renewAt;

  private final Clock clock;
  private final List<Consumer<LockState>> listeners = new ArrayList<>();
  private long ttl;
  private long basis;

  /** The connection in which it was last heard of is gone. */
  private boolean isOrphan;

  private boolean isProvisional;

  /** Why it is over; null while it is not. */
  private RowlockException over;

  private LockState told = LockState.HELD;

  HeldLease(rowlock.v1.Lease lease, long basis, long margin, Clock clock) {
    id = lease.getLeaseId();
    lockName = lease.getLockName();
    token = lease.getFencingToken();
    mode = Mode.of(lease.getMode());
    permits = lease.getPermits();
    this.margin = margin;
    this.clock = clock;
    toldAt = clock.now();
    take(lease, basis);
  }

  /** By the client's clock: the work must have stopped {@code margin} later at the latest. */
  synchronized long deadline() {
    return basis + ttl - margin;
  }

  /** When its state changes by time alone. */
  synchronized long changesAt() {
    long overdueAt = overdueAt();
    return isOrphan || clock.now() >= overdueAt ? deadline() : Math.min(overdueAt, deadline());
  }

  private long overdueAt() {
    return basis + ttl / THIRDS * 2;
  }

  /**
   * Whether it has to be renewed before anybody relies on it: a grant that was long on its way, or one that is not confirmed yet
   * and that leaves too little time to begin with, or has terms: its end leaves a mark in the lock's record only where the server
   * knows that somebody came for it.
   */
  synchronized boolean isTooEarly(boolean hasTerms) {
    boolean isLate = remaining() < ttl / THIRDS;
    boolean isBrief = ttl < margin * MARGINS_TO_BEGIN;
    return isLate || (isProvisional && (isBrief || hasTerms));
  }

  /** Half of the time until its renewal would be due has passed: it may come along with others. */
  synchronized long mayRenewAt() {
    return basis + (renewAt - basis) / 2;
  }

  synchronized LockState state() {
    look();
    return now();
  }

  private LockState now() {
    if (over != null) return LockState.LOST;
    return isOrphan || clock.now() >= overdueAt() ? LockState.UNCERTAIN : LockState.HELD;
  }

  synchronized boolean isOver() {
    return over != null;
  }

  /** Why it is over, after a look at the clock. */
  synchronized Optional<RowlockException> why() {
    look();
    return Optional.ofNullable(over);
  }

  /** Time left, as far as its holder may count on it. */
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

  /** The server has said how long it lasts, in an answer of {@code basis} or later. What was lost stays lost. */
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
    renewAt = since + ttl / THIRDS;
  }

  synchronized void orphaned() {
    isOrphan = true;
    look();
  }

  /** Lost if its time is over. Whoever looks tells. */
  synchronized void look() {
    if (over == null && clock.now() >= deadline())
      over =
          RowlockException.leaseLost(
              lockName, Reason.EXPIRED.name(), "was not renewed in time, so others may hold the lock.");
    tell();
  }

  synchronized void lose(RowlockException why) {
    if (over == null) over = why;
    tell();
  }

  synchronized void giveBack() {
    listeners.clear();
    if (over == null)
      over =
          new RowlockException(
              Reason.RELEASED,
              Status.Code.CANCELLED,
              "The lock \"" + lockName + "\" was released by this client.");
  }

  /** Told each change from now on, by whoever finds it: must be quick. If it is lost already, at once. */
  synchronized void listen(Consumer<LockState> listener) {
    look();
    if (isLost()) listener.accept(LockState.LOST);
    else if (over == null) listeners.add(listener);
  }

  synchronized void unlisten(Consumer<LockState> listener) {
    listeners.remove(listener);
  }

  private boolean isLost() {
    return over != null && over.reason() != Reason.RELEASED;
  }

  private void tell() {
    LockState state = now();
    if (state == told) return;
    told = state;
    for (Consumer<LockState> listener : List.copyOf(listeners)) listener.accept(state);
    if (state == LockState.LOST) listeners.clear();
  }
}

// Renews all leases that this client holds, many in one command. Notices leases that are lost: by the clock, which it
// checks before it renews anything, or because the server says so. Runs on the loop only.

package io.rowlock;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import rowlock.v1.Lease;
import rowlock.v1.LostLease;
import rowlock.v1.RenewLeases;
import rowlock.v1.RenewRequest;
import rowlock.v1.RenewedLease;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

final class LeaseKeeper {
  /** How often the client checks its clock while it holds anything, to notice that the machine slept. */
  private static final long LOOK_EVERY = Times.ofMillis(1_000);

  /** The pause before a failed renewal is tried again: short, but at most two tries in a third of the shortest ttl. */
  static final long RENEW_AGAIN = Times.ofMillis(150);

  /** The pause after the server's policy has denied a renewal. Only a change of the policy can help. */
  private static final long RENEW_DENIED = Times.ofMillis(1_000);

  /** Reasons that say that the lease has ended, perhaps long ago. */
  private static final Set<Reason> GONE = Set.of(Reason.LEASE_LOST, Reason.UNKNOWN_CLAIM);

  /** Stands for an entry that an answer lacks: the lease is renewed again when that is due. */
  private static final RenewedLease NOTHING = RenewedLease.getDefaultInstance();

  private final EventLoop loop;
  private final Clock clock;
  private final Calls calls;

  /** The connection whose server has answered, if there is one. */
  private final Supplier<Optional<Connection>> open;

  /** Opens a connection unless there is one. */
  private final Runnable need;

  /** Moves to another server, because this one answers but cannot renew. */
  private final Consumer<RowlockException> leave;

  /** Takes each lease whose renewal is overdue, once for each renewal. */
  private final Consumer<HeldLease> late;

  private final Map<String, HeldLease> held = new LinkedHashMap<>();
  private EventLoop.Timer timer;
  private long wakeAt = Times.FOREVER;

  LeaseKeeper(
      EventLoop loop,
      Clock clock,
      Calls calls,
      Supplier<Optional<Connection>> open,
      Runnable need,
      Consumer<RowlockException> leave,
      Consumer<HeldLease> late) {
    this.loop = loop;
    this.clock = clock;
    this.calls = calls;
    this.open = open;
    this.need = need;
    this.leave = leave;
    this.late = late;
  }

  int size() {
    return held.size();
  }

  void keep(HeldLease lease) {
    held.put(lease.id, lease);
    wakeAt(Math.min(Math.min(lease.changesAt(), lease.renewAt), clock.now() + LOOK_EVERY));
  }

  /** The lease is not renewed any more. */
  void drop(HeldLease lease) {
    held.remove(lease.id, lease);
    if (held.isEmpty()) stop();
  }

  /** Renews all leases in the first requests of a connection, so that its server knows of them. */
  void begun(Connection connection) {
    lookAtAll();
    renew(List.copyOf(held.values()), connection);
  }

  /** The connection that carried news of the leases is gone. */
  void orphaned() {
    held.values().forEach(HeldLease::orphaned);
  }

  void confirmed(Collection<Lease> leases, long basis) {
    for (Lease lease : leases) {
      HeldLease lasting = held.get(lease.getLeaseId());
      // The server has confirmed the lease after the acknowledgement, but may have heard later requests since. Date it
      // back.
      if (lasting != null) prolong(lasting, lease, Math.min(basis, lasting.toldAt));
    }
    wake();
  }

  void lost(Collection<LostLease> leases) {
    for (LostLease lease : leases) {
      ClaimEndView end = ClaimEndView.of(lease.getEnd());
      String how = end.reason().name();
      String message = "has ended (" + how.toLowerCase(Locale.ROOT) + "): stop the work that the lock protects.";
      lose(lease.getLeaseId(), RowlockException.leaseLost(lease.getLockName(), end, message));
    }
  }

  void stop() {
    EventLoop.cancel(timer);
    timer = null;
    wakeAt = Times.FOREVER;
  }

  private void lookAtAll() {
    held.values().forEach(this::lookIfLate);
    held.values().removeIf(HeldLease::isOver);
  }

  private void lookIfLate(HeldLease lease) {
    if (lease.becomesLate()) late.accept(lease);
  }

  private void prolong(HeldLease held, Lease lease, long basis) {
    lookIfLate(held);
    held.prolong(lease, basis);
  }

  private void tick() {
    lookAtAll();
    long now = clock.now();
    List<HeldLease> idle = held.values().stream().filter(lease -> !lease.isRenewing).toList();
    if (idle.stream().anyMatch(lease -> lease.renewAt <= now)) {
      List<HeldLease> due = idle.stream().filter(lease -> lease.mayRenewAt() <= now).toList();
      open.get().ifPresentOrElse(connection -> renew(due, connection), need);
    }
    wake();
  }

  private void renew(List<HeldLease> leases, Connection connection) {
    int renewalsMax = connection.renewalsMax();
    for (int at = 0; at < leases.size(); at += renewalsMax)
      renewTogether(leases.subList(at, Math.min(at + renewalsMax, leases.size())));
  }

  private void renewTogether(List<HeldLease> leases) {
    for (HeldLease lease : leases) lease.isRenewing = true;
    RenewLeases.Builder request = RenewLeases.newBuilder();
    for (HeldLease lease : leases)
      request.addLeases(RenewRequest.newBuilder().setLeaseId(lease.id));
    RenewLeases command = request.build();
    calls.begin(
        new Ask() {
          @Override
          public Kind kind() {
            return Kind.URGENT;
          }

          /** The next connection renews all leases that are left by then. */
          @Override
          public Repeat repeat() {
            return Repeat.ON_THIS_CONNECTION;
          }

          @Override
          public SessionCommand.Builder command(Connection connection) {
            return SessionCommand.newBuilder().setRenewLeases(command);
          }

          @Override
          public long giveUpAfter() {
            return Times.FOREVER;
          }

          @Override
          public boolean answered(SessionResult result, long basis) {
            List<RenewedLease> renewed = result.getRenewLeases().getLeasesList();
            for (int at = 0; at < leases.size(); at++)
              renewed(leases.get(at), at < renewed.size() ? renewed.get(at) : NOTHING, basis);
            wake();
            return true;
          }

          @Override
          public void failed(RowlockException error) {
            for (HeldLease lease : leases) LeaseKeeper.this.failed(lease, error);
            wake();
          }
        });
  }

  private void renewed(HeldLease lease, RenewedLease renewed, long basis) {
    lease.isRenewing = false;
    lease.renewAt = Math.max(lease.renewAt, clock.now() + RENEW_AGAIN);
    if (renewed.hasLease()) prolong(lease, renewed.getLease(), basis);
    else if (renewed.hasError()) failed(lease, ErrorDetails.errorOf(renewed.getError()));
  }

  private void failed(HeldLease lease, RowlockException error) {
    lease.isRenewing = false;
    if (GONE.contains(error.reason())) {
      lose(lease.id, error);
      return;
    }
    long atLeast = error.retryAfter().map(Times::ofDuration).orElse(0L);
    long pause = error.reason() == Reason.RIGHT_MISSING ? RENEW_DENIED : RENEW_AGAIN;
    lease.renewAt = clock.now() + Math.max(pause, atLeast);
    if (lease.state() == LockState.UNCERTAIN && open.get().isPresent()) leave.accept(error);
  }

  private void lose(String leaseId, RowlockException error) {
    HeldLease lease = held.remove(leaseId);
    if (lease != null) lease.lose(error);
  }

  private void wake() {
    if (held.isEmpty()) {
      stop();
      return;
    }
    long at = clock.now() + LOOK_EVERY;
    boolean isConnected = open.get().isPresent();
    for (HeldLease lease : held.values()) {
      at = Math.min(at, lease.changesAt());
      // If there is no connection, the next one renews all leases when it begins.
      if (!lease.isRenewing && isConnected) at = Math.min(at, lease.renewAt);
    }
    wakeAt(at);
  }

  private void wakeAt(long at) {
    if (timer != null && wakeAt <= at) return;
    EventLoop.cancel(timer);
    wakeAt = at;
    timer =
        loop.after(
            Math.max(0, at - clock.now()),
            () -> {
              timer = null;
              tick();
            });
  }
}

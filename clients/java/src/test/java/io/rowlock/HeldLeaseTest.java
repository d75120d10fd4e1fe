// A held lease by a clock that the test moves.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import rowlock.v1.Lease;

class HeldLeaseTest {
  private static final long SECOND = 1_000_000_000L;

  private long now;
  private final Clock clock = new Clock(() -> now, OptionalLong::empty);
  private final List<LockState> told = new ArrayList<>();

  private static Lease lease(long seconds, boolean isProvisional) {
    return Lease.newBuilder()
        .setLeaseId("id")
        .setLockName("etl/load")
        .setFencingToken(7)
        .setTtl(Times.protoOf(Duration.ofSeconds(seconds)))
        .setProvisional(isProvisional)
        .build();
  }

  /** A lease of 30 s with a margin of 2 s, requested just now. */
  private HeldLease held() {
    HeldLease held = new HeldLease(lease(30, false), now, 2 * SECOND, clock);
    held.listen(told::add);
    return held;
  }

  @Test
  void isHeldThenUncertainThenLostAMarginBeforeItsEnd() {
    HeldLease held = held();
    now = 20 * SECOND - 1;
    assertEquals(LockState.HELD, held.state());
    assertEquals(20 * SECOND, held.changesAt());
    now = 20 * SECOND;
    assertEquals(LockState.UNCERTAIN, held.state());
    assertEquals(28 * SECOND, held.changesAt());
    now = 28 * SECOND - 1;
    assertEquals(LockState.UNCERTAIN, held.state());
    assertEquals(1, held.remaining());
    now = 28 * SECOND;
    assertEquals(LockState.LOST, held.state());
    assertEquals(List.of(LockState.UNCERTAIN, LockState.LOST), told);
    RowlockException why = held.why().orElseThrow();
    assertEquals(Reason.LEASE_LOST, why.reason());
    assertEquals(Optional.of(ClaimEndView.of(Reason.EXPIRED)), why.end());
  }

  @Test
  void countsFromTheRequest() {
    now = 5 * SECOND;
    HeldLease held = new HeldLease(lease(30, false), 0, 2 * SECOND, clock);
    assertEquals(23 * SECOND, held.remaining());
    assertEquals(10 * SECOND, held.renewAt);
  }

  @Test
  void isHeldAgainWhenItsRenewalIsAnswered() {
    HeldLease held = held();
    now = 21 * SECOND;
    held.look();
    held.prolong(lease(30, false), 20 * SECOND);
    assertEquals(LockState.HELD, held.state());
    assertEquals(List.of(LockState.UNCERTAIN, LockState.HELD), told);
    assertEquals(30 * SECOND, held.renewAt);
  }

  @Test
  void becomesLateOnceForEachRenewal() {
    HeldLease held = held();
    now = 20 * SECOND - 1;
    assertFalse(held.becomesLate());
    now = 20 * SECOND;
    assertTrue(held.becomesLate());
    assertFalse(held.becomesLate());
    held.prolong(lease(30, false), now);
    now = 40 * SECOND;
    assertTrue(held.becomesLate());
    now = 60 * SECOND;
    assertFalse(held.becomesLate());
  }

  @Test
  void calledBackOnceAboutItsEnd() {
    List<Reason> ends = new ArrayList<>();
    HeldLease released = held();
    released.onEnd(why -> ends.add(why.reason()));
    released.giveBack();
    HeldLease lost = held();
    lost.onEnd(why -> ends.add(why.reason()));
    now = 28 * SECOND;
    lost.look();
    lost.giveBack();
    lost.onEnd(why -> ends.add(why.reason()));
    assertEquals(List.of(Reason.RELEASED, Reason.LEASE_LOST, Reason.LEASE_LOST), ends);
  }

  @Test
  void staysLost() {
    HeldLease held = held();
    now = 29 * SECOND;
    held.prolong(lease(30, false), 10 * SECOND);
    assertEquals(LockState.LOST, held.state());
    assertEquals(List.of(LockState.LOST), told);
  }

  @Test
  void isUncertainWithoutAConnection() {
    HeldLease held = held();
    held.orphaned();
    assertEquals(List.of(LockState.UNCERTAIN), told);
    assertEquals(28 * SECOND, held.changesAt());
  }

  @Test
  void doesNotNotifyListenersOfARelease() {
    HeldLease held = held();
    held.giveBack();
    now = 60 * SECOND;
    assertEquals(LockState.RELEASED, held.state());
    assertEquals(List.of(), told);
    assertEquals(Optional.of(Duration.ZERO), held.left());
  }

  @Test
  void notifiesLateListenersAtOnce() {
    HeldLease held = held();
    now = 30 * SECOND;
    List<LockState> late = new ArrayList<>();
    held.listen(late::add);
    assertEquals(List.of(LockState.LOST), late);
  }

  @Test
  void isTooEarlyAfterALateGrant() {
    assertFalse(new HeldLease(lease(30, false), now, 2 * SECOND, clock).isTooEarly(false));
    now = 19 * SECOND;
    assertTrue(new HeldLease(lease(30, false), 0, 2 * SECOND, clock).isTooEarly(false));
    // For a provisional lease, the margin must be small compared with the ttl.
    assertTrue(new HeldLease(lease(7, true), now, 2 * SECOND, clock).isTooEarly(false));
    assertFalse(new HeldLease(lease(10, true), now, 2 * SECOND, clock).isTooEarly(false));
  }

  @Test
  void isTooEarlyWithTermsWhileItIsProvisional() {
    assertTrue(new HeldLease(lease(10, true), now, 2 * SECOND, clock).isTooEarly(true));
    assertFalse(new HeldLease(lease(10, false), now, 2 * SECOND, clock).isTooEarly(true));
  }

  @Test
  void withoutEndIsNeverLostByTime() {
    Lease endless = Lease.newBuilder().setLeaseId("id").setLockName("etl/load").build();
    HeldLease held = new HeldLease(endless, now, 0, clock);
    now = 400L * 24 * 3_600 * SECOND;
    assertEquals(LockState.HELD, held.state());
    assertEquals(Optional.empty(), held.left());
  }
}

// Rates and spends, on a scripted server and on a real one.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import rowlock.v1.AcquireRequest;
import rowlock.v1.AcquireResponse;
import rowlock.v1.Lease;
import rowlock.v1.LeaseTerms;
import rowlock.v1.QueueRequest;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.Ticket;
import rowlock.v1.WaitInQueueResponse;

@Timeout(120)
class SpendTest {
  private static final Rate SLOW = Rate.of(1, Duration.ofHours(1)).withBurst(2);
  private static final rowlock.v1.Spent SPENT =
      rowlock.v1.Spent.newBuilder()
          .setLockName("x")
          .setPermits(3)
          .setFencingToken(7)
          .setSpentAt(Times.protoOf(Instant.ofEpochSecond(1)))
          .setRequestId("r")
          .build();
  private static final Spent SPENT_VIEW = new Spent("x", 3, 7, Instant.ofEpochSecond(1), "r");

  @RegisterExtension static final SharedServer server = new SharedServer();

  private final Script script = new Script();

  @AfterEach
  void close() {
    script.close();
  }

  private static SessionResult.Builder ofAcquire(rowlock.v1.Spent spent) {
    return SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setSpent(spent));
  }

  private static SessionResult.Builder ofWait(WaitInQueueResponse.Builder update) {
    return SessionResult.newBuilder().setWaitInQueue(update);
  }

  private static RowlockException failure(CompletableFuture<?> asked) {
    Throwable why = assertThrows(ExecutionException.class, asked::get).getCause();
    return assertInstanceOf(RowlockException.class, why);
  }

  /** Fails if the client sends anything before it sends what comes now. */
  private void assertNothingIsSent() throws Exception {
    script.acquire(LockOptions.builder().requestId("marker").noWait().build());
    assertEquals("marker", script.next().getAcquire().getRequestId());
    assertEquals(0, script.keeper.size());
  }

  @Test
  void aSpendIsAskedForAgainUnderItsRequestIdAndHoldsNothing() throws Exception {
    CompletableFuture<Answer> spend =
        script.spend(SpendOptions.of(with -> with.noWait().permits(3).owner("me").ifStatus("new")));
    AcquireRequest asked = script.next().getAcquire();
    assertTrue(asked.getSpendOnly());
    assertEquals(3, asked.getPermits());
    assertEquals(LeaseTerms.newBuilder().setOwner("me").addIfStatus("new").build(), asked.getTerms());
    script.reconnect();
    SessionCommand again = script.next();
    assertEquals(asked, again.getAcquire());
    script.answer(again, ofAcquire(SPENT));
    assertEquals(SPENT_VIEW, spend.get());
    assertNothingIsSent();
  }

  @Test
  void aWaitingSpendComesBackToItsPlace() throws Exception {
    BlockingQueue<Place> places = new LinkedBlockingQueue<>();
    CompletableFuture<Answer> spend = script.spend(SpendOptions.of(with -> with.onPosition(places::add).headStart(Duration.ofMinutes(1))));
    SessionCommand wait = script.next();
    QueueRequest asked = wait.getWaitInQueue().getRequest();
    assertTrue(asked.getSpendOnly());
    assertEquals(Times.protoOf(Duration.ofMinutes(1)), asked.getHeadStart());
    assertEquals(LeaseTerms.getDefaultInstance(), asked.getTerms());
    Ticket.Builder ticket = Ticket.newBuilder().setTicketId("place");
    ticket.setRateWait(Times.protoOf(Duration.ofMinutes(1)));
    script.answer(wait, ofWait(WaitInQueueResponse.newBuilder().setPosition(ticket)));
    assertEquals(Optional.of(Duration.ofMinutes(1)), places.take().rateWait());
    script.reconnect();
    SessionCommand back = script.next();
    assertEquals("place", back.getWaitInQueue().getTicketId());
    script.answer(back, ofWait(WaitInQueueResponse.newBuilder().setSpent(SPENT)));
    assertEquals(SPENT_VIEW, spend.get());
    assertNothingIsSent();
  }

  /** The request may still be on its way, and would take a place that nobody wants. */
  @Test
  void aFailedSpendIsLookedForUntilItHasEnded() throws Exception {
    CompletableFuture<Answer> spend = script.spend(SpendOptions.of(with -> with.noWait()));
    SessionCommand first = script.next();
    script.fail(first, Reason.INTERNAL, Status.Code.INTERNAL);
    assertEquals(Reason.INTERNAL, failure(spend).reason());
    SessionCommand finding = script.next();
    AcquireRequest asked = finding.getAcquire();
    assertTrue(asked.getSpendOnly());
    assertEquals(first.getAcquire().getRequestId(), asked.getRequestId());
    assertEquals(1, asked.getTerms().getIfStatusCount());
    assertEquals(LeaseTerms.LastingCase.LASTING_NOT_SET, asked.getTerms().getLastingCase());
    assertEquals(1, script.locks.leftBehind.size());
    script.answer(finding, ofAcquire(SPENT));
    assertEquals(0, script.locks.leftBehind.size());
  }

  /** An older server does not know spends, and grants a lease. */
  @Test
  void aLeaseInsteadOfASpendIsGivenBack() throws Exception {
    CompletableFuture<Answer> spend =
        script.spend(SpendOptions.of(with -> with.noWait().requestId("mine")));
    Lease.Builder lease = Lease.newBuilder().setLeaseId("one").setLockName("x");
    script.answer(
        script.next(),
        SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setLease(lease)));
    assertEquals(Status.Code.UNIMPLEMENTED, failure(spend).code());
    assertEquals("one", script.next().getRelease().getLeaseId());
  }

  @Test
  void aChangeRefusesARateAndNone() {
    LimitChange change = LimitChange.ofName("x").to(3);
    assertThrows(IllegalArgumentException.class, () -> change.toRate(SLOW).unsetRate());
    assertThrows(IllegalArgumentException.class, () -> change.unsetRate().toRate(SLOW));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRateIsSetBesideTheLimitAndSpent(boolean isWithoutStreams) throws Exception {
    String name = "spent/" + isWithoutStreams;
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient rowlock =
            RowlockClient.connect(isWithoutStreams ? proxy.address() : server.address)) {
      LimitInForce set =
          rowlock.setLimit(LimitChange.ofName(name).to(5).toRate(SLOW).reason("the bank's bound"));
      assertEquals(5, set.limit());
      assertEquals(Optional.of(SLOW), set.rate());
      Spent first = rowlock.spend(name, with -> with.permits(2).requestId(name));
      assertEquals(name, first.name());
      assertEquals(2, first.permits());
      assertEquals(1, first.token());
      assertEquals(first, rowlock.spend(name, with -> with.permits(2).requestId(name)));
      LockView lock = rowlock.getLock(name);
      assertEquals(0, lock.holderCount());
      assertEquals(
          Optional.of(
              new RateView(
                  SLOW, LimitView.Source.NAME, Optional.empty(), set.version(), "the bank's bound", 0)),
          lock.rate());
      assertEquals(Optional.empty(), rowlock.trySpend(name));
      assertEquals(Optional.empty(), rowlock.tryLock(name));
      RowlockException early =
          assertThrows(RowlockException.class, () -> rowlock.spend(name, with -> with.noWait()));
      assertEquals(Reason.RATE, early.reason());
      assertTrue(early.retryAfter().orElseThrow().compareTo(Duration.ofMinutes(59)) > 0);
      RowlockException never =
          assertThrows(RowlockException.class, () -> rowlock.spend(name, with -> with.permits(3)));
      assertEquals(Reason.NEVER_FITS, never.reason());
      assertEquals(SLOW, never.refusal().orElseThrow().rate().orElseThrow().rate());
      waits(rowlock, name);
      ClaimFilter spends = ClaimFilter.ofLock(name).ended(Reason.SPENT);
      assertEquals(
          List.of(true, true), rowlock.listClaims(spends).map(ClaimView::spendOnly).toList());
      List<ChangeView.What> changes =
          rowlock.listChanges(ChangeFilter.ofLock(name)).map(ChangeView::what).toList();
      OptionalInt five = OptionalInt.of(5);
      assertEquals(
          List.of(
              new ChangeView.OfLimit(five, five, Optional.of(SLOW), Optional.empty(), Optional.empty(), Optional.empty()),
              new ChangeView.OfLimit(OptionalInt.empty(), five, Optional.empty(), Optional.of(SLOW), Optional.empty(), Optional.empty())),
          changes);
    }
  }

  /** A spend waits until the rate is gone. */
  private void waits(RowlockClient rowlock, String name) throws Exception {
    BlockingQueue<Place> places = new LinkedBlockingQueue<>();
    CompletableFuture<Spent> waiting =
        rowlock.spendAsync(name, SpendOptions.of(with -> with.onPosition(places::add)));
    Place place = places.poll(60, TimeUnit.SECONDS);
    assertTrue(place.rateWait().orElseThrow().compareTo(Duration.ofMinutes(59)) > 0);
    assertTrue(rowlock.getLock(name).waiters().get(0).spendOnly());
    WaitCause.RateInTheWay cause =
        rowlock.explainWait(name).causes().stream()
            .filter(WaitCause.RateInTheWay.class::isInstance)
            .map(WaitCause.RateInTheWay.class::cast)
            .findFirst()
            .orElseThrow();
    assertEquals(SLOW, cause.rate().rate());
    assertTrue(cause.until().isPresent());
    assertEquals(Optional.empty(), rowlock.setLimit(LimitChange.ofName(name).unsetRate()).rate());
    assertEquals(2, waiting.get().token());
  }

  @Test
  void aCancelledSpendLeavesNoPlace() throws Exception {
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      rowlock.setLimit(LimitChange.ofName("cancelled").to(0));
      CompletableFuture<Spent> spend = rowlock.spendAsync("cancelled", SpendOptions.defaults());
      Until.until("it waits", () -> rowlock.getLock("cancelled").waiterCount() == 1);
      spend.cancel(true);
      Until.until("it has gone", () -> rowlock.getLock("cancelled").waiterCount() == 0);
    }
  }

  @Test
  void aSpendDoesNotWaitForWhatItsOwnThreadHolds() throws Exception {
    BlockingQueue<WaitNotice> notices = new LinkedBlockingQueue<>();
    ConnectOptions soon = ConnectOptions.to(server.address).explainAfter(Duration.ofMillis(200)).build();
    try (RowlockClient rowlock = RowlockClient.connect(soon);
        HeldLock held = rowlock.lock("both")) {
      assertEquals(2, rowlock.spend("both").token());
      rowlock.setLimit(LimitChange.ofName("both").toRate(SLOW));
      rowlock.spend("both", with -> with.permits(2));
      CompletableFuture<Spent> late =
          rowlock.spendAsync("both", SpendOptions.of(with -> with.onWaiting(notices::add)));
      WaitNotice notice = notices.poll(60, TimeUnit.SECONDS);
      assertFalse(notice.heldByYou(), notice.summary());
      assertInstanceOf(WaitCause.RateInTheWay.class, notice.causes().get(0));
      late.cancel(true);
    }
  }

  @Test
  void aSettingMayHaveOnlyARate() {
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      Rate rate = Rate.of(3, Duration.ofMinutes(1));
      LimitInForce set = rowlock.setLimit(LimitChange.ofPattern("only/*").toRate(rate));
      assertEquals(
          List.of(
              new LimitSetting(
                  "only/*", true, 0, set.version(), "", Optional.of(rate), true, false, Optional.empty(),
                  Optional.empty())),
          rowlock.listLimits("only/").toList());
      LockView lock = rowlock.getLock("only/1");
      assertEquals(LimitView.Source.DEFAULT, lock.limit().source());
      assertEquals(Optional.of("only/*"), lock.rate().orElseThrow().pattern());
      assertEquals(3, lock.rate().orElseThrow().available());
    }
  }
}

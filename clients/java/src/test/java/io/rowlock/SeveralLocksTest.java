// Claims for several locks at once, on a scripted server.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import rowlock.v1.AcquireRequest;
import rowlock.v1.AcquireResponse;
import rowlock.v1.Claim;
import rowlock.v1.ClaimEnd;
import rowlock.v1.EndReason;
import rowlock.v1.ExplainWaitResponse;
import rowlock.v1.GetLockRequest;
import rowlock.v1.GetLockResponse;
import rowlock.v1.Lease;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.QueuedBehind;
import rowlock.v1.RefusalReason;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.Ticket;
import rowlock.v1.WaitInQueueResponse;

@Timeout(120)
class SeveralLocksTest {
  private static final LockOptions SEVERAL =
      LockOptions.builder().also("b").also("c", Mode.SHARED, 1).also("d", Mode.PERMIT, 3).build();

  private static final List<rowlock.v1.WantedLock> WANTED =
      List.of(
          wanted("b", rowlock.v1.Mode.MODE_PERMIT, 1),
          wanted("c", rowlock.v1.Mode.MODE_SHARED, 1),
          wanted("d", rowlock.v1.Mode.MODE_PERMIT, 3));

  private static final Lease LEASE =
      Lease.newBuilder()
          .setLeaseId("id")
          .setLockName("x")
          .setFencingToken(7)
          .setMode(rowlock.v1.Mode.MODE_PERMIT)
          .setPermits(1)
          .setTtl(Times.protoOf(Duration.ofSeconds(30)))
          .addAlso(claimed("b", rowlock.v1.Mode.MODE_PERMIT, 1, 1))
          .addAlso(claimed("c", rowlock.v1.Mode.MODE_SHARED, 1, 2))
          .addAlso(claimed("d", rowlock.v1.Mode.MODE_PERMIT, 3, 3))
          .build();

  private final Script script = new Script();

  @AfterEach
  void close() {
    script.close();
  }

  private static rowlock.v1.WantedLock wanted(String name, rowlock.v1.Mode mode, int permits) {
    return rowlock.v1.WantedLock.newBuilder()
        .setName(name)
        .setMode(mode)
        .setPermits(permits)
        .build();
  }

  private static rowlock.v1.ClaimedLock.Builder claimed(
      String name, rowlock.v1.Mode mode, int permits, long token) {
    return rowlock.v1.ClaimedLock.newBuilder()
        .setLockName(name)
        .setMode(mode)
        .setPermits(permits)
        .setFencingToken(token);
  }

  private static SessionResult.Builder acquired(Lease lease) {
    return SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setLease(lease));
  }

  private static SessionResult.Builder ofWait(WaitInQueueResponse.Builder update) {
    return SessionResult.newBuilder().setWaitInQueue(update);
  }

  private static HeldLock lock(CompletableFuture<Outcome> outcome) throws Exception {
    return assertInstanceOf(Outcome.Granted.class, outcome.get()).lock();
  }

  @Test
  void aClaimHasATokenForEachOfItsLocks() throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(SEVERAL.withoutWait());
    AcquireRequest first = script.next().getAcquire();
    assertEquals(WANTED, first.getAlsoList());
    script.reconnect();
    SessionCommand again = script.next();
    assertEquals(first, again.getAcquire());
    script.answer(again, acquired(LEASE));
    HeldLock lock = lock(outcome);
    assertEquals(7, lock.token());
    assertEquals(3, lock.tokenOf("d"));
    assertEquals(Map.of("x", 7L, "b", 1L, "c", 2L, "d", 3L), lock.tokens());
    assertEquals(List.of("x", "b", "c", "d"), List.copyOf(lock.tokens().keySet()));
    String said =
        assertThrows(IllegalArgumentException.class, () -> lock.tokenOf("e")).getMessage();
    assertEquals("name: \"e\" is no lock of this claim, which has [x, b, c, d]", said);
    assertEquals(lock.tokens(), RenewedLease.of(LEASE).tokens());
  }

  @Test
  void aWaitSaysForWhichLockItIsAndAsksForAllAgain() throws Exception {
    BlockingQueue<Place> places = new LinkedBlockingQueue<>();
    CompletableFuture<Outcome> outcome =
        script.acquire(LockOptions.builder().also("b").onPosition(places::add).build());
    SessionCommand wait = script.next();
    assertEquals(WANTED.subList(0, 1), wait.getWaitInQueue().getRequest().getAlsoList());
    Ticket.Builder ticket = Ticket.newBuilder().setTicketId("place").setAhead(2).setWaitsFor("b");
    script.answer(wait, ofWait(WaitInQueueResponse.newBuilder().setPosition(ticket)));
    assertEquals(Optional.of("b"), places.take().waitsFor());
    ClaimEnd lapsed = ClaimEnd.newBuilder().setReason(EndReason.END_REASON_LAPSED).build();
    script.answer(wait, ofWait(WaitInQueueResponse.newBuilder().setEnded(lapsed)));
    SessionCommand anew = script.next();
    assertEquals(WANTED.subList(0, 1), anew.getWaitInQueue().getRequest().getAlsoList());
    assertNotEquals(
        wait.getWaitInQueue().getRequest().getRequestId(),
        anew.getWaitInQueue().getRequest().getRequestId());
    script.answer(anew, ofWait(WaitInQueueResponse.newBuilder().setGranted(LEASE)));
    assertEquals(1, lock(outcome).tokenOf("b"));
  }

  @Test
  void aFailedRequestIsLookedForWithAllItsLocks() throws Exception {
    script.acquire(SEVERAL.withoutWait());
    SessionCommand first = script.next();
    script.fail(first, Reason.INTERNAL, Status.Code.INTERNAL);
    AcquireRequest finding = script.next().getAcquire();
    assertEquals(first.getAcquire().getRequestId(), finding.getRequestId());
    assertEquals(WANTED, finding.getAlsoList());
  }

  /** An older server does not see the further locks. */
  @Test
  void aLeaseOfTheFirstLockAloneIsGivenBack() throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(SEVERAL.withoutWait());
    script.answer(script.next(), acquired(LEASE.toBuilder().clearAlso().build()));
    Throwable why = assertThrows(ExecutionException.class, outcome::get).getCause();
    assertTrue(why.getMessage().startsWith("This server grants one lock at a time"), why.getMessage());
    assertEquals("id", script.next().getRelease().getLeaseId());
  }

  @Test
  void aRefusalAndAnEndNameTheLockInTheWay() {
    ClaimEnd end =
        ClaimEnd.newBuilder()
            .setReason(EndReason.END_REASON_EXHAUSTED)
            .setMessage("No attempts are left.")
            .setLockName("b")
            .build();
    assertEquals("b", ClaimEndView.of(end).lockName());
    RowlockException refused = RowlockException.refused("x", Refusal.of(end));
    assertEquals(Optional.of("b"), refused.refusal().orElseThrow().lockName());
    assertEquals("The lock \"b\" was not granted: No attempts are left.", refused.getMessage());
    rowlock.v1.Refusal busy =
        rowlock.v1.Refusal.newBuilder()
            .setReason(RefusalReason.REFUSAL_REASON_BUSY)
            .setLockName("c")
            .build();
    assertEquals(Optional.of("c"), Refusal.of(busy).lockName());
    assertEquals(Optional.empty(), Refusal.of(busy.toBuilder().clearLockName().build()).lockName());
  }

  @Test
  void aWaitForALockOfAClaimThatTheThreadHoldsSaysSo() throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(LockOptions.builder().also("b").noWait().build());
    // The lock of a script is "x": here it is the further one.
    Lease.Builder lease =
        LEASE.toBuilder()
            .setLockName("b")
            .clearAlso()
            .addAlso(claimed("x", rowlock.v1.Mode.MODE_PERMIT, 1, 9));
    script.answer(script.next(), acquired(lease.build()));
    assertEquals(9, lock(outcome).tokenOf("x"));
    BlockingQueue<WaitNotice> notices = new LinkedBlockingQueue<>();
    CompletableFuture<Outcome> waits =
        script.acquire(LockOptions.builder().also("c").onWaiting(notices::add).build());
    SessionCommand wait = script.next();
    Ticket.Builder ticket = Ticket.newBuilder().setTicketId("place").setWaitsFor("x");
    script.answer(wait, ofWait(WaitInQueueResponse.newBuilder().setPosition(ticket)));
    ExplainWaitResponse.Builder explained =
        ExplainWaitResponse.newBuilder()
            .addCauses(queued("x", 1))
            .addCauses(queued("c", 4))
            .addCauses(rowlock.v1.WaitCause.newBuilder().setExhausted(true));
    script.answer(script.next(), SessionResult.newBuilder().setExplainWait(explained));
    WaitNotice notice = notices.poll(60, TimeUnit.SECONDS);
    assertNotNull(notice);
    assertTrue(notice.heldByYou());
    assertEquals(4, notice.place().ahead());
    assertEquals(Optional.of("c"), notice.place().waitsFor());
    List<Optional<String>> names = notice.causes().stream().map(WaitCause::lockName).toList();
    assertEquals(List.of(Optional.of("x"), Optional.of("c"), Optional.empty()), names);
    ClaimEnd timedOut = ClaimEnd.newBuilder().setReason(EndReason.END_REASON_TIMED_OUT).build();
    script.answer(wait, ofWait(WaitInQueueResponse.newBuilder().setEnded(timedOut)));
    Refusal refusal = assertInstanceOf(Outcome.Refused.class, waits.get()).refusal();
    assertTrue(refusal.message().contains("you hold \"x\" yourself"), refusal.message());
  }

  private static rowlock.v1.WaitCause queued(String name, int ahead) {
    return rowlock.v1.WaitCause.newBuilder()
        .setQueued(QueuedBehind.newBuilder().setAhead(ahead))
        .setLockName(name)
        .build();
  }

  @Test
  void aThreadHasAReentrantClaimAgainIfItAsksForTheSame() throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(SEVERAL.withoutWait());
    script.answer(script.next(), acquired(LEASE));
    lock(outcome);
    assertNotNull(script.locks.again("x", SEVERAL));
    assertNull(script.locks.again("x", LockOptions.defaults()));
    assertNull(script.locks.again("b", LockOptions.defaults()));
    LockOptions other =
        LockOptions.builder().also("b").also("c").also("d", Mode.PERMIT, 3).build();
    assertNull(script.locks.again("x", other));
  }

  @Test
  void aListedClaimHasItsOtherLocks() {
    Claim claim =
        Claim.newBuilder()
            .addAlso(claimed("b", rowlock.v1.Mode.MODE_EXCLUSIVE, 1, 0))
            .addAlso(claimed("c", rowlock.v1.Mode.MODE_PERMIT, 2, 4))
            .build();
    assertEquals(
        List.of(
            new ClaimedLock("b", Mode.EXCLUSIVE, 1, OptionalLong.empty()),
            new ClaimedLock("c", Mode.PERMIT, 2, OptionalLong.of(4))),
        ClaimView.of(claim).also());
  }

  @Test
  void aNameThatCannotBeSentIsRefused() {
    try (RowlockClient client = RowlockClient.connect("a:1")) {
      LockOptions options = LockOptions.builder().also("caf\ud83d").build();
      Throwable why =
          assertThrows(ExecutionException.class, client.lockAsync("x", options)::get).getCause();
      assertEquals(Reason.BAD_REQUEST, assertInstanceOf(RowlockException.class, why).reason());
    }
    NullPointerException unnamed =
        assertThrows(NullPointerException.class, () -> LockOptions.builder().also(null));
    assertTrue(unnamed.getMessage().startsWith("also:"), unnamed.getMessage());
  }

  @Test
  void aWaitWithoutAStreamAsksForAllLocks() throws Exception {
    CompletableFuture<AcquireRequest> poll = new CompletableFuture<>();
    Server server = ServerBuilder.forPort(0).addService(new Granting(poll)).build().start();
    try (RowlockClient rowlock = RowlockClient.connect("127.0.0.1:" + server.getPort())) {
      HeldLock lock = rowlock.lock("x", SEVERAL);
      assertEquals(WANTED, poll.get().getAlsoList());
      assertEquals(2, lock.tokenOf("c"));
    } finally {
      server.shutdownNow();
    }
  }

  /** A server without streams that grants whatever it is asked for. */
  private static final class Granting extends LockServiceGrpc.LockServiceImplBase {
    private final CompletableFuture<AcquireRequest> poll;

    Granting(CompletableFuture<AcquireRequest> poll) {
      this.poll = poll;
    }

    @Override
    public void acquire(AcquireRequest request, StreamObserver<AcquireResponse> answers) {
      poll.complete(request);
      answers.onNext(AcquireResponse.newBuilder().setLease(LEASE).build());
      answers.onCompleted();
    }

    @Override
    public void getLock(GetLockRequest request, StreamObserver<GetLockResponse> answers) {
      answers.onNext(GetLockResponse.getDefaultInstance());
      answers.onCompleted();
    }
  }
}

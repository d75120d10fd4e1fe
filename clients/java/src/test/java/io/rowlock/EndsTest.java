// How the end of a claim shows: in errors, in refusals, and in listings.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.Status.Code;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import rowlock.v1.AcquireRequest;
import rowlock.v1.AcquireResponse;
import rowlock.v1.Claim;
import rowlock.v1.ClaimEnd;
import rowlock.v1.ClaimState;
import rowlock.v1.EndReason;
import rowlock.v1.GetLockRequest;
import rowlock.v1.GetLockResponse;
import rowlock.v1.HeldAt;
import rowlock.v1.Lease;
import rowlock.v1.Limit;
import rowlock.v1.ListClaimsRequest;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.LostLease;
import rowlock.v1.QueueRequest;
import rowlock.v1.RefusalReason;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.WaitInQueueResponse;

@Timeout(120)
class EndsTest {
  private static final Instant AT = Instant.ofEpochSecond(1_700_000_000);
  private static final ClaimEnd FORCED =
      ClaimEnd.newBuilder()
          .setReason(EndReason.END_REASON_FORCE_RELEASED)
          .setEndedAt(Times.protoOf(AT))
          .setEndedBy("admin")
          .setNote("too long")
          .setMessage("An operator has ended the claim.")
          .build();
  private static final ClaimEndView FORCED_VIEW =
      new ClaimEndView(Reason.FORCE_RELEASED, Optional.of(AT), "admin", "too long", "", "");

  private final Script script = new Script();

  @AfterEach
  void close() {
    script.close();
  }

  private static SessionResult.Builder ofAcquire(ClaimEnd end) {
    return SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setEnded(end));
  }

  private static SessionResult.Builder ofWait(ClaimEnd end) {
    return SessionResult.newBuilder().setWaitInQueue(WaitInQueueResponse.newBuilder().setEnded(end));
  }

  private static ClaimEnd end(EndReason reason) {
    return ClaimEnd.newBuilder().setReason(reason).build();
  }

  private static Refusal refusal(CompletableFuture<Outcome> outcome) throws Exception {
    return assertInstanceOf(Outcome.Refused.class, outcome.get()).refusal();
  }

  /** A lock whose lease the keeper renews. */
  private HeldLock held() throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(LockOptions.builder().noWait().build());
    Lease lease =
        Lease.newBuilder()
            .setLeaseId("id")
            .setLockName("x")
            .setTtl(Times.protoOf(Duration.ofSeconds(30)))
            .build();
    script.answer(
        script.next(),
        SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setLease(lease)));
    return assertInstanceOf(Outcome.Granted.class, outcome.get()).lock();
  }

  @Test
  void aLeaseThatASessionReportsAsLostSaysHowItEnded() throws Exception {
    HeldLock lock = held();
    LostLease lost =
        LostLease.newBuilder().setLeaseId("id").setLockName("x").setEnd(FORCED).build();
    script.onLoop(() -> script.keeper.lost(List.of(lost)));
    RowlockException why = assertThrows(RowlockException.class, lock::requireHeld);
    assertEquals(Reason.LEASE_LOST, why.reason());
    assertEquals(Optional.of(FORCED_VIEW), why.end());
    assertEquals("force_released", Telemetry.lossOf(why));
  }

  @Test
  void aLeaseWhoseTimeIsOverExpiresByThisClientsOwnConclusion() throws Exception {
    HeldLock lock = held();
    script.pass(Times.ofMillis(29_000));
    RowlockException why = assertThrows(RowlockException.class, lock::requireHeld);
    assertEquals(Optional.of(ClaimEndView.of(Reason.EXPIRED)), why.end());
  }

  @Test
  void aTryWhoseClaimHasEndedIsRefused() throws Exception {
    CompletableFuture<Outcome> outcome =
        script.acquire(LockOptions.builder().requestId("mine").noWait().build());
    SessionCommand command = script.next();
    assertEquals(AcquireRequest.WhenBusyCase.WHENBUSY_NOT_SET, command.getAcquire().getWhenBusyCase());
    script.answer(command, ofAcquire(FORCED));
    Refusal refusal = refusal(outcome);
    assertEquals(Reason.FORCE_RELEASED, refusal.reason());
    assertEquals("An operator has ended the claim.", refusal.message());
  }

  @Test
  void aWaitWhoseClaimHasEndedIsRefusedWithAllThatTheEndSays() throws Exception {
    CompletableFuture<Outcome> outcome =
        script.acquire(LockOptions.builder().waitAtMost(Duration.ofSeconds(5)).build());
    SessionCommand command = script.next();
    QueueRequest asked = command.getWaitInQueue().getRequest();
    assertEquals("x", asked.getName());
    assertEquals(Duration.ofSeconds(5), Times.durationOf(asked.getMaxWait()));
    assertEquals(LockOptions.defaults().leaseTerms(), asked.getTerms());
    ClaimEnd end =
        ClaimEnd.newBuilder()
            .setReason(EndReason.END_REASON_TIMED_OUT)
            .setMessage("The wait is over.")
            .addHolders(Claim.newBuilder().setOwner("anna"))
            .setRetryAfter(Times.protoOf(Duration.ofSeconds(7)))
            .setLimit(Limit.newBuilder().setPermits(0))
            .build();
    script.answer(command, ofWait(end));
    Refusal refusal = refusal(outcome);
    assertEquals(Reason.TIMED_OUT, refusal.reason());
    assertEquals("The wait is over.", refusal.message());
    assertEquals(List.of("anna"), refusal.holders().stream().map(ClaimView::owner).toList());
    assertEquals(Optional.of(Duration.ofSeconds(7)), refusal.retryAfter());
    assertEquals(0, refusal.limit().orElseThrow().permits());
    assertEquals(Optional.empty(), refusal.status());
  }

  @Test
  void aMismatchOfTheStatusShowsTheStatusHoweverItIsAnswered() throws Exception {
    CompletableFuture<Outcome> ended = script.acquire(LockOptions.defaults());
    ClaimEnd end = end(EndReason.END_REASON_STATUS_MISMATCH).toBuilder().setStatus("done").build();
    script.answer(script.next(), ofWait(end));
    assertEquals(Optional.of("done"), refusal(ended).status());
    CompletableFuture<Outcome> refused = script.acquire(LockOptions.defaults());
    var mismatch =
        rowlock.v1.Refusal.newBuilder()
            .setReason(RefusalReason.REFUSAL_REASON_STATUS_MISMATCH)
            .setStatus("done");
    script.answer(
        script.next(),
        SessionResult.newBuilder()
            .setWaitInQueue(WaitInQueueResponse.newBuilder().setRefusal(mismatch)));
    assertEquals(Optional.of("done"), refusal(refused).status());
  }

  @Test
  void aPlaceThatLapsedUntoldIsAskedForAnewUnderAnotherId() throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(LockOptions.defaults());
    SessionCommand first = script.next();
    script.answer(first, ofWait(end(EndReason.END_REASON_LAPSED)));
    SessionCommand second = script.next();
    String firstId = first.getWaitInQueue().getRequest().getRequestId();
    String secondId = second.getWaitInQueue().getRequest().getRequestId();
    assertNotEquals(firstId, secondId);
    assertEquals(7, UUID.fromString(firstId).version());
    assertEquals(7, UUID.fromString(secondId).version());
    script.answer(second, ofWait(end(EndReason.END_REASON_CANCELLED)));
    assertEquals(Reason.CANCELLED, refusal(outcome).reason());
  }

  /** The claim of a request whose answer was lost: any end of it says that there is nothing to give back. */
  @ParameterizedTest
  @ValueSource(strings = {"RELEASED", "STATUS_MISMATCH", "EXHAUSTED", "NEVER_FITS"})
  void theClientLooksNoLongerForAClaimThatHasEnded(String reason) throws Exception {
    CompletableFuture<Outcome> outcome = script.acquire(LockOptions.builder().noWait().build());
    script.fail(script.next(), Reason.INTERNAL, Code.INTERNAL);
    assertThrows(Exception.class, outcome::get);
    SessionCommand looking = script.next();
    assertEquals(1, looking.getAcquire().getTerms().getIfStatusCount());
    assertEquals(1, leftBehind());
    script.answer(looking, ofAcquire(end(EndReason.valueOf("END_REASON_" + reason))));
    assertEquals(0, leftBehind());
  }

  /** Such a refusal says only that there is no claim yet. */
  @Test
  void theClientLooksOnForAClaimAfterARefusal() throws Exception {
    script.acquire(LockOptions.builder().noWait().build());
    script.fail(script.next(), Reason.INTERNAL, Code.INTERNAL);
    var mismatch =
        rowlock.v1.Refusal.newBuilder().setReason(RefusalReason.REFUSAL_REASON_STATUS_MISMATCH);
    script.answer(
        script.next(),
        SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setRefusal(mismatch)));
    assertEquals(1, leftBehind());
    assertTrue(script.next().hasAcquire());
  }

  private int leftBehind() {
    CompletableFuture<Integer> size = new CompletableFuture<>();
    script.onLoop(() -> size.complete(script.locks.leftBehind.size()));
    return size.join();
  }

  @Test
  void aWaitWithoutAStreamEndsLikeOneWithAStream() throws Exception {
    CompletableFuture<AcquireRequest> poll = new CompletableFuture<>();
    Server server = ServerBuilder.forPort(0).addService(new Ending(poll)).build().start();
    try (RowlockClient rowlock =
        RowlockClient.connect(
            ConnectOptions.to("127.0.0.1:" + server.getPort()).owner("anna").label("team", "etl").build())) {
      LockOptions options = LockOptions.builder().noExpiry().waitAtMost(Duration.ofSeconds(9)).build();
      Refusal refusal = refusal(rowlock.acquireAsync("x", options));
      assertEquals(Reason.FORCE_RELEASED, refusal.reason());
      AcquireRequest asked = poll.get();
      assertTrue(asked.hasEnqueue());
      assertFalse(asked.getEnqueue().getMaxWait().getSeconds() > 9);
      assertTrue(asked.getEnqueue().hasMaxWait());
      assertTrue(asked.getTerms().hasNoExpiry());
      assertEquals("anna", asked.getTerms().getOwner());
      assertEquals("etl", asked.getTerms().getLabelsOrThrow("team"));
    } finally {
      server.shutdownNow();
    }
  }

  /** A server without streams whose claims are all ended by an operator. */
  private static final class Ending extends LockServiceGrpc.LockServiceImplBase {
    private final CompletableFuture<AcquireRequest> poll;

    Ending(CompletableFuture<AcquireRequest> poll) {
      this.poll = poll;
    }

    @Override
    public void acquire(AcquireRequest request, StreamObserver<AcquireResponse> answers) {
      poll.complete(request);
      answers.onNext(AcquireResponse.newBuilder().setEnded(FORCED).build());
      answers.onCompleted();
    }

    @Override
    public void getLock(GetLockRequest request, StreamObserver<GetLockResponse> answers) {
      answers.onNext(GetLockResponse.getDefaultInstance());
      answers.onCompleted();
    }
  }

  @Test
  void aClaimThatIsOverHasItsEndAndALiveOneHasNone() {
    Claim.Builder claim =
        Claim.newBuilder().setState(ClaimState.CLAIM_STATE_HELD).setProvisional(true);
    ClaimView live = ClaimView.of(claim.build());
    assertEquals(Optional.empty(), live.end());
    assertTrue(live.provisional());
    ClaimView ended =
        ClaimView.of(
            claim
                .setState(ClaimState.CLAIM_STATE_ENDED)
                .setProvisional(false)
                .setReplica("server-1")
                .setEnd(FORCED)
                .build());
    assertEquals(Optional.of(FORCED_VIEW), ended.end());
    assertEquals("server-1", ended.replica());
  }

  @Test
  void aFilterOfAnInstantNamesItsLockAndMayHaveBoundsOfTime() {
    ClaimFilter filter = ClaimFilter.ofLock("x").from(AT).heldAt(AT.plusSeconds(1)).heldAt(AT);
    assertEquals(
        ListClaimsRequest.newBuilder()
            .setHeldAt(HeldAt.newBuilder().setLockName("x").setAt(Times.protoOf(AT)))
            .setFrom(Times.protoOf(AT))
            .build(),
        filter.request(""));
    ClaimFilter ofMany = ClaimFilter.ofPrefix("x");
    String said =
        assertThrows(IllegalArgumentException.class, () -> ofMany.heldAt(AT)).getMessage();
    assertTrue(said.contains("name of a lock"), said);
    assertThrows(IllegalArgumentException.class, () -> ofMany.ended(Reason.BUSY));
  }
}

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status.Code;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import rowlock.v1.Backoff;
import rowlock.v1.CaptureRequest;
import rowlock.v1.CaptureResponse;
import rowlock.v1.Lease;
import rowlock.v1.LeaseTerms;
import rowlock.v1.ReleaseRequest;
import rowlock.v1.ReleaseResponse;
import rowlock.v1.RenewResponse;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

/** What a capture sends, and how it acts on the answers. */
@Timeout(120)
class CaptureTest {
  private static final long SECOND = 1_000_000_000L;

  private final Script script = new Script();

  @AfterEach
  void close() {
    script.close();
  }

  private static CaptureOptions.Builder tasks() {
    return CaptureOptions.builder().prefix("task/");
  }

  private static Lease lease(String id, long seconds) {
    return Lease.newBuilder()
        .setLeaseId(id)
        .setLockName("task/" + id)
        .setFencingToken(1)
        .setTtl(Times.protoOf(Duration.ofSeconds(seconds)))
        .setProvisional(seconds < 30)
        .build();
  }

  private static SessionResult.Builder captured(Lease... leases) {
    CaptureResponse response = CaptureResponse.newBuilder().addAllLeases(List.of(leases)).build();
    return SessionResult.newBuilder().setCapture(response);
  }

  private static SessionResult.Builder renewed(Lease lease) {
    return SessionResult.newBuilder().setRenew(RenewResponse.newBuilder().setLease(lease));
  }

  private static Duration wait(SessionCommand command) {
    return Times.durationOf(command.getCapture().getMaxWait());
  }

  private static List<String> ids(Captured captured) {
    return captured.locks().stream().map(HeldLock::leaseId).toList();
  }

  private Set<String> released(int count) throws InterruptedException {
    Set<String> ids = new HashSet<>();
    for (int at = 0; at < count; at++) {
      SessionCommand command = script.next();
      assertTrue(command.hasRelease(), command.toString());
      ids.add(command.getRelease().getLeaseId());
    }
    return ids;
  }

  private static Reason reasonOf(Script.Asked asked) {
    Throwable why = assertThrows(ExecutionException.class, asked.outcome()::get).getCause();
    return ((RowlockException) why).reason();
  }

  @Test
  void asksForWhatWasChosen() throws Exception {
    Script.Asked asked =
        script.capture(
            tasks()
                .count(3)
                .ttl(Duration.ofSeconds(60))
                .owner("anna")
                .label("job", "7")
                .minInterval(Duration.ofHours(1))
                .lockDelay(Duration.ofMinutes(1))
                .statusIfLost("failed")
                .ifStatus("", "new")
                .backoff(Duration.ofSeconds(1))
                .requestId("run")
                .build());
    SessionCommand command = script.next();
    CaptureRequest expected =
        CaptureRequest.newBuilder()
            .setPrefix("task/")
            .setMaxLeases(3)
            .setTerms(
                LeaseTerms.newBuilder()
                    .setTtl(Times.protoOf(Duration.ofSeconds(60)))
                    .setOwner("anna")
                    .putLabels("job", "7")
                    .setMinInterval(Times.protoOf(Duration.ofHours(1)))
                    .setLockDelay(Times.protoOf(Duration.ofMinutes(1)))
                    .setStatusIfLost("failed")
                    .addIfStatus("")
                    .addIfStatus("new")
                    .setBackoff(Backoff.newBuilder().setFirst(Times.protoOf(Duration.ofSeconds(1)))))
            .setRequestId("run")
            .build();
    assertEquals(expected, command.getCapture());
    script.answer(command, captured(lease("a", 60), lease("b", 60)));
    assertEquals(List.of("a", "b"), ids(asked.outcome().get()));
    assertEquals(Optional.empty(), asked.outcome().get().retryAfter());
  }

  @Test
  void aLongWaitAsksInPiecesWithIdsOfTheirOwn() throws Exception {
    Script.Asked asked = script.capture(tasks().waitAtMost(Duration.ofSeconds(20)).build());
    SessionCommand first = script.next();
    assertEquals(Duration.ofSeconds(15), wait(first));
    script.pass(15 * SECOND);
    script.answer(first, captured());
    SessionCommand second = script.next();
    assertEquals(Duration.ofSeconds(5), wait(second));
    assertNotEquals(first.getCapture().getRequestId(), second.getCapture().getRequestId());
    assertEquals(7, UUID.fromString(second.getCapture().getRequestId()).version());
    assertFalse(asked.outcome().isDone());
    script.pass(5 * SECOND);
    CaptureResponse none =
        CaptureResponse.newBuilder().setRetryAfter(Times.protoOf(Duration.ofSeconds(7))).build();
    script.answer(second, SessionResult.newBuilder().setCapture(none));
    assertEquals(
        new Captured(List.of(), Optional.of(Duration.ofSeconds(7))), asked.outcome().get());
  }

  @Test
  void theIdOfTheCallerStays() throws Exception {
    script.capture(tasks().waitForever().requestId("mine").build());
    SessionCommand first = script.next();
    script.answer(first, captured());
    assertEquals("mine", script.next().getCapture().getRequestId());
  }

  @Test
  void continuesOverTheNextConnectionUnderTheSameId() throws Exception {
    Script.Asked asked = script.capture(tasks().waitForever().build());
    SessionCommand first = script.next();
    script.pass(6 * SECOND);
    script.reconnect();
    SessionCommand again = script.next();
    assertEquals(first.getCapture().getRequestId(), again.getCapture().getRequestId());
    assertEquals(Duration.ofSeconds(9), wait(again));
    script.answer(again, captured(lease("a", 30)));
    assertEquals(List.of("a"), ids(asked.outcome().get()));
  }

  @Test
  void lateLeasesOfACancelledCaptureAreReleasedWithoutATrace() throws Exception {
    Script.Asked asked =
        script.capture(tasks().waitForever().count(2).minInterval(Duration.ofHours(1)).build());
    SessionCommand command = script.next();
    script.onLoop(() -> asked.capture().abandon(RowlockException.closed()));
    assertEquals(Reason.CLOSED, reasonOf(asked));
    assertEquals(command.getCall(), script.next().getCancel());
    script.answer(command, captured(lease("a", 10), lease("b", 10)));
    for (String id : List.of("a", "b")) {
      ReleaseRequest release = script.next().getRelease();
      assertEquals(ReleaseOptions.UNUSED.request(id), release);
      assertTrue(release.hasCoolDown());
    }
  }

  @Test
  void lateLeasesOfACancelledTryAreReleased() throws Exception {
    Script.Asked asked = script.capture(tasks().build());
    SessionCommand command = script.next();
    assertFalse(command.getCapture().hasMaxWait());
    script.onLoop(() -> asked.capture().abandon(RowlockException.closed()));
    script.answer(command, captured(lease("a", 30)));
    assertEquals(Set.of("a"), released(1));
  }

  @Test
  void theClientLooksForLeasesOfACancelledCapture() throws Exception {
    Script.Asked asked = script.capture(tasks().waitForever().ifStatus("new").build());
    String id = script.next().getCapture().getRequestId();
    script.onLoop(() -> asked.capture().abandon(RowlockException.closed()));
    script.reconnect();
    SessionCommand finding = null;
    // The first looks find nothing, as if the request were still on its way.
    for (int look = 1; look <= 3; look++) {
      finding = script.next();
      assertEquals(id, finding.getCapture().getRequestId());
      assertFalse(finding.getCapture().hasMaxWait());
      assertEquals(1, finding.getCapture().getTerms().getIfStatusCount());
      assertNotEquals("new", finding.getCapture().getTerms().getIfStatus(0));
      if (look < 3) script.answer(finding, captured());
    }
    script.answer(finding, captured(lease("a", 30)));
    assertEquals(Set.of("a"), released(1));
  }

  @Test
  void theClientLooksForACaptureCancelledBetweenConnections() throws Exception {
    Script.Asked asked = script.capture(tasks().waitForever().build());
    String id = script.next().getCapture().getRequestId();
    script.disconnect();
    script.onLoop(() -> asked.capture().abandon(RowlockException.closed()));
    script.reconnect();
    CaptureRequest finding = script.next().getCapture();
    assertEquals(id, finding.getRequestId());
    assertEquals(1, finding.getTerms().getIfStatusCount());
  }

  @Test
  void aCaptureCancelledInItsSessionIsNotLookedFor() throws Exception {
    Script.Asked asked = script.capture(tasks().waitForever().build());
    SessionCommand command = script.next();
    script.onLoop(() -> asked.capture().abandon(RowlockException.closed()));
    assertEquals(command.getCall(), script.next().getCancel());
    script.fail(command, Reason.CANCELLED, Code.CANCELLED);
    script.onLoop(() -> assertEquals(0, script.calls.size()));
  }

  @Test
  void shortLeasesAreRenewedBeforeUse() throws Exception {
    Script.Asked asked = script.capture(tasks().count(4).waitForever().build());
    SessionCommand command = script.next();
    script.answer(command, captured(lease("a", 2), lease("b", 30), lease("c", 2), lease("d", 2)));
    SessionCommand first = script.next();
    SessionCommand third = script.next();
    SessionCommand fourth = script.next();
    assertEquals("a", first.getRenew().getLeaseId());
    script.answer(fourth, renewed(lease("d", 30)));
    script.fail(third, Reason.LEASE_LOST, Code.FAILED_PRECONDITION);
    assertFalse(asked.outcome().isDone());
    script.answer(first, renewed(lease("a", 30)));
    assertEquals(List.of("a", "b", "d"), ids(asked.outcome().get()));
  }

  /** If the leases ended before the server knew that the client has them, the lock would not record the loss. */
  @Test
  void provisionalLeasesWithTermsAreRenewedBeforeUse() throws Exception {
    Script.Asked asked = script.capture(tasks().waitForever().statusIfLost("failed").build());
    script.answer(script.next(), captured(lease("a", 29)));
    SessionCommand renewal = script.next();
    assertEquals("a", renewal.getRenew().getLeaseId());
    assertFalse(asked.outcome().isDone());
    script.answer(renewal, renewed(lease("a", 30)));
    assertEquals(List.of("a"), ids(asked.outcome().get()));
  }

  @Test
  void aCaptureWhoseLeasesWereLostAsksAgain() throws Exception {
    Script.Asked asked = script.capture(tasks().waitForever().build());
    SessionCommand command = script.next();
    script.answer(command, captured(lease("a", 2)));
    script.fail(script.next(), Reason.UNKNOWN_CLAIM, Code.NOT_FOUND);
    SessionCommand again = script.next();
    assertNotEquals(command.getCapture().getRequestId(), again.getCapture().getRequestId());
    script.answer(again, captured(lease("b", 30)));
    assertEquals(List.of("b"), ids(asked.outcome().get()));
  }

  @Test
  void aRenewalThatFailsGivesAllBack() throws Exception {
    Script.Asked asked = script.capture(tasks().count(3).waitForever().build());
    SessionCommand command = script.next();
    script.answer(command, captured(lease("a", 30), lease("b", 2), lease("c", 2)));
    SessionCommand second = script.next();
    SessionCommand third = script.next();
    script.fail(second, Reason.INTERNAL, Code.INTERNAL);
    assertEquals(Reason.INTERNAL, reasonOf(asked));
    assertEquals(Set.of("a", "b"), released(2));
    script.answer(third, renewed(lease("c", 30)));
    assertEquals(Set.of("c"), released(1));
  }

  @Test
  void aCaptureCancelledAtItsGrantHoldsNothing() throws Exception {
    Script.Asked asked = script.capture(tasks().build());
    SessionCommand command = script.next();
    asked.outcome().cancel(true);
    script.answer(command, captured(lease("a", 30)));
    assertEquals(Set.of("a"), released(1));
  }

  @Test
  void callsWithOneRequestIdShareTheirLocks() throws Exception {
    Script.Asked one = script.capture(tasks().requestId("run").build());
    script.answer(script.next(), captured(lease("a", 30)));
    HeldLock lock = one.outcome().get().locks().get(0);
    Script.Asked two = script.capture(tasks().requestId("run").build());
    script.answer(script.next(), captured(lease("a", 30)));
    assertEquals(lock, two.outcome().get().locks().get(0));
    two.outcome().get().giveUp();
    assertTrue(lock.isHeld());
    Script.Asked three = script.capture(tasks().requestId("run").build());
    SessionCommand late = script.next();
    script.onLoop(() -> three.capture().abandon(RowlockException.closed()));
    script.answer(late, captured(lease("a", 30)));
    assertTrue(lock.isHeld());
    one.outcome().get().giveUp();
    assertFalse(lock.isHeld());
    SessionCommand release = script.next();
    assertEquals(Set.of("a"), Set.of(release.getRelease().getLeaseId()));
    script.answer(release, SessionResult.newBuilder().setRelease(ReleaseResponse.getDefaultInstance()));
    assertFalse(lock.release());
  }
}

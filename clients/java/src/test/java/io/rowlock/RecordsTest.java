package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The record of a lock, as users set and read it. */
@Timeout(120)
class RecordsTest {
  private static final LockOptions HOURLY =
      LockOptions.builder().minInterval(Duration.ofHours(1)).build();

  /** The grace period is longer than any test waits, so no place lapses. */
  @RegisterExtension static final SharedServer server = new SharedServer("--grace", "2m");

  private final RowlockClient rowlock =
      RowlockClient.connect(ConnectOptions.to(server.address).owner("tester").build());

  @AfterEach
  void close() {
    rowlock.close();
  }

  private RecordView record(String name) {
    return rowlock.getLock(name).record().orElseThrow();
  }

  private static Refusal refused(Outcome outcome) {
    return assertInstanceOf(Outcome.Refused.class, outcome).refusal();
  }

  @Test
  void aLeaseWithoutEndMayHaveAMinInterval() throws InterruptedException {
    rowlock.lock("endless", with -> with.noExpiry().minInterval(Duration.ofHours(1))).close();
    assertEquals(Optional.empty(), rowlock.tryLock("endless"));
  }

  @Test
  void whatWasSetIsShownByVersionUntilItIsDeleted() throws InterruptedException {
    assertEquals(Optional.empty(), rowlock.getLock("set").record());
    Instant due = Instant.parse("2020-02-02T20:20:20.202020Z");
    RecordChanges change = RecordChanges.of("set").status("new").attemptsLeft(3).notBefore(due);
    RecordView first = rowlock.updateRecord(change.ifVersion(0));
    RecordView expected =
        new RecordView(
            Optional.of(due), OptionalInt.of(3), "new", Optional.empty(), Optional.empty(), 0, first.version());
    assertEquals(expected, first);
    assertEquals(first, record("set"));
    assertEquals(
        List.of(Optional.of(first)),
        rowlock.listLocks(ListOptions.of("set")).map(LockView::record).toList());
    RowlockException mismatch =
        assertThrows(
            RowlockException.class,
            () -> rowlock.updateRecord(RecordChanges.of("set").status("old").ifVersion(0)));
    assertEquals(Reason.VERSION_MISMATCH, mismatch.reason());
    assertEquals(String.valueOf(first.version()), mismatch.metadata().get("version"));
    RecordView second =
        rowlock.updateRecord(
            RecordChanges.of("set").unsetNotBefore().unsetAttemptsLeft().ifVersion(first.version()));
    assertEquals(
        new RecordView(
            Optional.empty(), OptionalInt.empty(), "new", Optional.empty(), Optional.empty(), 0, second.version()),
        second);
    try (HeldLock lock = rowlock.lock("set")) {
      RowlockException inUse =
          assertThrows(RowlockException.class, () -> rowlock.deleteRecord(lock.name()));
      assertEquals(Reason.LOCK_IN_USE, inUse.reason());
    }
    RecordDeletion deletion = RecordDeletion.of("set");
    RowlockException otherVersion =
        assertThrows(RowlockException.class, () -> rowlock.deleteRecord(deletion.ifVersion(1)));
    assertEquals(Reason.VERSION_MISMATCH, otherVersion.reason());
    assertTrue(rowlock.deleteRecord(deletion.ifVersion(record("set").version())));
    assertFalse(rowlock.deleteRecord("set"));
    assertEquals(Optional.empty(), rowlock.getLock("set").record());
  }

  @Test
  void theLastRunAndTheOptionsOfItsRelease() throws InterruptedException {
    HeldLock lock = rowlock.lock("run", with -> with.ifStatus("", "new"));
    assertTrue(
        lock.release(
            with -> with.status("done").attemptsLeft(5).coolDown(Duration.ofMinutes(1))));
    RecordView record = record("run");
    LastRunView run = record.lastRun().orElseThrow();
    assertEquals("done", record.status());
    assertEquals(OptionalInt.of(5), record.attemptsLeft());
    assertEquals(Optional.of(run.endedAt().plusSeconds(60)), record.notBefore());
    assertFalse(run.endedAt().isBefore(run.grantedAt()));
    assertEquals(
        new LastRunView(
            "tester", 1, run.grantedAt(), run.endedAt(), Reason.RELEASED, "done"),
        run);
    // The options of a second release do not count.
    assertTrue(lock.release(with -> with.status("late")));
    assertEquals("done", record("run").status());
  }

  @Test
  void aLeaseIsReleasedByItsIdWithChanges() throws InterruptedException {
    HeldLock lock = rowlock.lock("by id");
    try (RowlockClient other = RowlockClient.connect(server.address)) {
      assertTrue(other.release(lock.leaseId(), with -> with.status("cleaned")));
    }
    assertEquals("cleaned", record("by id").status());
    HeldLock own = rowlock.lock("by id");
    assertTrue(rowlock.release(own.leaseId(), with -> with.status("done")));
    assertFalse(own.isHeld());
    assertEquals("done", record("by id").status());
  }

  @Test
  void whenItIsDueAgainAfterARun() throws Exception {
    rowlock.withLock("hourly", HOURLY, lock -> {});
    assertEquals(Optional.empty(), rowlock.tryLock("hourly"));
    assertEquals(
        Optional.empty(), rowlock.tryLockAsync("hourly", LockOptions.defaults()).get());
    Refusal refusal =
        refused(rowlock.acquire("hourly", LockOptions.builder().noWait().build()));
    assertEquals(Reason.NOT_BEFORE, refusal.reason());
    assertTrue(refusal.retryAfter().orElseThrow().compareTo(Duration.ofMinutes(50)) > 0);
    CompletableFuture<HeldLock> waits = rowlock.lockAsync("hourly", LockOptions.defaults());
    until("it waits", () -> rowlock.getLock("hourly").waiterCount() == 1);
    rowlock.updateRecord(RecordChanges.of("hourly").unsetNotBefore());
    assertEquals(2, waits.get().token());
  }

  @Test
  void whyThereIsNoLock() throws InterruptedException {
    rowlock.updateRecord(RecordChanges.of("task").attemptsLeft(1).status("new"));
    Refusal other =
        refused(rowlock.acquire("task", LockOptions.builder().ifStatus("done").build()));
    assertEquals(Reason.STATUS_MISMATCH, other.reason());
    assertEquals(Optional.of("new"), other.status());
    RowlockException thrown =
        assertThrows(
            RowlockException.class,
            () -> rowlock.tryLock("task", with -> with.ifStatus("done")));
    assertEquals(Optional.of("new"), thrown.refusal().orElseThrow().status());
    rowlock.lock("task").close();
    Refusal spent = refused(rowlock.acquire("task", LockOptions.defaults()));
    assertEquals(Reason.EXHAUSTED, spent.reason());
    assertEquals(Optional.empty(), spent.status());
    RowlockException exhausted =
        assertThrows(RowlockException.class, () -> rowlock.tryLock("task"));
    assertEquals(Reason.EXHAUSTED, exhausted.reason());
    assertEquals(OptionalInt.of(0), record("task").attemptsLeft());
  }

  private RecordView run(String name, Consumer<LockOptions.Builder> with, ReleaseOptions release)
      throws InterruptedException {
    // No time has to pass, as the record is due again by an update.
    rowlock.updateRecord(RecordChanges.of(name).unsetNotBefore());
    assertTrue(rowlock.tryLock(name, with).orElseThrow().release(release));
    return record(name);
  }

  @Test
  void aRunThatFailsIsCountedAndTheLockRestsLongerEachTime() throws InterruptedException {
    Consumer<LockOptions.Builder> rests = with -> with.backoff(Duration.ofMinutes(60), Duration.ofMinutes(90));
    RecordView good = run("failing", rests, ReleaseOptions.defaults());
    assertEquals(0, good.failures());
    assertEquals(Optional.empty(), good.notBefore());
    assertEquals(good.lastRun(), good.lastSuccess());
    ReleaseOptions failed = ReleaseOptions.builder().failed().status("failed").build();
    int failures = 0;
    for (int minutes : new int[] {60, 90, 90}) {
      RecordView bad = run("failing", rests, failed);
      LastRunView last = bad.lastRun().orElseThrow();
      assertEquals(++failures, bad.failures());
      assertEquals(Reason.FAILED, last.endReason());
      assertEquals(good.lastRun(), bad.lastSuccess());
      assertEquals(Optional.of(last.endedAt().plus(Duration.ofMinutes(minutes))), bad.notBefore());
    }
    ClaimEndView end =
        rowlock.listClaims(ClaimFilter.ofLock("failing")).findFirst().orElseThrow().end().orElseThrow();
    assertEquals(List.of(Reason.FAILED, "failed"), List.of(end.reason(), end.status()));
    RecordView dueAtOnce =
        run("failing", rests, ReleaseOptions.builder().failed().coolDown(Duration.ZERO).build());
    assertEquals(4, dueAtOnce.failures());
    assertEquals(Optional.empty(), dueAtOnce.notBefore());
    RecordView again = run("failing", rests, ReleaseOptions.builder().failed(false).build());
    assertEquals(0, again.failures());
    assertEquals(again.lastRun(), again.lastSuccess());
  }

  @Test
  void aBackoffWithoutALongestTimeStaysTheSame() throws InterruptedException {
    ReleaseOptions failed = ReleaseOptions.builder().failed().build();
    for (int failures = 1; failures <= 2; failures++) {
      RecordView record = run("the same", with -> with.backoff(Duration.ofHours(1)), failed);
      assertEquals(failures, record.failures());
      assertEquals(Optional.empty(), record.lastSuccess());
      Instant ended = record.lastRun().orElseThrow().endedAt();
      assertEquals(Optional.of(ended.plus(Duration.ofHours(1))), record.notBefore());
    }
  }

  @Test
  void aReleaseAfterALossStillRecordsTheLoss() throws Exception {
    HeldLock lock =
        rowlock.lock(
            "forced",
            with ->
                with.statusIfLost("crashed")
                    .lockDelay(Duration.ofMinutes(1))
                    .minInterval(Duration.ofHours(1)));
    CompletableFuture<String> lost = new CompletableFuture<>();
    lock.onLost(() -> lost.complete("lost"));
    rowlock.forceRelease("forced", "it hangs");
    assertEquals("lost", lost.get());
    assertFalse(lock.release(with -> with.status("done")));
    RecordView record = record("forced");
    LastRunView run = record.lastRun().orElseThrow();
    assertEquals("crashed", record.status());
    assertEquals(Reason.FORCE_RELEASED, run.endReason());
    assertEquals(Optional.of(run.endedAt().plusSeconds(60)), record.notBefore());
  }

  @Test
  void aLeaseLostByTheClientsClockExpiresIfTheRecordShowsLosses() throws Exception {
    try (Pipe pipe = new Pipe(server.address);
        RowlockClient cut = RowlockClient.connect(pipe.address())) {
      HeldLock lock =
          cut.lock(
              "own count",
              with ->
                  with.ttl(Duration.ofSeconds(4))
                      .margin(Duration.ofMillis(1_900))
                      .statusIfLost("crashed"));
      pipe.mute();
      CompletableFuture<String> lost = new CompletableFuture<>();
      lock.onLost(() -> lost.complete("lost"));
      assertEquals("lost", lost.get());
      // From now on, the server receives everything that the client sends.
      assertFalse(lock.release(with -> with.status("done")));
      until("it has ended", () -> rowlock.getLock("own count").holderCount() == 0);
      assertEquals("crashed", record("own count").status());
      assertEquals(Reason.EXPIRED, record("own count").lastRun().orElseThrow().endReason());
    }
  }

  @Test
  void aWaitCancelledBeforeItsGrantLeavesNoRun() throws Exception {
    HeldLock held = rowlock.lock("given up");
    CompletableFuture<HeldLock> waits = rowlock.lockAsync("given up", HOURLY);
    until("it waits", () -> rowlock.getLock("given up").waiterCount() == 1);
    waits.cancel(true);
    until("it does not", () -> rowlock.getLock("given up").waiterCount() == 0);
    assertTrue(held.release());
    assertTrue(rowlock.tryLock("given up").isPresent());
  }

  @Test
  void allFaultsOfAChangeAreTold() {
    RecordChanges change =
        RecordChanges.of("")
            .notBefore(Instant.ofEpochSecond(-1))
            .attemptsLeft(-1)
            .status("x".repeat(64))
            .reason("x".repeat(256));
    RowlockException bad =
        assertThrows(RowlockException.class, () -> rowlock.updateRecord(change));
    assertEquals(Reason.BAD_REQUEST, bad.reason());
    assertEquals(
        Set.of("name", "not_before", "attempts_left", "status", "reason"),
        Set.copyOf(bad.violations().stream().map(Violation::field).toList()));
    RecordChanges past = RecordChanges.of("faults").notBeforeIn(Duration.ofMillis(-1));
    RowlockException early =
        assertThrows(RowlockException.class, () -> rowlock.updateRecord(past));
    assertEquals(List.of("not_before_in"), early.violations().stream().map(Violation::field).toList());
    RecordDeletion deletion = RecordDeletion.of("faults").reason("x".repeat(256));
    RowlockException tooLong =
        assertThrows(RowlockException.class, () -> rowlock.deleteRecord(deletion));
    assertEquals(List.of("reason"), tooLong.violations().stream().map(Violation::field).toList());
    RowlockException words =
        assertThrows(
            RowlockException.class,
            () ->
                rowlock.release(
                    rowlock.lock("faults").leaseId().substring(1),
                    with -> with.coolDown(Duration.ofDays(4_000)).attemptsLeft(-1)));
    assertEquals(Reason.BAD_REQUEST, words.reason());
  }
}

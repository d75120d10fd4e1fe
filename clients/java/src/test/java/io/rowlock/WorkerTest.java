package io.rowlock;

import static io.rowlock.Until.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class WorkerTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private static final WorkOptions OPTIONS =
      WorkOptions.builder()
          .concurrency(2)
          .ifStatus("new")
          .statusWhenDone("done")
          .statusIfLost("failed")
          .build();

  private final RowlockClient rowlock = RowlockClient.connect(server.address);
  private final BlockingQueue<String> begun = new LinkedBlockingQueue<>();

  @AfterEach
  void close() {
    rowlock.close();
  }

  private void put(String... names) {
    for (String name : names) rowlock.updateRecord(RecordChanges.of(name).status("new"));
  }

  private void untilStatus(String name, String status) throws InterruptedException {
    until(
        name + " is " + status,
        () -> {
          LockView lock = rowlock.getLock(name);
          return lock.holderCount() == 0 && lock.record().orElseThrow().status().equals(status);
        });
  }

  private String next() throws InterruptedException {
    return begun.poll(60, TimeUnit.SECONDS);
  }

  @Test
  void runsSoManyHandlersAtOnceAndGivesEachLockItsStatus() throws Exception {
    put("task/1", "task/2", "task/3");
    BlockingQueue<Boolean> ends = new LinkedBlockingQueue<>();
    try (Worker worker =
        rowlock.work(
            "task/",
            OPTIONS,
            lock -> {
              begun.add(lock.name());
              if (ends.take()) throw new IllegalStateException("as the test wants");
            })) {
      next();
      next();
      assertEquals(2, rowlock.listLocks(ListOptions.of("task/")).filter(lock -> lock.holderCount() > 0).count());
      assertEquals(0, begun.size());
      ends.add(true);
      next();
      ends.add(false);
      ends.add(false);
      until("all are over", () -> statuses().equals(List.of("done", "done", "failed")));
      put("task/4");
      assertEquals("task/4", next());
      ends.add(false);
      untilStatus("task/4", "done");
    }
  }

  private List<String> statuses() {
    return rowlock.listLocks(ListOptions.of("task/"))
        .map(lock -> lock.record().orElseThrow().status())
        .sorted()
        .toList();
  }

  @Test
  void waitsForItsHandlersWhenItIsClosed() throws Exception {
    put("last/1");
    CountDownLatch goOn = new CountDownLatch(1);
    Worker worker =
        rowlock.work(
            "last/",
            OPTIONS,
            lock -> {
              begun.add(lock.name());
              goOn.await();
            });
    next();
    CompletableFuture<Void> closed = CompletableFuture.runAsync(worker::close);
    worker.stop();
    put("last/2");
    assertFalse(closed.isDone());
    goOn.countDown();
    closed.get();
    worker.await();
    untilStatus("last/1", "done");
    assertEquals(0, rowlock.getLock("last/2").holderCount());
  }

  @Test
  void interruptsAHandlerThatHasLostItsLockAndGoesOn() throws Exception {
    put("lost/1");
    try (Worker worker =
        rowlock.work(
            "lost/",
            OPTIONS,
            lock -> {
              begun.add(lock.name());
              if (lock.name().equals("lost/1")) new CountDownLatch(1).await();
            })) {
      next();
      rowlock.forceRelease("lost/1", "test");
      untilStatus("lost/1", "failed");
      put("lost/2");
      untilStatus("lost/2", "done");
    }
  }

  @Test
  void letsALockRestWhoseStatusIsRefusedLongerWithEachTime() throws Exception {
    put("refused/1");
    WorkOptions tooLong =
        WorkOptions.builder().concurrency(2).ifStatus("new").statusWhenDone("x".repeat(64)).build();
    BlockingQueue<Long> runs = new LinkedBlockingQueue<>();
    try (Worker worker = rowlock.work("refused/", tooLong, lock -> runs.add(System.nanoTime()))) {
      long before = runs.take();
      for (int seconds : new int[] {1, 2}) {
        long run = runs.take();
        // By the clock of the database, which begins earlier.
        assertTrue(run - before > seconds * 1_000_000_000L - 100_000_000L, seconds + " s after the run");
        before = run;
      }
    }
    RecordView record = rowlock.getLock("refused/1").record().orElseThrow();
    assertEquals("new", record.status());
    assertTrue(record.notBefore().orElseThrow().isAfter(record.lastRun().orElseThrow().endedAt().plusSeconds(3)));
  }

  @Test
  void letsALockRestWhoseHandlerHasFailedLongerWithEachTime() throws Exception {
    RecordView byDefault = failsAgain("by default", WorkOptions.builder());
    assertEquals(endOf(byDefault).plusSeconds(4), byDefault.notBefore().orElseThrow());
    RecordView asAsked =
        failsAgain("as asked", WorkOptions.builder().backoff(Duration.ofHours(1), Duration.ofHours(2)));
    assertEquals(endOf(asAsked).plus(Duration.ofHours(2)), asAsked.notBefore().orElseThrow());
    RecordView interval = failsAgain("interval", WorkOptions.builder().minInterval(Duration.ofHours(3)));
    Instant granted = interval.lastRun().orElseThrow().grantedAt();
    assertEquals(granted.plus(Duration.ofHours(3)), interval.notBefore().orElseThrow());
  }

  private static Instant endOf(RecordView record) {
    return record.lastRun().orElseThrow().endedAt();
  }

  /** Its work fails, after it has failed twice, so that the test has to wait for no rest. */
  private RecordView failsAgain(String name, WorkOptions.Builder options) throws Exception {
    put(name);
    for (int count = 0; count < 2; count++)
      assertTrue(rowlock.lock(name).release(ReleaseOptions.builder().failed().build()));
    try (Worker worker =
        rowlock.work(
            name,
            options.statusIfLost("failed").build(),
            lock -> {
              throw new IllegalStateException("as the test wants");
            })) {
      untilStatus(name, "failed");
    }
    RecordView record = rowlock.getLock(name).record().orElseThrow();
    assertEquals(3, record.failures());
    assertEquals(Reason.FAILED, record.lastRun().orElseThrow().endReason());
    return record;
  }

  @Test
  void endsWhenWhatItAsksForIsRefused() {
    try (Worker worker = rowlock.work("x".repeat(300), OPTIONS, lock -> {})) {
      RowlockException refused = assertThrows(RowlockException.class, worker::await);
      assertEquals(Reason.BAD_REQUEST, refused.reason());
    }
  }

  @Test
  void endsWithAnyFailureOfItsLoop() {
    Worker worker = new Worker(null, "bug/", OPTIONS, lock -> {});
    assertThrows(NullPointerException.class, worker::await);
    worker.close();
  }
}

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Captures over a session, and by unary calls. */
@Timeout(120)
class CapturesTest {
  private enum Way {
    SESSION,
    CALLS
  }

  /** The grace period is short compared with the ttl, so a lease that comes after a wait is renewed first. */
  @RegisterExtension static final SharedServer server = new SharedServer("--grace", "2s");
  private static StreamlessProxy proxy;

  private final RowlockClient direct = RowlockClient.connect(server.address);

  @BeforeAll
  static void start() throws IOException {
    proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
  }

  @AfterAll
  static void stop() throws InterruptedException {
    proxy.close();
  }

  @AfterEach
  void close() {
    direct.close();
  }

  private static RowlockClient client(Way way) {
    String address = way == Way.SESSION ? server.address : proxy.address();
    return RowlockClient.connect(ConnectOptions.to(address).owner("worker").label("host", "a1").build());
  }

  private void put(String... names) {
    for (String name : names) direct.updateRecord(RecordChanges.of(name).status("new"));
  }

  private static List<String> names(Captured captured) {
    return captured.locks().stream().map(HeldLock::name).toList();
  }

  @ParameterizedTest
  @EnumSource(Way.class)
  void takesDueLocksInAWantedStatusAndRenewsThem(Way way) throws InterruptedException {
    String tasks = "due/" + way + "/";
    put(tasks + 1, tasks + 2, tasks + 3);
    direct.updateRecord(RecordChanges.of(tasks + 3).notBefore(Instant.ofEpochSecond(1)));
    direct.updateRecord(RecordChanges.of(tasks + 4).status("new").notBeforeIn(Duration.ofHours(1)));
    direct.updateRecord(RecordChanges.of(tasks + 5).status("done"));
    CaptureOptions asked =
        CaptureOptions.builder()
            .prefix(tasks)
            .count(2)
            .ifStatus("new")
            .ttl(Duration.ofSeconds(3))
            .label("job", "7")
            .build();
    try (RowlockClient rowlock = client(way);
        Captured captured = rowlock.capture(asked)) {
      assertEquals(List.of(tasks + 1, tasks + 2), names(captured));
      assertEquals(Optional.empty(), captured.retryAfter());
      ClaimView holder = rowlock.getLock(captured.locks().get(0).name()).holders().get(0);
      assertEquals("worker", holder.owner());
      assertEquals(Map.of("host", "a1", "job", "7"), holder.labels());
      for (HeldLock lock : captured.locks()) untilRenewed(lock, 3);
      assertEquals(List.of(tasks + 3), names(rowlock.capture(asked)));
      Captured none = rowlock.capture(asked);
      assertEquals(List.of(), none.locks());
      assertTrue(none.retryAfter().orElseThrow().compareTo(Duration.ZERO) > 0);
      HeldLock first = captured.locks().get(0);
      assertTrue(first.release(with -> with.status("done")));
      assertEquals("done", rowlock.getLock(first.name()).record().orElseThrow().status());
      Captured named = rowlock.capture(with -> with.names(first.name(), tasks + "new").count(9));
      assertEquals(List.of(first.name(), tasks + "new"), names(named));
    }
    assertEquals(0, direct.getLock(tasks + 1).holderCount());
  }

  /** The remaining time grows with each renewal. */
  private static void untilRenewed(HeldLock lock, int times) throws InterruptedException {
    Duration[] left = {Duration.ZERO};
    for (int renewal = 0; renewal <= times; renewal++)
      until(
          "renewal " + renewal,
          () -> {
            Duration before = left[0];
            left[0] = lock.remaining().orElseThrow();
            return left[0].compareTo(before) > 0;
          });
    assertTrue(lock.isHeld());
  }

  @ParameterizedTest
  @EnumSource(Way.class)
  void waitsForOneThatBecomesFreeAndHasItForItsWholeTtl(Way way) throws Exception {
    String task = "free/" + way + "/1";
    put(task);
    CaptureOptions.Builder asked = CaptureOptions.builder().names(task);
    try (RowlockClient rowlock = client(way)) {
      Captured first = rowlock.capture(asked.build());
      CompletableFuture<Captured> waits = rowlock.captureAsync(asked.waitForever().build());
      Captured none = rowlock.capture(asked.waitAtMost(Duration.ofMillis(20)).build());
      assertEquals(List.of(), none.locks());
      first.close();
      HeldLock second = waits.get().locks().get(0);
      assertEquals(2, second.token());
      // At once: no caller gets a lease that lasts only for a grace period.
      assertTrue(second.remaining().orElseThrow().compareTo(Duration.ofSeconds(20)) > 0);
    }
  }

  @ParameterizedTest
  @EnumSource(Way.class)
  void aWaitThatIsGivenUpTakesNothingAnyMore(Way way) throws Exception {
    String task = "given up/" + way + "/1";
    put(task);
    CaptureOptions.Builder asked =
        CaptureOptions.builder().names(task).minInterval(Duration.ofHours(1));
    try (RowlockClient rowlock = client(way)) {
      Captured first = direct.capture(with -> with.names(task));
      CompletableFuture<Captured> waits = rowlock.captureAsync(asked.waitForever().build());
      // The server answers this capture after it has received the other one.
      assertEquals(List.of(), names(rowlock.capture(with -> with.names(task))));
      int cancelled = proxy.cancelled();
      assertTrue(waits.cancel(true));
      if (way == Way.CALLS) until("its server is told", () -> proxy.cancelled() > cancelled);
      assertThrows(CancellationException.class, waits::join);
      BlockingQueue<Throwable> ends = new LinkedBlockingQueue<>();
      Thread thread =
          new Thread(
              () ->
                  ends.add(
                      assertThrows(
                          InterruptedException.class,
                          () -> rowlock.capture(asked.waitForever().build()))));
      thread.start();
      thread.interrupt();
      ends.take();
      first.close();
      // If the cancelled capture still waited, it would get this task first, and its run would count.
      Captured next = direct.capture(with -> with.names(task).waitAtMost(Duration.ofSeconds(60)));
      assertEquals(List.of(task), names(next));
    }
  }

  @Test
  void capturesAtTheSameTimeNeverGetTheSameLock() throws Exception {
    String[] tasks = new String[20];
    for (int index = 0; index < tasks.length; index++) tasks[index] = "both/" + index;
    put(tasks);
    CaptureOptions asked = CaptureOptions.builder().prefix("both/").count(10).build();
    try (RowlockClient other = client(Way.CALLS)) {
      CompletableFuture<Captured> one = direct.captureAsync(asked);
      CompletableFuture<Captured> two = other.captureAsync(asked);
      Set<String> all = new HashSet<>(names(one.get()));
      all.addAll(names(two.get()));
      assertEquals(Set.of(tasks), all);
    }
  }

  @Test
  void piecesOfAWaitDoNotCountAsUnansweredCalls() throws Exception {
    put("piece/1");
    Captured first = direct.capture(with -> with.names("piece/1"));
    int before = proxy.count("Capture");
    ConnectOptions options =
        ConnectOptions.to(proxy.address()).giveUpAfter(Duration.ofSeconds(2)).build();
    try (RowlockClient rowlock = RowlockClient.connect(options)) {
      CompletableFuture<Captured> waits =
          rowlock.captureAsync(CaptureOptions.builder().names("piece/1").waitForever().build());
      until("the fourth piece", () -> proxy.count("Capture") >= before + 4);
      first.close();
      assertEquals(List.of("piece/1"), names(waits.get()));
    }
  }

  @Test
  void allFaultsAreToldAtOnce() {
    RowlockException bad =
        assertThrows(
            RowlockException.class,
            () ->
                direct.capture(
                    with ->
                        with.names("b", "")
                            .count(101)
                            .ttl(Duration.ofMillis(1))
                            .minInterval(Duration.ofDays(4_000))
                            .lockDelay(Duration.ofMillis(-1))
                            .statusIfLost("x".repeat(64))
                            .ifStatus("x".repeat(64))
                            .backoff(Duration.ofSeconds(2), Duration.ofSeconds(1))));
    assertEquals(Reason.BAD_REQUEST, bad.reason());
    assertEquals(
        Set.of(
            "names.names[1]",
            "max_leases",
            "terms.ttl",
            "terms.min_interval",
            "terms.lock_delay",
            "terms.status_if_lost",
            "terms.if_status[0]",
            "terms.backoff.max"),
        Set.copyOf(bad.violations().stream().map(Violation::field).toList()));
    RowlockException fromNothing =
        assertThrows(RowlockException.class, () -> direct.capture(with -> with.count(1)));
    assertEquals(List.of("from"), fromNothing.violations().stream().map(Violation::field).toList());
    RowlockException noNames =
        assertThrows(RowlockException.class, () -> direct.capture(with -> with.names(List.of())));
    assertEquals(List.of("names.names"), noNames.violations().stream().map(Violation::field).toList());
  }

  @Test
  void aClientThatIsClosedGivesUpAndReleases() throws Exception {
    put("closed/1", "closed/2");
    Captured captured;
    CompletableFuture<Captured> waits;
    CompletableFuture<Captured> late;
    try (RowlockClient other = client(Way.SESSION)) {
      captured = other.capture(with -> with.prefix("closed/").count(2));
      waits = other.captureAsync(CaptureOptions.builder().prefix("closed/").waitForever().build());
      other.getLock("closed/1");
      late = other.captureAsync(CaptureOptions.builder().names("late").build());
    }
    for (CompletableFuture<Captured> asked : List.of(waits, late)) {
      Throwable why = assertThrows(Exception.class, asked::get).getCause();
      assertEquals(Reason.CLOSED, assertInstanceOf(RowlockException.class, why).reason());
    }
    assertFalse(captured.locks().get(0).isHeld());
    assertEquals(2, direct.capture(with -> with.prefix("closed/").count(2)).locks().size());
    assertEquals(0, direct.getLock("late").holderCount());
  }

  @Test
  void closingTheResultReleasesTheRemainingLocks() throws InterruptedException {
    put("scope/1", "scope/2", "scope/3");
    Captured captured = direct.capture(with -> with.prefix("scope/").count(3));
    assertTrue(captured.locks().get(1).release(with -> with.status("done")));
    direct.forceRelease(captured.locks().get(2).name(), "test");
    assertEquals(Reason.LEASE_LOST, assertThrows(RowlockException.class, captured::close).reason());
    List<RecordView> records =
        direct.listLocks(ListOptions.of("scope/")).map(lock -> lock.record().orElseThrow()).toList();
    assertEquals(List.of("new", "done", "new"), records.stream().map(RecordView::status).toList());
    assertEquals(
        List.of(Reason.RELEASED, Reason.RELEASED, Reason.FORCE_RELEASED),
        records.stream().map(record -> record.lastRun().orElseThrow().endReason()).toList());
  }
}

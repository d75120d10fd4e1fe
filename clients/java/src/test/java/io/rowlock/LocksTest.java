// Locks, waits, and work under a lock, against a real server.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class LocksTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private final RowlockClient rowlock = RowlockClient.connect(server.address);

  @AfterEach
  void close() {
    rowlock.close();
  }

  private void untilWaiting(String name, int count) throws InterruptedException {
    until(count + " wait for " + name, () -> rowlock.getLock(name).waiterCount() == count);
  }

  /** The remaining time grows with each renewal. */
  private static void untilRenewed(HeldLock lock, int times) throws InterruptedException {
    AtomicReference<Duration> left = new AtomicReference<>(Duration.ZERO);
    for (int renewal = 0; renewal <= times; renewal++)
      until(
          "renewal " + renewal,
          () -> lock.remaining().orElseThrow().compareTo(left.getAndSet(lock.remaining().orElseThrow())) > 0);
  }

  /** Starts a thread that reports how it ended. */
  private static Thread started(BlockingQueue<Object> ends, InterruptibleCall call) {
    Thread thread =
        new Thread(
            () -> {
              try {
                ends.add(call.call());
              } catch (Exception | AssertionError thrown) {
                ends.add(thrown);
              }
            });
    thread.start();
    return thread;
  }

  private interface InterruptibleCall {
    Object call() throws Exception;
  }

  @Test
  void isHeldByOneAtATime() throws InterruptedException {
    try (HeldLock lock = rowlock.lock("one")) {
      assertEquals("one", lock.name());
      assertEquals(1, lock.token());
      assertEquals(Mode.PERMIT, lock.mode());
      assertTrue(lock.isHeld());
      lock.requireHeld();
      assertTrue(lock.remaining().orElseThrow().compareTo(Duration.ofSeconds(25)) > 0);
      assertEquals(Optional.empty(), rowlock.tryLock("one"));
    }
    try (HeldLock lock = rowlock.tryLock("one").orElseThrow()) {
      assertEquals(2, lock.token());
    }
  }

  @Test
  void isReleasedOnce() throws InterruptedException {
    HeldLock lock = rowlock.lock("once");
    assertTrue(lock.release());
    assertTrue(lock.release());
    assertEquals(LockState.RELEASED, lock.state());
    RowlockException over = assertThrows(RowlockException.class, lock::requireHeld);
    assertEquals(Reason.RELEASED, over.reason());
    assertFalse(rowlock.release(lock.leaseId()));
  }

  @Test
  void oneRequestIdIsOneLockForAllCallsOfAClient() throws Exception {
    LockOptions options = LockOptions.builder().requestId("run").ttl(Duration.ofSeconds(3)).build();
    CompletableFuture<HeldLock> two = rowlock.lockAsync("same", options);
    HeldLock one = rowlock.lock("same", options);
    assertSame(one, two.get());
    assertSame(one, rowlock.tryLock("same", options).orElseThrow());
    untilRenewed(one, 4);
    assertTrue(one.isHeld());
    assertTrue(two.get().release());
    assertFalse(one.isHeld());
    assertEquals(0, rowlock.getLock("same").holderCount());
  }

  @Test
  void isRefusedInTypesOrThrown() throws InterruptedException {
    try (HeldLock lock = rowlock.lock("no", with -> with.owner("anna").label("run", "7"))) {
      Outcome outcome = rowlock.acquire("no", LockOptions.builder().noWait().build());
      Refusal refusal = assertInstanceOf(Outcome.Refused.class, outcome).refusal();
      assertEquals(Reason.BUSY, refusal.reason());
      ClaimView holder = refusal.holders().get(0);
      assertEquals("anna", holder.owner());
      assertEquals("7", holder.labels().get("run"));
      assertEquals(lock.token(), holder.token().orElseThrow());
      RowlockException late =
          assertThrows(
              RowlockException.class,
              () -> rowlock.lock("no", with -> with.waitAtMost(Duration.ofMillis(200))));
      assertEquals(Reason.TIMED_OUT, late.reason());
      assertEquals(Reason.TIMED_OUT, late.refusal().orElseThrow().reason());
      RowlockException never =
          assertThrows(
              RowlockException.class,
              () -> rowlock.tryLock("no", LockOptions.builder().permits(2).build()));
      assertEquals(Reason.NEVER_FITS, never.reason());
    }
  }

  @Test
  void allFaultsOfARequestAreTold() {
    RowlockException bad =
        assertThrows(
            RowlockException.class,
            () -> rowlock.lock("", with -> with.ttl(Duration.ofMillis(1)).permits(-1)));
    assertEquals(Reason.BAD_REQUEST, bad.reason());
    assertEquals(Status.Code.INVALID_ARGUMENT, bad.code());
    List<String> fields = bad.violations().stream().map(Violation::field).toList();
    assertEquals(List.of("request.name", "request.permits", "request.terms.ttl"), fields);
    // The stack trace includes the thread that made the call.
    assertTrue(
        List.of(bad.getStackTrace()).stream()
            .anyMatch(frame -> frame.getClassName().equals(LocksTest.class.getName())));
  }

  @Test
  void aWaitTellsItsPlaceAndMovesUp() throws Exception {
    HeldLock first = rowlock.lock("queue");
    BlockingQueue<Place> places = new LinkedBlockingQueue<>();
    CompletableFuture<HeldLock> second = rowlock.lockAsync("queue", LockOptions.defaults());
    untilWaiting("queue", 1);
    CompletableFuture<HeldLock> third =
        rowlock.lockAsync(
            "queue",
            LockOptions.builder()
                .onPosition(places::add)
                .positionInterval(Duration.ZERO)
                .build());
    assertEquals(1, places.take().ahead());
    first.close();
    assertEquals(0, places.take().ahead());
    second.get().close();
    assertEquals(3, third.get().token());
  }

  @Test
  void aListenerThatThrowsEndsItsWait() throws Exception {
    try (HeldLock held = rowlock.lock("throws")) {
      IllegalStateException thrown =
          assertThrows(
              IllegalStateException.class,
              () ->
                  rowlock.lock(
                      "throws",
                      with ->
                          with.onPosition(
                              place -> {
                                throw new IllegalStateException("enough");
                              })));
      assertEquals("enough", thrown.getMessage());
      untilWaiting("throws", 0);
      assertTrue(held.isHeld());
    }
  }

  @Test
  void aThreadThatIsInterruptedGivesUpItsPlace() throws InterruptedException {
    try (HeldLock held = rowlock.lock("interrupted")) {
      BlockingQueue<Object> ends = new LinkedBlockingQueue<>();
      Thread waiting = started(ends, () -> rowlock.lock("interrupted"));
      untilWaiting("interrupted", 1);
      waiting.interrupt();
      assertInstanceOf(InterruptedException.class, ends.take());
      untilWaiting("interrupted", 0);
      assertTrue(held.isHeld());
    }
  }

  @Test
  void aFutureThatIsCancelledGivesUpItsPlace() throws InterruptedException {
    try (HeldLock held = rowlock.lock("cancelled")) {
      CompletableFuture<HeldLock> waiting = rowlock.lockAsync("cancelled", LockOptions.defaults());
      CompletableFuture<Outcome> other = rowlock.acquireAsync("cancelled", LockOptions.defaults());
      untilWaiting("cancelled", 2);
      assertTrue(waiting.cancel(true));
      assertTrue(other.cancel(true));
      assertThrows(CancellationException.class, waiting::join);
      untilWaiting("cancelled", 0);
      assertTrue(held.isHeld());
    }
  }

  @Test
  void isRenewedForAsLongAsItIsHeld() throws InterruptedException {
    try (HeldLock lock = rowlock.lock("renewed", with -> with.ttl(Duration.ofSeconds(3)))) {
      BlockingQueue<LockState> states = new LinkedBlockingQueue<>();
      lock.onState(states::add);
      untilRenewed(lock, 4);
      assertTrue(lock.isHeld());
      assertFalse(states.contains(LockState.LOST));
      assertEquals(Optional.empty(), rowlock.tryLock("renewed"));
    }
  }

  @Test
  void workIsInterruptedWhenTheLockIsLost() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    BlockingQueue<Object> ends = new LinkedBlockingQueue<>();
    started(
        ends,
        () -> {
          RowlockException lost =
              assertThrows(
                  RowlockException.class,
                  () ->
                      rowlock.withLock(
                          "forced",
                          lock -> {
                            begun.countDown();
                            new CountDownLatch(1).await();
                          }));
          assertInstanceOf(InterruptedException.class, lost.getSuppressed()[0]);
          // The interrupt was for the work, which is over.
          assertFalse(Thread.currentThread().isInterrupted());
          return lost.end().orElseThrow().reason();
        });
    begun.await();
    assertEquals(1, rowlock.forceRelease("forced", "test").ended().size());
    assertEquals(Reason.FORCE_RELEASED, ends.take());
    assertEquals(2, rowlock.tryLock("forced").orElseThrow().token());
  }

  @Test
  void workFailsEvenIfItDoesNotNoticeTheLoss() {
    RowlockException lost =
        assertThrows(
            RowlockException.class,
            () ->
                rowlock.callWithLock(
                    "unnoticed",
                    lock -> {
                      rowlock.forceRelease("unnoticed", "test");
                      boolean wasInterrupted = false;
                      while (lock.isHeld()) wasInterrupted |= Thread.interrupted();
                      return wasInterrupted;
                    }));
    assertEquals(Reason.LEASE_LOST, lost.reason());
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  void workThatThrowsAfterTheLossReportsBoth() {
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                rowlock.callWithLock(
                    "thrown",
                    lock -> {
                      rowlock.forceRelease("thrown", "test");
                      while (lock.isHeld()) Thread.onSpinWait();
                      throw new IllegalStateException("the work failed");
                    }));
    RowlockException lost = assertInstanceOf(RowlockException.class, thrown.getSuppressed()[0]);
    assertEquals(Reason.LEASE_LOST, lost.reason());
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  void workThatReportsTheLossReportsItOnce() {
    RowlockException lost =
        assertThrows(
            RowlockException.class,
            () ->
                rowlock.callWithLock(
                    "reported",
                    lock -> {
                      rowlock.forceRelease("reported", "test");
                      while (lock.isHeld()) Thread.onSpinWait();
                      lock.requireHeld();
                      return lock.token();
                    }));
    assertEquals(Reason.LEASE_LOST, lost.reason());
    assertEquals(0, lost.getSuppressed().length);
  }

  @Test
  void workMayBeInterruptedByOthers() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    BlockingQueue<Object> ends = new LinkedBlockingQueue<>();
    Thread working =
        started(
            ends,
            () -> {
              rowlock.withLock(
                  "others",
                  lock -> {
                    begun.countDown();
                    new CountDownLatch(1).await();
                  });
              return "not reached";
            });
    begun.await();
    working.interrupt();
    assertInstanceOf(InterruptedException.class, ends.take());
    until("it is released", () -> rowlock.getLock("others").holderCount() == 0);
  }

  @Test
  void workHasAResultAndMayThrow() throws InterruptedException {
    assertEquals(1L, rowlock.<Long, RuntimeException>callWithLock("result", HeldLock::token));
    assertThrows(
        IOException.class,
        () ->
            rowlock.withLock(
                "result",
                lock -> {
                  throw new IOException("mine");
                }));
    // A lock that the work itself has released was not lost.
    rowlock.withLock("result", HeldLock::release);
    assertEquals(4, rowlock.tryLock("result").orElseThrow().token());
  }

  @Test
  void aLockIsReleasedByAThreadThatIsInterrupted() throws InterruptedException {
    HeldLock lock = rowlock.lock("closing");
    Thread.currentThread().interrupt();
    lock.close();
    assertTrue(Thread.interrupted());
    until("it is released", () -> rowlock.getLock("closing").holderCount() == 0);
  }

  @Test
  void lossIsReportedOnceAndAlsoToLateListeners() throws InterruptedException {
    HeldLock lock = rowlock.lock("told");
    BlockingQueue<String> told = new LinkedBlockingQueue<>();
    lock.onLost(() -> told.add("early"));
    rowlock.forceRelease("told", "test");
    assertEquals("early", told.take());
    lock.onLost(() -> told.add("late"));
    assertEquals("late", told.take());
    RowlockException lost = assertThrows(RowlockException.class, lock::requireHeld);
    assertEquals(Reason.LEASE_LOST, lost.reason());
    assertFalse(lock.release());
    assertTrue(told.isEmpty());
  }

  @Test
  void aListenerThatBlocksDelaysNoRenewal() throws InterruptedException {
    CountDownLatch over = new CountDownLatch(1);
    try (HeldLock held = rowlock.lock("blocks", with -> with.ttl(Duration.ofSeconds(3)))) {
      CompletableFuture<HeldLock> waiting =
          rowlock.lockAsync("blocks", LockOptions.builder().onPosition(place -> await(over)).build());
      CompletableFuture<Void> after =
          rowlock.tryLockAsync("free", LockOptions.defaults()).thenAccept(lock -> await(over));
      untilRenewed(held, 4);
      assertTrue(held.isHeld());
      over.countDown();
      after.join();
      waiting.cancel(true);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  @Test
  void canBeHandedOverToAnotherProcess() throws InterruptedException {
    HeldLock lock = rowlock.lock("handed");
    HandedOver over = lock.handOver(Duration.ofMinutes(1));
    assertFalse(lock.isHeld());
    assertFalse(lock.release());
    try (RowlockClient other = RowlockClient.connect(server.address)) {
      RenewedLease lease = other.renew(over.leaseId(), Duration.ofMinutes(2));
      assertEquals("handed", lease.name());
      assertEquals(over.token(), lease.token());
      assertTrue(lease.ttl().orElseThrow().compareTo(Duration.ofSeconds(110)) > 0);
      assertTrue(other.release(over.leaseId()));
    }
  }

  @Test
  void limitsAreSetAndListed() throws InterruptedException {
    LimitInForce set = rowlock.setLimit(LimitChange.ofPattern("pool/*").to(3).reason("night"));
    assertEquals(3, set.limit());
    LockView lock = rowlock.getLock("pool/a");
    assertEquals(LimitView.Source.PATTERN, lock.limit().source());
    assertEquals(Optional.of("pool/*"), lock.limit().pattern());
    assertEquals(
        List.of(
            new LimitSetting(
                "pool/*", true, 3, set.version(), "night", Optional.empty(), false, false, Optional.empty(),
                  Optional.empty())),
        rowlock.listLimits("pool/").toList());
    RowlockException mismatch =
        assertThrows(
            RowlockException.class,
            () -> rowlock.setLimit(LimitChange.ofPattern("pool/*").to(4).ifVersion(77)));
    assertEquals(Reason.VERSION_MISMATCH, mismatch.reason());
    assertEquals("1", mismatch.metadata().get("version"));
    try (HeldLock three = rowlock.lock("pool/a", with -> with.permits(3))) {
      assertEquals(3, three.permits());
    }
    rowlock.setLimit(LimitChange.ofPattern("pool/*").unset());
    assertEquals(1, rowlock.getLock("pool/a").limit().permits());
  }

  @Test
  void aPoolIsSetAndListedBesideThePattern() throws InterruptedException {
    LimitChange both = LimitChange.ofPool("tree/*").to(2).toRate(Rate.of(5, Duration.ofHours(1)));
    LimitInForce set = rowlock.setLimit(both);
    assertEquals(2, set.limit());
    assertTrue(set.counting());
    rowlock.setLimit(LimitChange.ofPattern("tree/*").to(9));
    try (HeldLock held = rowlock.lock("tree/a")) {
      List<LimitSetting> settings = rowlock.listLimits("tree/").toList();
      assertEquals(List.of(false, true), settings.stream().map(LimitSetting::isPool).toList());
      assertEquals(List.of(true, false), settings.stream().map(LimitSetting::isPattern).toList());
      assertEquals("tree/*", settings.get(1).target());
      assertEquals(1, settings.get(1).use().orElseThrow().heldPermits());
      PoolView pool = rowlock.getLock("tree/b").pools().get(0);
      assertEquals("tree/*", pool.pattern());
      assertEquals(LimitView.Source.POOL, pool.limit().orElseThrow().source());
      assertEquals(Optional.of("tree/*"), pool.rate().orElseThrow().pattern());
      assertEquals(4, pool.use().available());
    }
    assertTrue(rowlock.setLimit(LimitChange.ofPool("tree/*").unset().unsetRate()).hasNoLimit());
    assertEquals(List.of(), rowlock.getLock("tree/b").pools());
  }

  @Test
  void allPagesAreListed() throws InterruptedException {
    for (int index = 0; index < 5; index++) rowlock.lock("page/" + index);
    List<String> names =
        rowlock.listLocks(ListOptions.of("page/").busyOnly().pageSize(2)).map(LockView::name).toList();
    assertEquals(List.of("page/0", "page/1", "page/2", "page/3", "page/4"), names);
  }

  @Test
  void closingGivesUpWaitsAndReleasesLocks() throws Exception {
    AtomicReference<HeldLock> kept = new AtomicReference<>();
    CompletableFuture<HeldLock> waiting;
    try (RowlockClient other = RowlockClient.connect(server.address)) {
      kept.set(other.lock("closed"));
      waiting = other.lockAsync("closed", LockOptions.defaults());
      untilWaiting("closed", 1);
    }
    assertFalse(kept.get().isHeld());
    Throwable why = assertThrows(Exception.class, waiting::get).getCause();
    assertEquals(Reason.CLOSED, assertInstanceOf(RowlockException.class, why).reason());
    LockView lock = rowlock.getLock("closed");
    assertEquals(0, lock.holderCount());
    assertEquals(0, lock.waiterCount());
  }

  @Test
  void closingLeavesNothingOfRecentRequests() throws Exception {
    CompletableFuture<Outcome> late;
    try (RowlockClient other = RowlockClient.connect(server.address)) {
      other.getLock("late");
      late = other.acquireAsync("late", LockOptions.builder().noWait().build());
    }
    Throwable why = assertThrows(Exception.class, late::get).getCause();
    assertEquals(Reason.CLOSED, assertInstanceOf(RowlockException.class, why).reason());
    assertEquals(0, rowlock.getLock("late").holderCount());
  }

  @Test
  void aClosedClientLeavesNoThreadAndDoesNothing() throws InterruptedException {
    List<Thread> before = threads();
    RowlockClient other = RowlockClient.connect(server.address);
    other.lock("threads").onLost(() -> {});
    assertFalse(threads().equals(before));
    other.close();
    other.close();
    until("its threads are gone", () -> before.containsAll(threads()));
    RowlockException closed =
        assertThrows(RowlockException.class, () -> other.getLock("threads"));
    assertEquals(Reason.CLOSED, closed.reason());
    assertThrows(RowlockException.class, () -> other.lock("threads"));
  }

  private static List<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("rowlock-"))
        .sorted(Comparator.comparing(Thread::getId))
        .toList();
  }

  @Test
  void textWithAnUnpairedSurrogateIsRefusedBeforeAnythingIsSent() throws InterruptedException {
    String half = "half\uD83D";
    // Nobody listens, so a call that needed a connection would fail for another reason, and late.
    RowlockClient rowlock = RowlockClient.connect(ConnectOptions.to("127.0.0.1:9").giveUpAfter(Duration.ofMinutes(1)).build());
    List<ThrowingCall> calls =
        List.of(
            () -> rowlock.tryLock(half),
            () -> rowlock.lock("text", with -> with.owner(half)),
            () -> rowlock.lock("text", with -> with.label("key", half)),
            () -> rowlock.lock("text", with -> with.requestId(half)),
            () -> rowlock.capture(with -> with.names(List.of("text", half))),
            () -> rowlock.updateRecord(RecordChanges.of("text").status(half)),
            () -> rowlock.updateRecord(RecordChanges.of("text").status("new").reason(half)),
            () -> rowlock.deleteRecord(RecordDeletion.of("text").reason(half)),
            () -> rowlock.getLock("\uDE00" + half),
            () -> rowlock.lock("text", with -> with.label(half, "value")),
            () -> rowlock.capture(with -> with.prefix(half)),
            () -> rowlock.setLimit(LimitChange.ofName("text").to(1).reason(half)),
            () -> rowlock.forceRelease("text", half),
            () -> rowlock.release(half),
            () -> rowlock.listClaims(ClaimFilter.ofLock("text").owner(half)).count(),
            () -> rowlock.watch(half).next());
    for (ThrowingCall call : calls) {
      RowlockException refused = assertThrows(RowlockException.class, call::run);
      assertEquals(Reason.BAD_REQUEST, refused.reason());
      assertEquals(Status.Code.INVALID_ARGUMENT, refused.code());
      assertEquals(1, refused.violations().size());
      assertTrue(refused.getMessage().contains("half\\ud83d\" has an unpaired surrogate"), refused.getMessage());
      assertTrue(refused.getMessage().contains("choose another text"), refused.getMessage());
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> ConnectOptions.to(server.address).label("key", half).build());
    rowlock.close();
    try (HeldLock lock = this.rowlock.lock("whole\uD83D\uDE00", with -> with.owner("\uD83D\uDE00"))) {
      assertEquals("\uD83D\uDE00", this.rowlock.getLock(lock.name()).holders().get(0).owner());
    }
  }

  /** A server that is told such a deadline by gRPC ends the call at once: its timers end at 24.8 days. */
  @Test
  void aDeadlineBeyond24DaysIsAsGoodAsNone() throws Exception {
    ConnectOptions patient = ConnectOptions.to(server.address).giveUpAfter(Duration.ofDays(60)).build();
    try (RowlockClient client = RowlockClient.connect(patient)) {
      HeldLock first = rowlock.lock("patience");
      CompletableFuture<HeldLock> second = client.lockAsync("patience", LockOptions.defaults());
      untilWaiting("patience", 1);
      first.close();
      second.get().close();
    }
  }

  private interface ThrowingCall {
    void run() throws Exception;
  }
}

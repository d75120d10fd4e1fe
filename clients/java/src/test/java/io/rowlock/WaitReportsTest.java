// What a program learns of its waits, and locks that the same thread has twice.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class WaitReportsTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private final RowlockClient rowlock = connect(Duration.ofMinutes(10));
  private final RowlockClient other = connect(Duration.ofMillis(200));
  private final BlockingQueue<WaitNotice> notices = new LinkedBlockingQueue<>();

  private static RowlockClient connect(Duration explainAfter) {
    return RowlockClient.connect(
        ConnectOptions.to(server.address).owner("anna").explainAfter(explainAfter).build());
  }

  @AfterEach
  void close() {
    rowlock.close();
    other.close();
  }

  private CompletableFuture<HeldLock> ask(RowlockClient client, String name) {
    return client.lockAsync(name, LockOptions.builder().onWaiting(notices::add).build());
  }

  private WaitNotice notice() throws InterruptedException {
    WaitNotice notice = notices.poll(60, TimeUnit.SECONDS);
    if (notice == null) throw new AssertionError("no notice has come");
    return notice;
  }

  @Test
  void aWaitSaysAfterAWhileWhoHoldsTheLock() throws Exception {
    HeldLock held = rowlock.lock("seen");
    CompletableFuture<HeldLock> first = ask(other, "seen");
    WaitNotice notice = notice();
    assertEquals("seen", notice.name());
    assertEquals(0, notice.place().ahead());
    assertEquals(1, notice.place().queueLength());
    assertTrue(notice.waited().compareTo(Duration.ofMillis(200)) >= 0);
    assertTrue(notice.summary().contains("anna"), notice.summary());
    WaitCause.Held cause = assertInstanceOf(WaitCause.Held.class, notice.causes().get(0));
    assertEquals("anna", cause.holders().get(0).owner());
    assertFalse(notice.heldByYou());
    CompletableFuture<HeldLock> second = ask(other, "seen");
    assertEquals(1, notice().place().ahead());
    held.close();
    first.get().close();
    second.get().close();
  }

  @Test
  void aWaitAtAPoolSaysSo() throws Exception {
    rowlock.setLimit(LimitChange.ofPool("tree/*").to(1));
    HeldLock held = rowlock.lock("tree/a");
    CompletableFuture<HeldLock> waits = ask(other, "tree/b");
    WaitNotice notice = notice();
    assertEquals(Optional.of("tree/*"), notice.place().pool());
    assertEquals(0, notice.place().ahead());
    assertEquals(1, notice.place().queueLength());
    WaitCause.PoolInTheWay cause =
        assertInstanceOf(WaitCause.PoolInTheWay.class, notice.causes().get(0));
    assertTrue(cause.waitsHere());
    assertEquals("tree/*", cause.pool().pattern());
    assertEquals(1, cause.pool().use().heldPermits());
    held.close();
    waits.get().close();
  }

  @Test
  void aWaitThatIsShortSaysNothing() throws Exception {
    HeldLock held = rowlock.lock("short");
    CompletableFuture<HeldLock> waits = ask(rowlock, "short");
    // From this thread, the wait is for itself; from another one, it has ten minutes.
    assertTrue(notice().heldByYou());
    CompletableFuture<HeldLock> more =
        CompletableFuture.supplyAsync(() -> ask(rowlock, "short")).get();
    held.close();
    waits.get().close();
    more.get().close();
    assertEquals(0, notices.size());
  }

  @Test
  void aRefusalSaysThatYouHoldTheLockYourself() throws Exception {
    try (HeldLock held = rowlock.lock("own")) {
      RowlockException refused =
          assertThrows(RowlockException.class, () -> rowlock.lock("own", with -> with.noWait()));
      assertTrue(refused.refusal().orElseThrow().heldByYou());
      assertTrue(
          refused.getMessage().matches(".*; you hold \"own\" yourself, since \\d+ s; locks are not reentrant"),
          refused.getMessage());
      RowlockException others =
          assertThrows(RowlockException.class, () -> other.lock("own", with -> with.noWait()));
      assertFalse(others.refusal().orElseThrow().heldByYou());
    }
  }

  @Test
  void aThreadHasAReentrantLockAgain() throws Exception {
    LockOptions reentrant = LockOptions.builder().reentrant(true).noWait().build();
    HeldLock outer = rowlock.lock("twice", reentrant);
    HeldLock inner = rowlock.lock("twice", reentrant);
    assertEquals(outer.token(), inner.token());
    assertEquals(1, other.getLock("twice").holderCount());
    assertTrue(outer.release());
    assertTrue(outer.release());
    assertTrue(inner.isHeld());
    assertEquals(1, other.getLock("twice").holderCount());
    inner.close();
    assertFalse(inner.isHeld());
    assertEquals(0, other.getLock("twice").holderCount());
    assertNotEquals(outer.token(), rowlock.lock("twice", reentrant).token());
  }

  @Test
  void anotherThreadOrModeDoesNotHaveIt() throws Exception {
    LockOptions reentrant = LockOptions.builder().reentrant(true).noWait().build();
    try (HeldLock held = rowlock.lock("mine", reentrant)) {
      CompletableFuture<Boolean> elsewhere =
          CompletableFuture.supplyAsync(() -> rowlock.tryLockAsync("mine", reentrant).join().isPresent());
      assertFalse(elsewhere.get());
      assertTrue(rowlock.tryLock("mine", with -> with.reentrant(true).mode(Mode.SHARED)).isEmpty());
      assertTrue(rowlock.tryLock("mine").isEmpty());
    }
  }

  @Test
  void closingTheClientReleasesAReentrantLockForGood() throws Exception {
    RowlockClient client = connect(Duration.ofMinutes(10));
    LockOptions reentrant = LockOptions.builder().reentrant(true).build();
    client.lock("all", reentrant);
    client.lock("all", reentrant);
    client.close();
    assertEquals(0, other.getLock("all").holderCount());
  }
}

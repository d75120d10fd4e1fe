package io.rowlock.locks;

import static io.rowlock.frameworks.Until.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rowlock.Mode;
import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(60)
class RowlockLockTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  private RowlockClient client;
  private ExecutorService others;

  @BeforeEach
  void connect() {
    client = RowlockClient.connect(server.address());
    others = Executors.newCachedThreadPool();
  }

  @AfterEach
  void close() {
    others.shutdownNow();
    client.close();
  }

  private int holdersOf(String name) {
    return client.getLock(name).holderCount();
  }

  private boolean isWaitedFor(String name) {
    return client.getLock(name).waiterCount() == 1;
  }

  /** On another thread, because this one will be interrupted. */
  private void loseSoon(String name) {
    others.submit(() -> server.lose(name));
  }

  @Test
  void isHeldBetweenLockAndUnlock() {
    RowlockLock lock = RowlockLock.of(client, "held");
    lock.lock();
    assertEquals(1, holdersOf("held"));
    assertTrue(lock.held().token() > 0);
    lock.unlock();
    assertEquals(0, holdersOf("held"));
    assertThrows(IllegalMonitorStateException.class, lock::held);
  }

  @Test
  void isHeldByOneThreadAtATime() throws Exception {
    RowlockLock lock = RowlockLock.of(client, "one at a time");
    int[] unguarded = {0};
    Future<?>[] threads = new Future<?>[4];
    for (int i = 0; i < threads.length; i++)
      threads[i] =
          others.submit(
              () -> {
                for (int turn = 0; turn < 25; turn++) {
                  lock.lock();
                  try {
                    int before = unguarded[0];
                    Thread.yield();
                    unguarded[0] = before + 1;
                  } finally {
                    lock.unlock();
                  }
                }
              });
    for (Future<?> thread : threads) thread.get();
    assertEquals(100, unguarded[0]);
  }

  @Test
  void canBeTakenAgainByTheThreadThatHoldsIt() throws InterruptedException {
    RowlockLock lock = RowlockLock.of(client, "again");
    lock.lock();
    lock.lockInterruptibly();
    assertTrue(lock.tryLock());
    assertTrue(lock.tryLock(1, TimeUnit.HOURS));
    assertEquals(1, holdersOf("again"));
    for (int i = 0; i < 3; i++) lock.unlock();
    assertEquals(1, holdersOf("again"));
    lock.unlock();
    assertEquals(0, holdersOf("again"));
  }

  @Test
  void canBeTakenAgainThroughAnotherObject() {
    RowlockLock outer = RowlockLock.of(client, "twice");
    RowlockLock inner = RowlockLock.of(client, "twice");
    outer.lock();
    inner.lock();
    assertEquals(outer.held().token(), inner.held().token());
    inner.unlock();
    assertEquals(1, holdersOf("twice"));
    outer.unlock();
    assertEquals(0, holdersOf("twice"));
  }

  @Test
  void isUnlockedOnlyByTheThreadThatHoldsIt() {
    RowlockLock lock = RowlockLock.of(client, "not mine");
    lock.lock();
    ExecutionException failed =
        assertThrows(ExecutionException.class, () -> others.submit(lock::unlock).get());
    assertTrue(failed.getCause() instanceof IllegalMonitorStateException);
    lock.unlock();
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
  }

  @Test
  void tryLockReturnsFalseWhileAnotherThreadHoldsIt() throws Exception {
    RowlockLock lock = RowlockLock.of(client, "tried");
    lock.lock();
    assertFalse(others.submit(() -> lock.tryLock()).get());
    assertFalse(others.submit(() -> lock.tryLock(20, TimeUnit.MILLISECONDS)).get());
    assertFalse(others.submit(() -> lock.tryLock(-1, TimeUnit.SECONDS)).get());
    Future<Boolean> patient = others.submit(() -> lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS));
    until("it waits", () -> isWaitedFor("tried"));
    lock.unlock();
    assertTrue(patient.get());
  }

  @Test
  void lockInterruptiblyGivesUpItsPlaceWhenItIsInterrupted() throws Exception {
    RowlockLock lock = RowlockLock.of(client, "interrupted");
    lock.lock();
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread waiter =
        new Thread(
            () -> {
              try {
                lock.lockInterruptibly();
                interrupted.complete(false);
              } catch (InterruptedException expected) {
                interrupted.complete(true);
              }
            });
    waiter.start();
    until("it waits", () -> isWaitedFor("interrupted"));
    waiter.interrupt();
    assertTrue(interrupted.get());
    until("its place is free", () -> !isWaitedFor("interrupted"));
    lock.unlock();
  }

  @Test
  void lockWaitsOnWhenItIsInterruptedAndLeavesTheThreadInterrupted() throws Exception {
    RowlockLock lock = RowlockLock.of(client, "stubborn");
    lock.lock();
    CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
    Thread waiter =
        new Thread(
            () -> {
              lock.lock();
              isInterrupted.complete(Thread.interrupted());
              lock.unlock();
            });
    waiter.start();
    until("it waits", () -> isWaitedFor("stubborn"));
    waiter.interrupt();
    assertTrue(isWaitedFor("stubborn"));
    lock.unlock();
    assertTrue(isInterrupted.get());
    waiter.join();
  }

  @Test
  void aLossInterruptsTheThreadAndUnlockThrows() {
    RowlockLock lock = RowlockLock.of(client, "lost");
    lock.lock();
    lock.lock();
    loseSoon("lost");
    assertThrows(InterruptedException.class, () -> new CountDownLatch(1).await());
    lock.unlock();
    assertEquals(Reason.LEASE_LOST, assertThrows(RowlockException.class, lock::unlock).reason());
    assertThrows(IllegalMonitorStateException.class, lock::held);
    assertTrue(lock.tryLock());
    lock.unlock();
  }

  @Test
  void aLostLockCannotBeTakenAgain() {
    RowlockLock lock = RowlockLock.of(client, "lost before the second time");
    lock.lock();
    loseSoon("lost before the second time");
    while (!Thread.interrupted()) Thread.onSpinWait();
    assertEquals(Reason.LEASE_LOST, assertThrows(RowlockException.class, lock::lock).reason());
    lock.unlock();
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
  }

  @Test
  void theInterruptOfALossEndsWithUnlock() {
    RowlockLock lock = RowlockLock.of(client, "lost unnoticed");
    lock.lock();
    loseSoon("lost unnoticed");
    while (!Thread.currentThread().isInterrupted()) Thread.onSpinWait();
    assertThrows(RowlockException.class, lock::unlock);
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  void aRefusalThatWillNotChangeIsAnError() {
    RowlockLock greedy = RowlockLock.of(client, "greedy", with -> with.permits(2));
    RowlockException error = assertThrows(RowlockException.class, greedy::lock);
    assertEquals(Reason.NEVER_FITS, error.reason());
    assertThrows(RowlockException.class, greedy::tryLock);
    assertThrows(RowlockException.class, () -> greedy.tryLock(1, TimeUnit.SECONDS));
  }

  @Test
  void hasNoConditions() {
    assertThrows(
        UnsupportedOperationException.class, () -> RowlockLock.of(client, "no conditions").newCondition());
  }

  @Test
  void readersHoldItBesideEachOtherAndAWriterAlone() throws Exception {
    RowlockReadWriteLock book = RowlockReadWriteLock.of(client, "book");
    book.readLock().lock();
    others
        .submit(
            () -> {
              assertTrue(book.readLock().tryLock());
              assertFalse(book.writeLock().tryLock());
              book.readLock().unlock();
            })
        .get();
    book.readLock().unlock();
    book.writeLock().lock();
    assertEquals(Mode.EXCLUSIVE, book.writeLock().held().mode());
    assertFalse(others.submit(() -> book.readLock().tryLock()).get());
    book.writeLock().unlock();
  }
}

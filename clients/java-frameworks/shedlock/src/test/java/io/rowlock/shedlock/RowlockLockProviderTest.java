// What ShedLock expects of each provider, by ShedLock's own classes where it has them: its test support is not published.

package io.rowlock.shedlock;

import static io.rowlock.frameworks.Until.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockingTaskExecutor.Task;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class RowlockLockProviderTest {
  private static final Duration LONG = Duration.ofMinutes(5);
  private static final Duration SHORT = Duration.ofSeconds(1);

  @RegisterExtension static final RowlockExtension server = Repository.server();

  private RowlockClient client;
  private RowlockLockProvider provider;

  @BeforeEach
  void connect() {
    client = RowlockClient.connect(server.address());
    provider = new RowlockLockProvider(client);
  }

  @AfterEach
  void close() {
    client.close();
  }

  private static LockConfiguration of(String name, Duration atMost, Duration atLeast) {
    return new LockConfiguration(Instant.now(), name, atMost, atLeast);
  }

  private static LockConfiguration of(String name) {
    return of(name, LONG, Duration.ZERO);
  }

  private boolean isLocked(String name) {
    return client.getLock(name).holderCount() == 1;
  }

  private boolean isDue(String name) {
    return client.getLock(name).record().flatMap(record -> record.notBefore()).isEmpty();
  }

  @Test
  void isHeldUntilItIsUnlocked() {
    SimpleLock lock = provider.lock(of("job")).orElseThrow();
    assertTrue(isLocked("job"));
    assertEquals(Optional.empty(), provider.lock(of("job")));
    lock.unlock();
    assertFalse(isLocked("job"));
    provider.lock(of("job")).orElseThrow().unlock();
  }

  @Test
  void locksOfDifferentNamesAreIndependent() {
    SimpleLock one = provider.lock(of("one")).orElseThrow();
    SimpleLock two = provider.lock(of("two")).orElseThrow();
    one.unlock();
    assertTrue(isLocked("two"));
    two.unlock();
  }

  @Test
  void namesHaveThePrefixOfTheProvider() {
    SimpleLock lock = new RowlockLockProvider(client, "shedlock/").lock(of("job")).orElseThrow();
    assertTrue(isLocked("shedlock/job"));
    lock.unlock();
  }

  @Test
  void isFreeWhenLockAtMostForIsOverAlthoughItsProcessLives() throws Exception {
    SimpleLock hangs = provider.lock(of("hangs", SHORT, Duration.ZERO)).orElseThrow();
    assertTrue(isLocked("hangs"));
    until("its end", () -> !isLocked("hangs"));
    SimpleLock next = provider.lock(of("hangs")).orElseThrow();
    hangs.unlock();
    assertTrue(isLocked("hangs"));
    next.unlock();
  }

  @Test
  void isHeldForOneSecondIfLockAtMostForIsShorter() throws Exception {
    provider.lock(of("very short", Duration.ofMillis(50), Duration.ZERO)).orElseThrow();
    until("its end", () -> !isLocked("very short"));
  }

  @Test
  void staysLockedForLockAtLeastFor() throws Exception {
    provider.lock(of("quick", LONG, Duration.ofSeconds(2))).orElseThrow().unlock();
    assertEquals(Optional.empty(), provider.lock(of("quick")));
    until("the grant", () -> provider.lock(of("quick")).isPresent());
  }

  @Test
  void isFreeAtOnceIfTheTaskTookLongerThanLockAtLeastFor() throws InterruptedException {
    SimpleLock lock = provider.lock(of("slow", LONG, Duration.ofMillis(20))).orElseThrow();
    Thread.sleep(21);
    lock.unlock();
    provider.lock(of("slow")).orElseThrow().unlock();
  }

  @Test
  void anExtendedLockIsHeldBeyondItsFirstEnd() throws Exception {
    SimpleLock lock = provider.lock(of("extended", SHORT, Duration.ZERO)).orElseThrow();
    SimpleLock witness = provider.lock(of("beside it", SHORT, Duration.ZERO)).orElseThrow();
    SimpleLock extended = lock.extend(LONG, Duration.ZERO).orElseThrow();
    until("the end of a lock that was not extended", () -> !isLocked("beside it"));
    assertTrue(isLocked("extended"));
    assertThrows(IllegalStateException.class, lock::unlock);
    assertThrows(IllegalStateException.class, () -> lock.extend(LONG, Duration.ZERO));
    extended.unlock();
    assertFalse(isLocked("extended"));
    witness.unlock();
  }

  @Test
  void lockAtLeastForOfAnExtensionCounts() {
    SimpleLock lock = provider.lock(of("extended at least", LONG, Duration.ZERO)).orElseThrow();
    lock.extend(LONG, Duration.ofMinutes(1)).orElseThrow().unlock();
    assertFalse(isDue("extended at least"));
    assertEquals(Optional.empty(), provider.lock(of("extended at least")));
  }

  @Test
  void cannotBeExtendedAfterItsEnd() throws Exception {
    SimpleLock lock = provider.lock(of("too late", SHORT, Duration.ZERO)).orElseThrow();
    until("its end", () -> !isLocked("too late"));
    assertEquals(Optional.empty(), lock.extend(LONG, Duration.ZERO));
    assertFalse(isLocked("too late"));
  }

  @Test
  void cannotBeExtendedOrUnlockedAfterItsUnlock() {
    SimpleLock lock = provider.lock(of("over")).orElseThrow();
    lock.unlock();
    assertThrows(IllegalStateException.class, () -> lock.extend(LONG, Duration.ZERO));
    assertThrows(IllegalStateException.class, lock::unlock);
  }

  @Test
  void anInterruptIsALockExceptionAndTheThreadStaysInterrupted() {
    Thread.currentThread().interrupt();
    assertThrows(LockException.class, () -> provider.lock(of("interrupted")));
    assertTrue(Thread.interrupted());
  }

  @Test
  void whatTheServerRefusesIsAnError() {
    RowlockException error =
        assertThrows(
            RowlockException.class,
            () -> provider.lock(of("for ever", Duration.ofDays(25), Duration.ZERO)));
    assertEquals(Reason.BAD_REQUEST, error.reason());
  }

  @Test
  void oneTaskRunsAtATime() throws Exception {
    var executor = new DefaultLockingTaskExecutor(provider);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger runs = new AtomicInteger();
    Task task =
        () -> {
          assertEquals(1, running.incrementAndGet());
          Thread.yield();
          running.decrementAndGet();
          runs.incrementAndGet();
        };
    var threads = Executors.newFixedThreadPool(4);
    Future<?>[] all = new Future<?>[4];
    for (int i = 0; i < all.length; i++)
      all[i] =
          threads.submit(
              () -> {
                for (int own = 0; own < 25; )
                  if (wasExecuted(executor, task)) own++;
                return null;
              });
    for (Future<?> one : all) one.get();
    threads.shutdown();
    assertEquals(100, runs.get());
  }

  private static boolean wasExecuted(DefaultLockingTaskExecutor executor, Task task) {
    try {
      return executor
          .executeWithLock(
              () -> {
                task.call();
                return true;
              },
              of("one at a time"))
          .wasExecuted();
    } catch (Throwable failed) {
      throw new AssertionError(failed);
    }
  }

  @Test
  void aTaskExtendsItsLockByShedLocksExtender() throws Throwable {
    new DefaultLockingTaskExecutor(provider)
        .executeWithLock(
            (Task) () -> LockExtender.extendActiveLock(LONG, Duration.ofMinutes(1)),
            of("from within", SHORT, Duration.ZERO));
    assertFalse(isLocked("from within"));
    assertFalse(isDue("from within"));
  }
}

package io.rowlock.locks;

import io.rowlock.HeldLock;
import io.rowlock.LockOptions;
import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;

/**
 * A lock of a server as a {@link Lock}, for code that takes one. For any thread, and a thread may take it again while it
 * holds it.
 *
 * <pre>{@code
 * Lock lock = RowlockLock.of(rowlock, "etl/load");
 * lock.lock();
 * try {
 *   load();
 * } finally {
 *   lock.unlock();
 * }
 * }</pre>
 *
 * <p>Unlike a lock in memory, this one can be lost while it is held. Then the thread that holds it is interrupted, as by
 * {@link RowlockClient#withLock}, and {@link #unlock()} throws a {@link RowlockException} with {@link
 * Reason#LEASE_LOST}. All methods that take the lock throw a {@link RowlockException} if it is refused for another
 * reason than that it is not free, or if no server answers.
 */
public final class RowlockLock implements Lock {
  /** Refusals after which the same request may be granted later. */
  private static final Set<Reason> NOT_NOW =
      Set.of(
          Reason.BUSY,
          Reason.PAUSED,
          Reason.NOT_BEFORE,
          Reason.RATE,
          Reason.QUEUE_FULL,
          Reason.TIMED_OUT);

  /** The longest wait that a server takes; a longer one is a wait without end. */
  private static final Duration WAIT_MAX = Duration.ofDays(24);

  private static final Duration WAIT_MIN = Duration.ofMillis(1);

  private final RowlockClient client;
  private final String name;
  private final Consumer<LockOptions.Builder> choice;
  private final ThreadLocal<Hold> holds = new ThreadLocal<>();

  private RowlockLock(
      RowlockClient client, String name, Consumer<LockOptions.Builder> choice) {
    this.client = client;
    this.name = name;
    this.choice = choice;
  }

  /**
   * Makes a view of a lock. It sends nothing.
   *
   * @param client which holds the lock
   * @param name the lock
   * @return a view
   */
  public static RowlockLock of(RowlockClient client, String name) {
    return of(client, name, with -> {});
  }

  /**
   * The same with options: {@code RowlockLock.of(rowlock, "etl/load", with -> with.ttl(ofSeconds(10)))}.
   *
   * @param client which holds the lock
   * @param name the lock
   * @param choice chooses the options; those for waiting are ignored, and a request id is not possible
   * @return a view
   * @throws IllegalArgumentException for options that cannot work
   */
  public static RowlockLock of(
      RowlockClient client, String name, Consumer<LockOptions.Builder> choice) {
    RowlockLock lock = new RowlockLock(client, name, choice);
    lock.options(with -> {});
    return lock;
  }

  /** Waits for the lock for as long as it takes. An interrupt does not end the wait; the thread is interrupted after it. */
  @Override
  public void lock() {
    if (isTakenAgain()) return;
    taken(uninterrupted(client.lockAsync(name, options(with -> {}))));
  }

  /**
   * Waits for the lock for as long as it takes. If the thread is interrupted, its place in the queue is free at once.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  @Override
  public void lockInterruptibly() throws InterruptedException {
    if (Thread.interrupted()) throw new InterruptedException();
    if (isTakenAgain()) return;
    taken(client.lock(name, options(with -> {})));
  }

  /**
   * Takes the lock if it is free and due now. This is a call to the server, so it takes as long as that.
   *
   * @return whether it was taken
   */
  @Override
  public boolean tryLock() {
    if (isTakenAgain()) return true;
    Optional<HeldLock> lock = uninterrupted(client.tryLockAsync(name, options(with -> {})));
    lock.ifPresent(this::taken);
    return lock.isPresent();
  }

  /**
   * Waits for the lock, but not longer than this.
   *
   * @param time how long; zero or less: not at all
   * @param unit of the time
   * @return whether it was taken
   * @throws InterruptedException if the thread is interrupted
   */
  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    if (Thread.interrupted()) throw new InterruptedException();
    if (isTakenAgain()) return true;
    try {
      taken(client.lock(name, options(with -> waitOf(with, Duration.ofNanos(unit.toNanos(time))))));
      return true;
    } catch (RowlockException error) {
      if (error.refusal().isPresent() && NOT_NOW.contains(error.reason())) return false;
      throw error;
    }
  }

  private static void waitOf(LockOptions.Builder with, Duration wait) {
    if (wait.isZero() || wait.isNegative()) with.noWait();
    else if (wait.compareTo(WAIT_MAX) <= 0)
      with.waitAtMost(wait.compareTo(WAIT_MIN) < 0 ? WAIT_MIN : wait);
  }

  /**
   * Gives the lock back, if the thread has called this as often as it has taken the lock. The lock is free after this
   * call even if it throws.
   *
   * @throws IllegalMonitorStateException if the thread does not hold the lock
   * @throws RowlockException with {@link Reason#LEASE_LOST} if the lock was lost before, because others may have held it
   * at the same time; see {@link HeldLock#close()}
   */
  @Override
  public void unlock() {
    Hold hold = ofThisThread();
    if (--hold.count > 0) return;
    holds.remove();
    hold.end();
  }

  /**
   * Does not exist: a server cannot wake a thread for a condition.
   *
   * @throws UnsupportedOperationException always
   */
  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a lock of a server has no conditions");
  }

  /**
   * Returns what this thread holds, for its fencing token, its state, and listeners of its loss.
   *
   * @return the lock, which {@link #unlock()} gives back
   * @throws IllegalMonitorStateException if the thread does not hold the lock
   */
  public HeldLock held() {
    return ofThisThread().lock;
  }

  private Hold ofThisThread() {
    Hold hold = holds.get();
    if (hold == null)
      throw new IllegalMonitorStateException("this thread does not hold the lock \"" + name + "\"");
    return hold;
  }

  private boolean isTakenAgain() {
    Hold hold = holds.get();
    if (hold == null) return false;
    // A lock that is lost protects nothing, so taking it again must not seem to work.
    hold.lock.requireHeld();
    hold.count++;
    return true;
  }

  private void taken(HeldLock lock) {
    holds.set(new Hold(lock));
  }

  private LockOptions options(Consumer<LockOptions.Builder> wait) {
    // Another view of the same lock may have been made for the same thread.
    LockOptions.Builder with = LockOptions.builder().reentrant(true);
    choice.accept(with);
    wait.accept(with);
    return with.build();
  }

  /** Waits without an end by an interrupt, as {@link Lock#lock()} must. */
  private static <T> T uninterrupted(CompletableFuture<T> future) {
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return future.get();
        } catch (InterruptedException interrupted) {
          isInterrupted = true;
        } catch (ExecutionException failed) {
          if (failed.getCause() instanceof RowlockException error) throw error;
          throw new IllegalStateException(failed.getCause());
        }
      }
    } finally {
      if (isInterrupted) Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return "RowlockLock[" + name + "]";
  }
}

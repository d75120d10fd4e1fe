package io.rowlock;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A loop that captures locks and runs a handler for each: see {@link RowlockClient#work(String, WorkOptions,
 * LockedAction)}. Its threads are daemons.
 */
public final class Worker implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("rowlock");

  private final RowlockClient client;
  private final String prefix;
  private final WorkOptions options;
  private final LockedAction<?> handler;

  /** One permit for each handler that may begin. */
  private final Semaphore free;

  private final AtomicInteger threads = new AtomicInteger();
  private final ExecutorService pool = Executors.newCachedThreadPool(this::thread);
  private final Thread loop;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private volatile boolean isStopping;

  Worker(RowlockClient client, String prefix, WorkOptions options, LockedAction<?> handler) {
    this.client = client;
    this.prefix = prefix;
    this.options = options;
    this.handler = handler;
    free = new Semaphore(options.concurrency);
    loop = thread(this::run);
    loop.start();
  }

  private Thread thread(Runnable task) {
    Thread made = new Thread(task, "rowlock-work-" + threads.incrementAndGet());
    made.setDaemon(true);
    return made;
  }

  /** Begins no more handlers. Those that run go on. Does not wait. */
  public void stop() {
    isStopping = true;
    loop.interrupt();
  }

  /** Begins no more handlers, and waits until those that run have ended. It can be called twice. */
  @Override
  public void close() {
    stop();
    try {
      Futures.awaitCalmly(ended);
    } catch (RowlockException failed) {
      // It was logged, and await() throws it.
    }
  }

  /**
   * Waits until the loop and all its handlers have ended, because the worker was stopped, its client was closed, or
   * nothing can be captured.
   *
   * @throws RowlockException if the captures are refused, for example because the policy of the server does not allow
   * them
   * @throws InterruptedException if the thread is interrupted; the worker goes on
   */
  public void await() throws InterruptedException {
    Futures.await(ended);
  }

  private void run() {
    RowlockException failure = null;
    try {
      takeTurns();
    } catch (InterruptedException stopped) {
      // As stop() does.
    } catch (RowlockException error) {
      if (error.reason() != Reason.CLOSED) {
        failure = error;
        LOG.error("The worker of \"{}\" has ended: {}", prefix, error.getMessage());
      }
    }
    free.acquireUninterruptibly(options.concurrency);
    pool.shutdown();
    if (failure == null) ended.complete(null);
    else ended.completeExceptionally(failure);
  }

  private void takeTurns() throws InterruptedException {
    int failures = 0;
    while (!isStopping) {
      free.acquire();
      int count = 1 + free.drainPermits();
      int begun = 0;
      try {
        for (HeldLock lock : client.capture(options.capture(prefix, count)).locks()) {
          begun++;
          pool.execute(() -> handle(lock));
        }
        failures = 0;
      } catch (RowlockException error) {
        if (!error.mayHeal()) throw error;
        failures++;
        if (failures == 1) LOG.warn("The worker of \"{}\" tries again: {}", prefix, error.getMessage());
        TimeUnit.NANOSECONDS.sleep(Backoff.nanos(failures, 0));
      } finally {
        free.release(count - begun);
      }
    }
  }

  private void handle(HeldLock lock) {
    ReleaseOptions release = options.whenDone;
    try {
      UnderLock.call(
          lock,
          its -> {
            handler.run(its);
            return null;
          });
    } catch (Throwable failed) {
      release = options.whenFailed;
      LOG.warn("The work on \"{}\" has failed", lock.name(), failed);
    }
    try {
      lock.release(release);
    } catch (RowlockException failed) {
      LOG.warn("The release of \"{}\" has failed: {}", lock.name(), failed.getMessage());
    } finally {
      free.release();
    }
  }
}

package io.rowlock;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
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

  /** Of so many locks whose release the server has refused, the worker knows how often that was. */
  private static final int REFUSED_LOCKS_MAX = 1_000;

  private final RowlockClient client;
  private final String prefix;
  private final WorkOptions options;
  private final LockedAction<?> handler;

  /** One permit for each handler that may begin. */
  private final Semaphore free;

  /** How often in a row the server has refused what the release of a lock said. */
  private final Map<String, Integer> refusals = new ConcurrentHashMap<>();

  private final AtomicInteger threads = new AtomicInteger();
  private final ExecutorService pool = Executors.newCachedThreadPool(this::thread);
  private final Thread loop;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private volatile boolean isStopping;

  Worker(RowlockClient client, String prefix, WorkOptions options, LockedAction<?> handler) {
    this.client = client;
    this.prefix = Objects.requireNonNull(prefix, "the prefix of a worker is null");
    this.options = options;
    this.handler = Objects.requireNonNull(handler, "the handler of a worker is null");
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
    } catch (RuntimeException | Error failed) {
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
    Throwable failure = null;
    try {
      takeTurns();
    } catch (InterruptedException stopped) {
      // As stop() does.
    } catch (RowlockException error) {
      if (error.reason() != Reason.CLOSED) {
        failure = error;
        LOG.error("The worker of \"{}\" has ended: {}", prefix, error.getMessage());
      }
    } catch (RuntimeException | Error bug) {
      // await() must return whatever ends the loop.
      failure = bug;
      LOG.error("The worker of \"{}\" has ended", prefix, bug);
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
          pool.execute(() -> handle(lock));
          begun++;
        }
        failures = 0;
      } catch (RowlockException error) {
        if (!error.mayHeal()) throw error;
        failures++;
        if (failures == 1) LOG.warn("The worker of \"{}\" tries again: {}", prefix, error.getMessage());
        long atLeast = error.retryAfter().map(Times::ofDuration).orElse(0L);
        TimeUnit.NANOSECONDS.sleep(Backoff.nanos(failures, atLeast));
      } finally {
        free.release(count - begun);
      }
    }
  }

  private void handle(HeldLock lock) {
    ReleaseOptions release = options.whenDone;
    // Without its new status, the lock could be taken again at once.
    if (options.rests) lock.restIfRefused(rest(lock.name()));
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
      refusals.remove(lock.name());
    } catch (RowlockException failed) {
      String rests = failed.saysGivenBack() && options.rests ? refused(lock.name()) : "";
      LOG.warn("The release of \"{}\" has failed: {}{}", lock.name(), failed.getMessage(), rests);
    } finally {
      free.release();
    }
  }

  /** Counts a release that the server has refused, and says for how long the lock rests. */
  private String refused(String name) {
    String rests = " It rests for " + rest(name).toSeconds() + " s.";
    if (refusals.size() >= REFUSED_LOCKS_MAX) refusals.clear();
    refusals.merge(name, 1, Integer::sum);
    return rests;
  }

  /** How long the lock rests if the server refuses its release now: twice as long each time. */
  private Duration rest(String name) {
    Duration rest = WorkOptions.REST;
    for (int count = refusals.getOrDefault(name, 0); count > 0 && rest.compareTo(WorkOptions.REST_MAX) < 0; count--)
      rest = rest.multipliedBy(2);
    return rest.compareTo(WorkOptions.REST_MAX) < 0 ? rest : WorkOptions.REST_MAX;
  }
}

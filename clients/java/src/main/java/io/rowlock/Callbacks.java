// Runs the listeners of users, on daemon threads of the client. While there is nothing to run, there are no such
// threads.

package io.rowlock;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

final class Callbacks {
  private static final Logger LOG = LoggerFactory.getLogger("rowlock");

  private final AtomicInteger threads = new AtomicInteger();
  private final ExecutorService pool =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "rowlock-listener-" + threads.incrementAndGet());
            thread.setDaemon(true);
            return thread;
          });

  /** Runs tasks one after the other, independently of other executors. */
  Executor inTurn() {
    return new InTurn();
  }

  /** Runs a task independently of all others. After the client is closed, it runs on the calling thread. */
  void run(Runnable task) {
    try {
      pool.execute(() -> safely(task));
    } catch (RejectedExecutionException closed) {
      safely(task);
    }
  }

  /** Tasks that were queued earlier still run. */
  void close() {
    pool.shutdown();
  }

  private static void safely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error thrown) {
      LOG.error("A listener has failed", thrown);
    }
  }

  private final class InTurn implements Executor {
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private boolean isRunning;

    @Override
    public void execute(Runnable task) {
      synchronized (tasks) {
        tasks.add(task);
        if (isRunning) return;
        isRunning = true;
      }
      Callbacks.this.run(this::drain);
    }

    private void drain() {
      for (; ; ) {
        Runnable task;
        synchronized (tasks) {
          task = tasks.poll();
          isRunning = task != null;
        }
        if (task == null) return;
        safely(task);
      }
    }
  }
}

// Runs what users want to be told, on daemon threads of the client's own: none while there is nothing to tell.

package rowlock;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

final class Told {
  private static final System.Logger LOG = System.getLogger("rowlock");

  private final AtomicInteger threads = new AtomicInteger();
  private final ExecutorService pool =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "rowlock-listener-" + threads.incrementAndGet());
            thread.setDaemon(true);
            return thread;
          });

  /** Runs one thing after the other, whatever else is going on. */
  Executor inTurn() {
    return new InTurn();
  }

  /** Independent of all else. After the client was closed, on the thread that tells. */
  void run(Runnable task) {
    try {
      pool.execute(() -> safely(task));
    } catch (RejectedExecutionException closed) {
      safely(task);
    }
  }

  /** What was to be told until now still is. */
  void close() {
    pool.shutdown();
  }

  private static void safely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error thrown) {
      LOG.log(System.Logger.Level.ERROR, "A listener has failed", thrown);
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
      Told.this.run(this::drain);
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

// The one thread that reads and changes the state of a client's calls, leases and connections, and runs its timers. No
// user code runs here, so none can keep a lease from being renewed.

package io.rowlock;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

final class EventLoop {
  private static final Logger LOG = LoggerFactory.getLogger("rowlock");

  private final ScheduledThreadPoolExecutor executor =
      new ScheduledThreadPoolExecutor(
          1,
          task -> {
            Thread made = new Thread(task, "rowlock-client");
            made.setDaemon(true);
            thread = made;
            return made;
          });
  private volatile Thread thread;

  EventLoop() {
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** Runs a task after those that were queued earlier. Once the loop is closed, it runs nothing. */
  void run(Runnable task) {
    try {
      executor.execute(logged(task));
    } catch (RejectedExecutionException closed) {
      LOG.debug("A task was dropped because the client is closed", closed);
    }
  }

  /** Runs a task in this turn if called on the loop; otherwise like {@link #run}. */
  void soon(Runnable task) {
    if (Thread.currentThread() == thread) logged(task).run();
    else run(task);
  }

  Timer after(long nanos, Runnable task) {
    return new Timer(executor.schedule(logged(task), nanos, TimeUnit.NANOSECONDS));
  }

  /** Runs a task repeatedly. However long the process was frozen, it runs only once for that time. */
  Timer every(long nanos, Runnable task) {
    return new Timer(executor.scheduleWithFixedDelay(logged(task), nanos, nanos, TimeUnit.NANOSECONDS));
  }

  /** Null is no timer. */
  static void cancel(Timer timer) {
    if (timer != null) timer.cancel();
  }

  void close() {
    executor.shutdown();
  }

  boolean isClosed() {
    return executor.isShutdown();
  }

  /** Logs what a task throws: that is a bug, which nobody would notice otherwise. */
  private static Runnable logged(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error bug) {
        LOG.error("A bug in the Rowlock client", bug);
      }
    };
  }

  /** A task that is scheduled. */
  static final class Timer {
    private final Future<?> future;

    private Timer(Future<?> future) {
      this.future = future;
    }

    void cancel() {
      future.cancel(false);
    }
  }
}

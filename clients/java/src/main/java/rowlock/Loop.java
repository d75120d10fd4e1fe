// The one thread on which all that a client knows of its calls, leases and connections is read and changed; its timers, too.
// No code of the user's runs here, so nothing of theirs can keep a lease from being renewed.

package rowlock;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

final class Loop {
  private static final System.Logger LOG = System.getLogger("rowlock");

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

  Loop() {
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** After all that was to be run until now. Nothing happens once the loop is closed. */
  void run(Runnable task) {
    try {
      executor.execute(told(task));
    } catch (RejectedExecutionException closed) {
      LOG.log(System.Logger.Level.DEBUG, "Left out, as the client is closed", closed);
    }
  }

  /** In this very turn where it is asked for on the loop; otherwise like {@link #run}. */
  void soon(Runnable task) {
    if (Thread.currentThread() == thread) told(task).run();
    else run(task);
  }

  Timer after(long nanos, Runnable task) {
    return new Timer(executor.schedule(told(task), nanos, TimeUnit.NANOSECONDS));
  }

  /** However long the process was frozen, it runs once for that. */
  Timer every(long nanos, Runnable task) {
    return new Timer(executor.scheduleWithFixedDelay(told(task), nanos, nanos, TimeUnit.NANOSECONDS));
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

  /** What goes wrong here is a bug, and would otherwise be seen by nobody. */
  private static Runnable told(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error bug) {
        LOG.log(System.Logger.Level.ERROR, "A bug in the Rowlock client", bug);
      }
    };
  }

  /** Something that will be run. */
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

// Asks a server for a lock's state. The server answers from its database, so both are up.

package io.rowlock.spring;

import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

final class RowlockHealthIndicator extends AbstractHealthIndicator implements DisposableBean {
  /** Reading creates no lock, so this one never exists. */
  private static final String LOCK = "rowlock/health";

  /** The client keeps trying for longer, but who asks for the health does not wait that long. */
  private static final long WITHIN_SECONDS = 2;

  private final RowlockClient client;
  private final ThreadPoolExecutor thread;
  private Future<?> asked;

  RowlockHealthIndicator(RowlockClient client) {
    super("Rowlock does not answer");
    this.client = client;
    thread =
        new ThreadPoolExecutor(
            1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), RowlockHealthIndicator::daemon);
    thread.allowCoreThreadTimeOut(true);
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "rowlock-health");
    thread.setDaemon(true);
    return thread;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) throws InterruptedException {
    try {
      asked().get(WITHIN_SECONDS, TimeUnit.SECONDS);
      health.up();
    } catch (TimeoutException silent) {
      health.down().withDetail("error", "no server has answered within " + WITHIN_SECONDS + " s");
    } catch (ExecutionException failed) {
      boolean hasAnswered =
          failed.getCause() instanceof RowlockException error && error.reason() == Reason.RIGHT_MISSING;
      if (hasAnswered) health.up();
      else health.down(failed.getCause());
    }
  }

  /** One question at a time: while it is open, all who ask for the health wait for its answer. */
  private synchronized Future<?> asked() {
    if (asked == null || asked.isDone()) asked = thread.submit(() -> client.getLock(LOCK));
    return asked;
  }

  @Override
  public void destroy() {
    thread.shutdownNow();
  }
}

// An application that stops lets scheduled work end, and only then gives its lock back.

package io.rowlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.task.TaskSchedulingAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

@Timeout(60)
class StopTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  static class Job {
    final CountDownLatch begun = new CountDownLatch(1);
    final CountDownLatch stopping = new CountDownLatch(1);
    volatile String end = "it has not ended";

    @Scheduled(fixedDelay = 3_600_000)
    @WithLock("job")
    public void run() throws InterruptedException {
      begun.countDown();
      try {
        stopping.await();
        CurrentLock.get().requireHeld();
        end = "held to the end";
      } catch (InterruptedException interrupted) {
        end = "interrupted";
      }
    }
  }

  @Test
  void theWorkEndsBeforeItsLock() {
    Job job = new Job();
    new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                RowlockAutoConfiguration.class, TaskSchedulingAutoConfiguration.class))
        .withPropertyValues(
            "rowlock.addresses=" + server.address(),
            "spring.task.scheduling.shutdown.await-termination=true",
            "spring.task.scheduling.shutdown.await-termination-period=30s")
        .withUserConfiguration(Scheduling.class)
        .withBean(Job.class, () -> job)
        .withBean(
            "end",
            ApplicationListener.class,
            () -> (ApplicationListener<ContextClosedEvent>) event -> job.stopping.countDown())
        .run(context -> job.begun.await());
    assertThat(job.end).isEqualTo("held to the end");
    assertThat(server.client().getLock("job").holderCount()).isZero();
  }

  @EnableScheduling
  static class Scheduling {}
}

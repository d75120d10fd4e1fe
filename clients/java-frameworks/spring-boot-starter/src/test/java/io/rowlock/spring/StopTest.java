// An application that stops lets scheduled work end, and only then gives its lock back.

package io.rowlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.rowlock.frameworks.Machine;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
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

  @SpringBootConfiguration
  @EnableAutoConfiguration
  @EnableScheduling
  static class Program implements ApplicationListener<ContextClosedEvent> {
    private final CountDownLatch stopping = new CountDownLatch(1);

    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
      stopping.countDown();
    }

    @Scheduled(fixedDelay = 3_600_000)
    @WithLock("program")
    public void run() throws InterruptedException {
      System.out.println("begun");
      stopping.await();
      // All hooks of the JVM begin at once, and a hook that gives the lock back would need less than this.
      Thread.sleep(500);
      System.out.println("is held: " + CurrentLock.get().isHeld());
    }

    public static void main(String[] arguments) {
      SpringApplication.run(Program.class, arguments);
    }
  }

  @Test
  void aSignalLetsTheWorkEndBeforeItsLock() throws Exception {
    try (Machine machine =
        Machine.start(
            Program.class,
            "--rowlock.addresses=" + server.address(),
            "--spring.task.scheduling.shutdown.await-termination=true",
            "--spring.task.scheduling.shutdown.await-termination-period=30s")) {
      machine.readUntil("begun");
      machine.stop();
      assertThat(machine.readUntil("the end")).contains("is held: true");
    }
    assertThat(server.client().getLock("program").holderCount()).isZero();
  }
}

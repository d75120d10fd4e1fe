package io.rowlock.spring;

import static io.rowlock.frameworks.Until.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

@Timeout(60)
class LockMetersTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  static class Jobs {
    @WithLock("job/#{#id}")
    void run(int id, Runnable work) {
      work.run();
    }

    @WithLock(value = "refused", waitAtMost = "0s")
    void refused() {}

    @WithLock(value = "skipped", whenBusy = WhenBusy.SKIP)
    void skipped() {}
  }

  private static long timed(MeterRegistry meters, String name, String lock, String outcome) {
    return meters.get(name).tags("lock", lock, "outcome", outcome).timer().count();
  }

  private static int active(MeterRegistry meters, String name) {
    return meters.get(name).tag("lock", "job/#{#id}").longTaskTimer().activeTasks();
  }

  @EnableAutoConfiguration
  static class Application {}

  @Test
  void areThereInAnApplicationWithTheActuator() {
    new ApplicationContextRunner()
        .withUserConfiguration(Application.class)
        .withPropertyValues("rowlock.addresses=" + server.address())
        .run(context -> assertThat(context).hasSingleBean(LockMeters.class));
  }

  @Test
  void countWaitsAndHoldsByTheNamesOfTheAnnotations() {
    new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                RowlockAutoConfiguration.class, RowlockMetricsAutoConfiguration.class))
        .withPropertyValues("rowlock.addresses=" + server.address())
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .withBean(Jobs.class)
        .run(
            context -> {
              MeterRegistry meters = context.getBean(MeterRegistry.class);
              RowlockClient client = context.getBean(RowlockClient.class);
              Jobs jobs = context.getBean(Jobs.class);

              jobs.run(1, () -> assertThat(active(meters, "rowlock.lock.holding")).isOne());
              assertThat(active(meters, "rowlock.lock.holding")).isZero();
              assertThat(timed(meters, "rowlock.lock.wait", "job/#{#id}", "granted")).isOne();
              assertThat(timed(meters, "rowlock.lock.held", "job/#{#id}", "released")).isOne();

              try (HeldLock refused = client.lock("refused");
                  HeldLock skipped = client.lock("skipped");
                  HeldLock second = client.lock("job/2")) {
                assertThatThrownBy(jobs::refused).isInstanceOf(RowlockException.class);
                assertThat(timed(meters, "rowlock.lock.wait", "refused", "refused")).isOne();
                jobs.skipped();
                assertThat(timed(meters, "rowlock.lock.wait", "skipped", "skipped")).isOne();
                var thread = Executors.newSingleThreadExecutor();
                Future<?> waiting = thread.submit(() -> jobs.run(2, () -> {}));
                until("the gauge", () -> active(meters, "rowlock.lock.waiting") == 1);
                second.release();
                waiting.get();
                thread.shutdown();
              }
              assertThat(active(meters, "rowlock.lock.waiting")).isZero();

              Runnable loss =
                  () -> {
                    // On another thread, because this one will be interrupted.
                    CompletableFuture.runAsync(() -> server.lose("job/3"));
                    while (!Thread.interrupted()) Thread.onSpinWait();
                  };
              assertThatThrownBy(() -> jobs.run(3, loss)).isInstanceOf(RowlockException.class);
              assertThat(timed(meters, "rowlock.lock.held", "job/#{#id}", "lost")).isOne();
            });
  }
}

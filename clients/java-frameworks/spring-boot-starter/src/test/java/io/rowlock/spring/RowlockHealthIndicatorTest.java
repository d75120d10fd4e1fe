package io.rowlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

@Timeout(60)
class RowlockHealthIndicatorTest {
  private static ApplicationContextRunner runner(String address) {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                RowlockAutoConfiguration.class, RowlockHealthAutoConfiguration.class))
        .withPropertyValues("rowlock.addresses=" + address);
  }

  @Test
  void isUpWhileAServerAnswersAndDownWhenItIsGone() {
    try (RowlockServer server = Repository.start()) {
      runner(server.address())
          .run(
              context -> {
                HealthIndicator health = context.getBean(HealthIndicator.class);
                assertThat(health.health().getStatus()).isEqualTo(Status.UP);
                server.close();
                assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
                assertThat(health.health().getDetails()).containsKey("error");
              });
    }
  }

  @Test
  void canBeTurnedOff() {
    runner("127.0.0.1:1")
        .withPropertyValues("management.health.rowlock.enabled=false")
        .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
  }
}

package io.rowlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.rowlock.frameworks.TestServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

@Timeout(60)
class RowlockHealthIndicatorTest {
  @RegisterExtension final TestServer server = new TestServer();

  private static ApplicationContextRunner runner(String address) {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                RowlockAutoConfiguration.class, RowlockHealthAutoConfiguration.class))
        .withPropertyValues("rowlock.addresses=" + address);
  }

  @Test
  void isUpWhileAServerAnswersAndDownWhenItIsGone() throws Exception {
    server.beforeAll(null);
    try {
      runner(server.address)
          .run(
              context -> {
                HealthIndicator health = context.getBean(HealthIndicator.class);
                assertThat(health.health().getStatus()).isEqualTo(Status.UP);
                server.kill();
                assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
                assertThat(health.health().getDetails()).containsKey("error");
              });
    } finally {
      server.afterAll(null);
    }
  }

  @Test
  void canBeTurnedOff() {
    runner("127.0.0.1:1")
        .withPropertyValues("management.health.rowlock.enabled=false")
        .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
  }
}

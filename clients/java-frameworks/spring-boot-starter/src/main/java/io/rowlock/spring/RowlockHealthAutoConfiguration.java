package io.rowlock.spring;

import io.rowlock.RowlockClient;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health {@code rowlock}, if the application has spring-boot-health. */
@AutoConfiguration(after = RowlockAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
public class RowlockHealthAutoConfiguration {
  RowlockHealthAutoConfiguration() {}

  @Bean
  @ConditionalOnEnabledHealthIndicator("rowlock")
  RowlockHealthIndicator rowlockHealthIndicator(RowlockClient client) {
    return new RowlockHealthIndicator(client);
  }
}

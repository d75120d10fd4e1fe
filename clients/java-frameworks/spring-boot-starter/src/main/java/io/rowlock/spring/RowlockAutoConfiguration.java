package io.rowlock.spring;

import io.rowlock.ConnectOptions;
import io.rowlock.RowlockClient;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;

/** A client from the properties, unless the application has one, and {@link WithLock}. */
@AutoConfiguration
@EnableConfigurationProperties(RowlockProperties.class)
public class RowlockAutoConfiguration {
  /**
   * Outside of transactions and of all else that has Spring's usual, lowest precedence: the lock must be held until what
   * it protects has been committed.
   */
  private static final int BEFORE_TRANSACTIONS = Ordered.LOWEST_PRECEDENCE - 100;

  RowlockAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  RowlockClient rowlockClient(
      RowlockProperties properties, ObjectProvider<RowlockOptionsCustomizer> customizers) {
    ConnectOptions.Builder options = OptionsFromProperties.of(properties);
    customizers.orderedStream().forEach(customizer -> customizer.customize(options));
    return RowlockClient.connect(options.build());
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static DefaultPointcutAdvisor withLockAdvisor(
      ConfigurableBeanFactory beans,
      ObjectProvider<RowlockClient> client,
      ObjectProvider<LockObserver> observer) {
    LockedMethods methods = new LockedMethods(beans);
    var advisor =
        new DefaultPointcutAdvisor(
            methods,
            new WithLockInterceptor(
                methods, client::getObject, () -> observer.getIfAvailable(() -> LockObserver.NONE)));
    advisor.setOrder(BEFORE_TRANSACTIONS);
    return advisor;
  }

  /** Spring Boot makes proxies unless {@code spring.aop.auto} is off; then methods would run without their locks. */
  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static BeanFactoryPostProcessor withLockProxies() {
    return beans -> AopConfigUtils.registerAutoProxyCreatorIfNecessary((BeanDefinitionRegistry) beans);
  }
}

// Finds the methods with a @WithLock, and remembers what they demand.

package io.rowlock.spring;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;

final class LockedMethods extends StaticMethodMatcherPointcut {
  private final ConfigurableBeanFactory beans;
  private final Map<Method, LockedMethod> found = new ConcurrentHashMap<>();

  LockedMethods(ConfigurableBeanFactory beans) {
    this.beans = beans;
  }

  /** Spring asks this for each method of each new bean. Throws an exception for an annotation that cannot work. */
  @Override
  public boolean matches(Method method, Class<?> target) {
    return find(method, target).isPresent();
  }

  Optional<LockedMethod> find(Method method, Class<?> target) {
    Method own = AopUtils.getMostSpecificMethod(method, target);
    LockedMethod known = found.get(own);
    if (known != null) return Optional.of(known);
    WithLock asked = AnnotatedElementUtils.findMergedAnnotation(own, WithLock.class);
    if (asked == null) return Optional.empty();
    return Optional.of(found.computeIfAbsent(own, any -> new LockedMethod(own, asked, beans)));
  }
}

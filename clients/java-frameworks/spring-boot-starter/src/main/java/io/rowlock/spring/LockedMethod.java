// What a method with a @WithLock demands. Made when its bean is, so that what cannot work ends the start.

package io.rowlock.spring;

import io.rowlock.LockOptions;
import io.rowlock.Reason;
import io.rowlock.RowlockException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;

final class LockedMethod {
  /** Refusals after which a later call may be granted the lock. */
  private static final Set<Reason> NOT_NOW =
      Set.of(
          Reason.BUSY,
          Reason.PAUSED,
          Reason.NOT_BEFORE,
          Reason.RATE,
          Reason.QUEUE_FULL,
          Reason.TIMED_OUT);

  /** Spring's registry has the types of other libraries, if they are there. */
  private static final List<Class<?>> LATER =
      List.of(Future.class, CompletionStage.class, Flow.Publisher.class);

  final LockName name;
  final LockOptions options;
  private final Method method;
  private final WhenBusy whenBusy;

  /** Throws an exception that says all that is wrong. */
  LockedMethod(Method method, WithLock asked, ConfigurableBeanFactory beans) {
    List<String> faults = new ArrayList<>();
    this.method = method;
    whenBusy = asked.whenBusy();
    checkIsWithinProxy(faults);
    checkReturns(faults);
    Durations durations = new Durations(beans, faults);
    LockOptions.Builder with = LockOptions.builder().mode(asked.mode()).reentrant(asked.reentrant());
    if (asked.permits() != 1) with.permits(asked.permits());
    if (asked.permits() < 1) faults.add("permits: " + asked.permits() + " must be at least 1");
    if (whenBusy == WhenBusy.SKIP) with.noWait();
    durations.read("waitAtMost", asked.waitAtMost(), with::waitAtMost);
    durations.read("ttl", asked.ttl(), with::ttl);
    durations.read("minInterval", asked.minInterval(), with::minInterval);
    name = tried(faults, () -> new LockName(asked.value(), method, beans));
    options = tried(faults, with::build);
    if (!faults.isEmpty())
      throw new IllegalStateException(
          "@WithLock(\"%s\") on %s.%s: %s"
              .formatted(
                  asked.value(),
                  method.getDeclaringClass().getSimpleName(),
                  method.getName(),
                  String.join("; ", faults)));
  }

  private interface Attempt<T> {
    T make();
  }

  private static <T> T tried(List<String> faults, Attempt<T> attempt) {
    try {
      return attempt.make();
    } catch (RuntimeException wrong) {
      faults.add(wrong.getMessage());
      return null;
    }
  }

  /** The proxy would run such a method without the lock. */
  private void checkIsWithinProxy(List<String> faults) {
    int modifiers = method.getModifiers();
    if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers) || Modifier.isFinal(modifiers))
      faults.add("Spring cannot run code around a method that is private, static or final");
  }

  private void checkReturns(List<String> faults) {
    Class<?> type = method.getReturnType();
    boolean isLater =
        LATER.stream().anyMatch(later -> later.isAssignableFrom(type))
            || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null
            || KotlinDetector.isSuspendingFunction(method);
    if (isLater)
      faults.add(
          "the method returns before its work is done, and then the lock would be free; use RowlockClient.lockAsync");
    if (whenBusy == WhenBusy.SKIP && type.isPrimitive() && type != void.class)
      faults.add("whenBusy: a call that is skipped cannot return the type " + type);
  }

  private record Durations(ConfigurableBeanFactory beans, List<String> faults) {
    void read(String attribute, String text, Consumer<Duration> choice) {
      if (text.isEmpty()) return;
      try {
        choice.accept(DurationStyle.detectAndParse(beans.resolveEmbeddedValue(text)));
      } catch (IllegalArgumentException wrong) {
        faults.add(attribute + ": " + wrong.getMessage());
      }
    }
  }

  boolean isSkippedAfter(RowlockException error) {
    return whenBusy == WhenBusy.SKIP
        && error.refusal().isPresent()
        && NOT_NOW.contains(error.reason());
  }

  /** What a call returns that was skipped. */
  Object nothing() {
    return method.getReturnType() == Optional.class ? Optional.empty() : null;
  }
}

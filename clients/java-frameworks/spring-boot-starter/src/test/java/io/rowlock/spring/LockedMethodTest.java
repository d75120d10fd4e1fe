// Annotations that cannot work end the start of the application.

package io.rowlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

@Timeout(60)
class LockedMethodTest {
  private static String failureOf(Class<?> bean) {
    String[] message = new String[1];
    new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                PropertyPlaceholderAutoConfiguration.class, RowlockAutoConfiguration.class))
        .withBean(bean)
        .run(
            context -> {
              Throwable failure = context.getStartupFailure();
              assertThat(failure).isNotNull();
              message[0] = failure.getCause().getMessage();
            });
    return message[0];
  }

  static class Final {
    @WithLock("x")
    public final void run() {}
  }

  static class Private {
    @WithLock("x")
    @SuppressWarnings("unused")
    private void run() {}
  }

  static class Later {
    @WithLock("x")
    CompletableFuture<Void> run() {
      return CompletableFuture.completedFuture(null);
    }
  }

  static class Published {
    @WithLock("x")
    Flow.Publisher<String> run() {
      return null;
    }
  }

  static class Primitive {
    @WithLock(value = "x", whenBusy = WhenBusy.SKIP)
    boolean run() {
      return true;
    }
  }

  static class Several {
    @WithLock(value = " ", permits = 0, ttl = "soon", minInterval = "1x", waitAtMost = "-1s")
    void run() {}
  }

  static class NoProperty {
    @WithLock("${no.such.property}")
    void run() {}
  }

  static class NoExpression {
    @WithLock("x/#{#}")
    void run() {}
  }

  @Test
  void aMethodThatNoProxyCanReachIsRefused() {
    String sentence = "Spring cannot run code around a method that is private, static or final";
    assertThat(failureOf(Final.class)).isEqualTo("@WithLock(\"x\") on Final.run: " + sentence);
    assertThat(failureOf(Private.class)).isEqualTo("@WithLock(\"x\") on Private.run: " + sentence);
  }

  @Test
  void aMethodThatReturnsBeforeItsWorkIsDoneIsRefused() {
    assertThat(failureOf(Later.class)).contains("returns before its work is done");
    assertThat(failureOf(Published.class)).contains("returns before its work is done");
  }

  @Test
  void aMethodThatCannotReturnNothingIsNotSkipped() {
    assertThat(failureOf(Primitive.class))
        .contains("whenBusy: a call that is skipped cannot return the type boolean");
  }

  @Test
  void allFaultsAreReportedAtOnce() {
    assertThat(failureOf(Several.class))
        .contains("permits: 0 must be at least 1")
        .contains("ttl: 'soon' is not a valid duration")
        .contains("minInterval: '1x' is not a valid")
        .contains("waitAtMost: PT-1S is negative")
        .contains("the name of the lock is empty");
  }

  @Test
  void placeholdersAndExpressionsAreReadAtTheStart() {
    assertThat(failureOf(NoProperty.class)).contains("no.such.property");
    assertThat(failureOf(NoExpression.class)).contains("on NoExpression.run");
  }
}

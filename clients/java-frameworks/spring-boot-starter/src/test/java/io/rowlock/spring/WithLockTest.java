package io.rowlock.spring;

import static io.rowlock.frameworks.Until.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rowlock.HeldLock;
import io.rowlock.Mode;
import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

@Timeout(60)
class WithLockTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  /** The first method calls the second one through the proxy. */
  static class Nested {
    @WithLock(value = "nested", reentrant = true)
    long outer(Supplier<Long> inner) {
      return CurrentLock.get().token() - inner.get();
    }

    @WithLock(value = "nested", reentrant = true)
    long inner() {
      return CurrentLock.get().token();
    }
  }

  record Customer(String id) {}

  static class Jobs {
    private final AtomicInteger runs = new AtomicInteger();

    /** The proxy has no fields of its own. */
    int runs() {
      return runs.get();
    }

    @WithLock("plain")
    long token() {
      return CurrentLock.get().token();
    }

    @WithLock("${lock.folder}/#{#customer.id()}/#{#p1 + 1}")
    String name(Customer customer, int number) {
      return CurrentLock.get().name();
    }

    @WithLock(value = "#{@prefix.get()}/#{own()}", mode = Mode.SHARED, ttl = "${lock.ttl}")
    HeldLock shared() {
      return CurrentLock.get();
    }

    public String own() {
      return "own";
    }

    @WithLock(value = "busy", waitAtMost = "PT0S")
    void throwing() {
      runs.incrementAndGet();
    }

    @WithLock(value = "busy", waitAtMost = "1ms", whenBusy = WhenBusy.SKIP)
    void skipping() {
      runs.incrementAndGet();
    }

    @WithLock(value = "busy", whenBusy = WhenBusy.SKIP)
    Integer skippingReference() {
      return runs.incrementAndGet();
    }

    @WithLock(value = "busy", whenBusy = WhenBusy.SKIP)
    Optional<Integer> skippingOptional() {
      return Optional.of(runs.incrementAndGet());
    }

    @WithLock(value = "patient")
    void waiting() {
      runs.incrementAndGet();
    }

    @WithLock(value = "report", minInterval = "1h", whenBusy = WhenBusy.SKIP)
    void atMostOnceAnHour() {
      runs.incrementAndGet();
    }

    @WithLock(value = "outer", whenBusy = WhenBusy.SKIP)
    void failingWith(RuntimeException error) {
      throw error;
    }

    @WithLock("lost")
    void waitingForEver(CountDownLatch begun) throws InterruptedException {
      begun.countDown();
      new CountDownLatch(1).await();
    }

    @Once
    void once() {
      runs.incrementAndGet();
    }
  }

  @WithLock(value = "composed", minInterval = "1h", whenBusy = WhenBusy.SKIP)
  @Retention(RetentionPolicy.RUNTIME)
  @interface Once {}

  private interface Check {
    void with(Jobs jobs, RowlockClient client) throws Exception;
  }

  private static ApplicationContextRunner runner() {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                PropertyPlaceholderAutoConfiguration.class, RowlockAutoConfiguration.class))
        .withPropertyValues(
            "rowlock.addresses=" + server.address(), "lock.folder=etl", "lock.ttl=90s")
        .withBean("prefix", Supplier.class, () -> () -> "bean");
  }

  private static void run(Check check) {
    runner()
        .withBean(Jobs.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              check.with(context.getBean(Jobs.class), context.getBean(RowlockClient.class));
            });
  }

  @Test
  void theLockIsHeldWhileTheMethodRunsAndNoLonger() {
    run(
        (jobs, client) -> {
          long first = jobs.token();
          assertThat(jobs.token()).isGreaterThan(first);
          assertThat(client.getLock("plain").holderCount()).isZero();
          assertThat(CurrentLock.find()).isEmpty();
          assertThatThrownBy(CurrentLock::get).hasMessageContaining("same object");
        });
  }

  @Test
  void theNameIsMadeFromPropertiesArgumentsAndBeans() {
    run(
        (jobs, client) -> {
          assertThat(jobs.name(new Customer("c7"), 1)).isEqualTo("etl/c7/2");
          HeldLock shared = jobs.shared();
          assertThat(shared.name()).isEqualTo("bean/own");
          assertThat(shared.mode()).isEqualTo(Mode.SHARED);
        });
  }

  @Test
  void anExpressionThatIsNullOrEmptyIsRefused() {
    run(
        (jobs, client) -> {
          assertThatThrownBy(() -> jobs.name(new Customer(null), 1))
              .hasMessage("@WithLock(\"etl/#{#customer.id()}/#{#p1 + 1}\"): #{#customer.id()} is null");
          assertThatThrownBy(() -> jobs.name(new Customer(""), 1)).hasMessageContaining("is empty");
          assertThatThrownBy(() -> jobs.name(null, 1)).hasMessageContaining("has no value");
        });
  }

  @Test
  void aBusyLockIsAnErrorOrSkipsTheCall() {
    run(
        (jobs, client) -> {
          try (HeldLock held = client.lock("busy")) {
            RowlockException error = catchThrowableOfType(RowlockException.class, jobs::throwing);
            assertThat(error.reason()).isEqualTo(Reason.BUSY);
            jobs.skipping();
            assertThat(jobs.skippingReference()).isNull();
            assertThat(jobs.skippingOptional()).isEmpty();
            assertThat(jobs.runs()).isEqualTo(0);
          }
          jobs.throwing();
          jobs.skipping();
          assertThat(jobs.skippingReference()).isEqualTo(3);
          assertThat(jobs.skippingOptional()).hasValue(4);
        });
  }

  @Test
  void itRunsAtMostOnceInTheMinimumInterval() {
    run(
        (jobs, client) -> {
          jobs.atMostOnceAnHour();
          jobs.atMostOnceAnHour();
          assertThat(jobs.runs()).isEqualTo(1);
        });
  }

  @Test
  void anAnnotationWithTheAnnotationWorksLikeIt() {
    run(
        (jobs, client) -> {
          jobs.once();
          jobs.once();
          assertThat(jobs.runs()).isEqualTo(1);
        });
  }

  @Test
  void anErrorOfTheMethodItselfSkipsNothing() {
    run(
        (jobs, client) -> {
          try (HeldLock held = client.lock("inner")) {
            RowlockException busy =
                catchThrowableOfType(
                    RowlockException.class, () -> client.lock("inner", with -> with.noWait()));
            assertThatThrownBy(() -> jobs.failingWith(busy)).isSameAs(busy);
          }
          assertThat(client.getLock("outer").holderCount()).isZero();
        });
  }

  @Test
  void aReentrantLockIsTakenAgainByTheThreadThatHoldsIt() {
    runner()
        .withBean(Nested.class)
        .run(
            context -> {
              Nested nested = context.getBean(Nested.class);
              assertThat(nested.outer(nested::inner)).isZero();
            });
  }

  @Test
  void aLossInterruptsTheMethodAndIsAnError() {
    run(
        (jobs, client) -> {
          CountDownLatch begun = new CountDownLatch(1);
          var thread = Executors.newSingleThreadExecutor();
          Future<Throwable> failed =
              thread.submit(
                  () ->
                      catchThrowableOfType(
                          RowlockException.class, () -> jobs.waitingForEver(begun)));
          begun.await();
          server.lose("lost");
          assertThat(failed.get())
              .isInstanceOfSatisfying(
                  RowlockException.class,
                  error -> assertThat(error.reason()).isEqualTo(Reason.LEASE_LOST));
          thread.shutdown();
        });
  }

  @Test
  void aThreadThatIsInterruptedWhileItWaitsStaysInterrupted() {
    run(
        (jobs, client) -> {
          try (HeldLock held = client.lock("patient")) {
            var thread = Executors.newSingleThreadExecutor();
            Future<Boolean> isInterrupted =
                thread.submit(
                    () -> {
                      assertThatThrownBy(jobs::waiting).isInstanceOf(CancellationException.class);
                      return Thread.interrupted();
                    });
            until("it waits", () -> client.getLock("patient").waiterCount() == 1);
            thread.shutdownNow();
            assertThat(isInterrupted.get()).isTrue();
          }
          assertThat(jobs.runs()).isEqualTo(0);
        });
  }

  @Test
  void methodsAreLockedEvenIfSpringBootMakesNoProxies() {
    runner()
        .withPropertyValues("spring.aop.auto=false")
        .withBean(Jobs.class)
        .run(context -> assertThat(context.getBean(Jobs.class).token()).isPositive());
  }

  @EnableTransactionManagement
  static class Transactions {}

  static class Bank {
    @Transactional
    @WithLock("account")
    void book() {}
  }

  /** Remembers whether the lock was held when the transaction began and when it was committed. */
  static class Manager extends AbstractPlatformTransactionManager {
    boolean wasHeldAtTheBegin;
    boolean wasHeldAtTheCommit;

    @Override
    protected Object doGetTransaction() {
      return this;
    }

    @Override
    protected void doBegin(Object transaction, TransactionDefinition definition) {
      wasHeldAtTheBegin = CurrentLock.get().isHeld();
    }

    @Override
    protected void doCommit(DefaultTransactionStatus status) {
      wasHeldAtTheCommit = CurrentLock.get().isHeld();
    }

    @Override
    protected void doRollback(DefaultTransactionStatus status) {}
  }

  @Test
  void theLockIsHeldFromBeforeTheTransactionUntilAfterItsCommit() {
    runner()
        .withUserConfiguration(Transactions.class)
        .withBean(Bank.class)
        .withBean(Manager.class)
        .run(
            context -> {
              context.getBean(Bank.class).book();
              Manager manager = context.getBean(Manager.class);
              assertThat(manager.wasHeldAtTheBegin).isTrue();
              assertThat(manager.wasHeldAtTheCommit).isTrue();
            });
  }
}

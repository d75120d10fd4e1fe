package io.rowlock.spring;

import io.rowlock.Mode;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method of a bean while holding a lock.
 *
 * <pre>{@code
 * @WithLock("account/#{#account.id}")
 * public void book(Account account) { ... }
 *
 * @Scheduled(cron = "0 0 * * * *")
 * @WithLock(value = "report", minInterval = "50m", whenBusy = WhenBusy.SKIP)
 * public void report() { ... }
 * }</pre>
 *
 * <p>The lock is taken before a transaction of the method begins, and given back after it has ended. If the lock is lost
 * while the method runs, its thread is interrupted, and the call throws a {@link io.rowlock.RowlockException} with the
 * reason {@code LEASE_LOST}, as {@link io.rowlock.RowlockClient#callWithLock} does. {@link CurrentLock} is the lock that
 * is held.
 *
 * <p>As with all annotations that Spring applies by a proxy, a call from within the same object takes no lock. Where the
 * annotation cannot work, the application does not start: on private, static and final methods, and on methods that
 * return before their work is done, such as those with a {@code CompletableFuture}.
 *
 * <p>Durations are written like {@code 90s}, {@code 5m}, {@code PT5M}, or {@code ${report.interval}}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
public @interface WithLock {
  /**
   * The name of the lock. It may have placeholders for properties, <code>${report.lock}</code>, and expressions with the
   * arguments of the call, <code>#{#customer}</code>. An expression must not be null or empty.
   *
   * @return a template
   */
  String value();

  /**
   * How long to wait. By default as long as it takes, and with {@link WhenBusy#SKIP} not at all.
   *
   * @return a duration
   */
  String waitAtMost() default "";

  /**
   * What to do if the lock is not granted in that time.
   *
   * @return throw, by default, or skip
   */
  WhenBusy whenBusy() default WhenBusy.THROW;

  /**
   * After the method has returned or thrown, the lock is granted to nobody until this long after it was granted. With
   * {@link WhenBusy#SKIP}, the method runs at most once in this time, on all machines together. If the lock is lost,
   * another machine may run it at once.
   *
   * @return a duration; by default none
   */
  String minInterval() default "";

  /**
   * The time to live of the lease, which the client renews while the method runs. After a crash of the process, the lock
   * is free when this time is over.
   *
   * @return a duration; by default 30 s
   */
  String ttl() default "";

  /**
   * How many permits to take.
   *
   * @return 1 by default
   */
  int permits() default 1;

  /**
   * How to hold the lock.
   *
   * @return as one of those whom the limit admits, by default
   */
  Mode mode() default Mode.PERMIT;

  /**
   * Whether a thread that holds the lock already may have it again, in a method that is called by another one with the
   * same lock.
   *
   * @return false by default: such a call waits for itself, or is skipped
   */
  boolean reentrant() default false;
}

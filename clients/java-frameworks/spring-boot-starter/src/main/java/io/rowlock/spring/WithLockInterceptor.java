// Takes the lock of a method before it runs, and gives it back when it has ended.

package io.rowlock.spring;

import io.rowlock.HeldLock;
import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

final class WithLockInterceptor implements MethodInterceptor {
  private static final Logger LOG = LoggerFactory.getLogger(WithLock.class);

  private final LockedMethods methods;
  private final Supplier<RowlockClient> client;
  private final Supplier<LockObserver> observer;

  /** What it takes from suppliers is made with the first call, so that it needs no bean before others are ready for it. */
  WithLockInterceptor(
      LockedMethods methods, Supplier<RowlockClient> client, Supplier<LockObserver> observer) {
    this.methods = methods;
    this.client = client;
    this.observer = observer;
  }

  @Override
  public Object invoke(MethodInvocation invocation) throws Throwable {
    LockedMethod method =
        methods.find(invocation.getMethod(), invocation.getThis().getClass()).orElseThrow();
    String name = method.name.of(invocation.getThis(), invocation.getArguments());
    LockObserver.Call call = observer.get().asked(method.name.template);
    Work work = new Work(invocation, call);
    try {
      return client.get().<Object, Exception>callWithLock(name, method.options, work::run);
    } catch (RowlockException error) {
      if (work.hasBegun) throw error;
      if (!method.isSkippedAfter(error)) {
        call.refused();
        throw error;
      }
      call.skipped();
      LOG.debug("Skipped {}: {}", invocation.getMethod(), error.getMessage());
      return method.nothing();
    } catch (InterruptedException interrupted) {
      if (work.hasBegun) throw interrupted;
      call.refused();
      // The method may not declare an InterruptedException.
      Thread.currentThread().interrupt();
      throw new CancellationException("interrupted while waiting for the lock \"" + name + "\"");
    }
  }

  private static final class Work {
    private final MethodInvocation invocation;
    private final LockObserver.Call call;
    boolean hasBegun;

    Work(MethodInvocation invocation, LockObserver.Call call) {
      this.invocation = invocation;
      this.call = call;
    }

    Object run(HeldLock lock) throws Exception {
      hasBegun = true;
      call.granted();
      try {
        return CurrentLock.during(lock, this::proceed);
      } finally {
        call.ended(isLost(lock));
      }
    }

    private Object proceed() throws Exception {
      try {
        return invocation.proceed();
      } catch (Exception | Error usual) {
        throw usual;
      } catch (Throwable unusual) {
        throw new UndeclaredThrowableException(unusual);
      }
    }

    private static boolean isLost(HeldLock lock) {
      try {
        lock.requireHeld();
        return false;
      } catch (RowlockException over) {
        return over.reason() == Reason.LEASE_LOST;
      }
    }
  }
}

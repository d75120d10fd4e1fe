// Answers that callers wait for. After a client is closed, new requests fail at once, and earlier ones when closing is
// over. For any thread.

package io.rowlock;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

final class Promises {
  private final Set<CompletableFuture<?>> promised = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean isClosing = new AtomicBoolean();

  /** Whether no answer will come any more. */
  private final BooleanSupplier isOver;

  Promises(BooleanSupplier isOver) {
    this.isOver = isOver;
  }

  /** Returns true for the first call only. */
  boolean close() {
    return isClosing.compareAndSet(false, true);
  }

  /**
   * Asks for something whose future fails at the latest when closing is over. If the client is closed already, asks
   * nothing.
   */
  <T> CompletableFuture<T> open(Supplier<CompletableFuture<T>> asked) {
    if (isClosing.get()) return CompletableFuture.failedFuture(RowlockException.closed());
    return promised(asked.get());
  }

  /** Makes the future fail at the latest when closing is over. */
  <T> CompletableFuture<T> promised(CompletableFuture<T> answer) {
    promised.add(answer);
    answer.whenComplete((value, failure) -> promised.remove(answer));
    if (isOver.getAsBoolean()) answer.completeExceptionally(RowlockException.closed());
    return answer;
  }

  /** Called once the loop is closed. */
  void failAll() {
    for (CompletableFuture<?> answer : promised)
      answer.completeExceptionally(RowlockException.closed());
  }
}

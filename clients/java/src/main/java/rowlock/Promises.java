// What was promised to callers and has not come. Nobody waits for a closed client: what is asked of it fails, and so does at
// last what was asked before. For any thread.

package rowlock;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

final class Promises {
  private final Set<CompletableFuture<?>> promised = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean isClosing = new AtomicBoolean();

  /** Whether nothing will be answered any more. */
  private final BooleanSupplier isOver;

  Promises(BooleanSupplier isOver) {
    this.isOver = isOver;
  }

  /** Whether it is the first time. */
  boolean close() {
    return isClosing.compareAndSet(false, true);
  }

  /** Fails when the client is closed. If it was, nothing is asked. */
  <T> CompletableFuture<T> open(Supplier<CompletableFuture<T>> asked) {
    if (isClosing.get()) return CompletableFuture.failedFuture(RowlockException.closed());
    return promised(asked.get());
  }

  /** Fails at the latest when closing is over. */
  <T> CompletableFuture<T> promised(CompletableFuture<T> answer) {
    promised.add(answer);
    answer.whenComplete((value, failure) -> promised.remove(answer));
    if (isOver.getAsBoolean()) answer.completeExceptionally(RowlockException.closed());
    return answer;
  }

  /** To be called once it is over. */
  void failAll() {
    for (CompletableFuture<?> answer : promised)
      answer.completeExceptionally(RowlockException.closed());
  }
}

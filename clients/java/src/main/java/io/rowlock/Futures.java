// How threads wait for answers of the loop.

package io.rowlock;

import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;

final class Futures {
  private Futures() {}

  /** Waits for the answer, or throws what the call has failed with. */
  static <T> T await(CompletableFuture<T> answer) throws InterruptedException {
    try {
      return answer.get();
    } catch (ExecutionException failed) {
      throw rethrown(failed.getCause());
    }
  }

  /** The same for a short call. If the thread is interrupted, it does not wait, and stays interrupted. */
  static <T> T answer(CompletableFuture<T> answer) {
    try {
      return await(answer);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new RowlockException(
          "The thread was interrupted before the answer came, so the call may have taken effect or not.",
          ErrorDetails.of(Reason.CANCELLED, Status.Code.CANCELLED),
          interrupted);
    }
  }

  /** Waits for something that ends soon anyway. If the thread is interrupted, it waits on, and stays interrupted. */
  static void awaitCalmly(CompletableFuture<Void> answer) {
    boolean wasInterrupted = false;
    for (; ; ) {
      try {
        await(answer);
        break;
      } catch (InterruptedException interrupted) {
        wasInterrupted = true;
      }
    }
    if (wasInterrupted) Thread.currentThread().interrupt();
  }

  /**
   * A future for users, which completes outside of the loop. Cancelling it cancels {@code answer}; a value that comes
   * nevertheless is given to {@code unwanted}.
   */
  static <A, T> CompletableFuture<T> handedOut(
      CompletableFuture<A> answer, Callbacks callbacks, Function<A, T> read, Consumer<A> unwanted) {
    CompletableFuture<T> handed = new CompletableFuture<>();
    answer.whenComplete(
        (value, failure) ->
            callbacks.run(
                () -> {
                  if (failure != null) handed.completeExceptionally(failure);
                  else if (!isTaken(handed, value, read)) unwanted.accept(value);
                }));
    handed.whenComplete(
        (value, failure) -> {
          if (handed.isCancelled()) answer.cancel(true);
        });
    return handed;
  }

  private static <A, T> boolean isTaken(
      CompletableFuture<T> handed, A value, Function<A, T> read) {
    try {
      return handed.complete(read.apply(value));
    } catch (RowlockException refused) {
      return handed.completeExceptionally(refused);
    }
  }

  private static RuntimeException rethrown(Throwable cause) {
    if (cause instanceof RowlockException error) return error.again();
    if (cause instanceof RuntimeException thrown) return thrown;
    if (cause instanceof Error thrown) throw thrown;
    return new IllegalStateException(cause);
  }
}

// What becomes of calls that are not sent.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

@Timeout(120)
class CallsTest {
  @Test
  void aCallWhoseCommandCannotBeMadeFailsAndHoldsUpNoOther() throws Exception {
    try (Script script = new Script()) {
      CompletableFuture<Void> failed = new CompletableFuture<>();
      script.onLoop(() -> script.calls.begin(new Unmakeable(failed)));
      script.acquire(LockOptions.builder().noWait().build());
      assertEquals("x", script.next().getAcquire().getName());
      Throwable why = assertThrows(CompletionException.class, failed::join).getCause();
      assertEquals(Reason.BAD_REQUEST, assertInstanceOf(RowlockException.class, why).reason());
      assertInstanceOf(NullPointerException.class, why.getCause());
    }
  }

  private record Unmakeable(CompletableFuture<Void> end) implements Ask {
    @Override
    public Kind kind() {
      return Kind.OTHER;
    }

    @Override
    public Repeat repeat() {
      return Repeat.ALWAYS;
    }

    @Override
    public SessionCommand.Builder command(Connection connection) {
      throw new NullPointerException("as the test wants");
    }

    @Override
    public long giveUpAfter() {
      return Times.FOREVER;
    }

    @Override
    public boolean answered(SessionResult result, long basis) {
      throw new AssertionError("it was sent");
    }

    @Override
    public void failed(RowlockException error) {
      end.completeExceptionally(error);
    }
  }
}

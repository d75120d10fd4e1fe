// What becomes of a lock when its holder leaves: its scope, its client, or its program.

package io.rowlock;

import static io.rowlock.Until.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class LeavingTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private final Pipe pipe;
  private final RowlockClient rowlock;
  private final RowlockClient direct = RowlockClient.connect(server.address);

  LeavingTest() throws IOException {
    pipe = new Pipe(server.address);
    rowlock =
        RowlockClient.connect(
            ConnectOptions.to(pipe.address()).closeWithin(Duration.ofMillis(600)).build());
  }

  @AfterEach
  void close() throws IOException {
    rowlock.close();
    direct.close();
    pipe.close();
  }

  private static final LockOptions BRIEF =
      LockOptions.builder().ttl(Duration.ofSeconds(3)).margin(Duration.ofMillis(1_000)).build();

  @Test
  void aScopeWhoseReleaseGetsNoAnswerEndsWithItsLeaseAsLost() throws Exception {
    long began = System.nanoTime();
    RowlockException late =
        assertThrows(
            RowlockException.class, () -> rowlock.withLock("mute", BRIEF, lock -> pipe.mute()));
    assertEquals(Reason.LEASE_LOST, late.reason());
    assertTrue(System.nanoTime() - began < Duration.ofSeconds(20).toNanos());
  }

  @Test
  void aScopeWhoseLeaseHadEndedUnnoticedFailsAsLost() throws Exception {
    RowlockException late =
        assertThrows(
            RowlockException.class,
            () ->
                rowlock.withLock(
                    "late",
                    lock -> {
                      pipe.cut();
                      until("the client notices", () -> lock.state() == LockState.UNCERTAIN);
                      direct.forceRelease("late", "test");
                      pipe.mend();
                    }));
    assertEquals(Reason.LEASE_LOST, late.reason());
  }

  @Test
  void theResultOfACaptureWhoseLeaseHadEndedUnnoticedFailsAsLost() throws Exception {
    direct.updateRecord(RecordChanges.of("captured/1").status("new"));
    Captured captured = rowlock.capture(with -> with.prefix("captured/"));
    HeldLock lock = captured.locks().get(0);
    pipe.cut();
    until("the client notices", () -> lock.state() == LockState.UNCERTAIN);
    direct.forceRelease("captured/1", "test");
    pipe.mend();
    assertEquals(Reason.LEASE_LOST, assertThrows(RowlockException.class, captured::close).reason());
  }

  @Test
  void aReleaseThatBeginsWithoutAServerFindsOutThatTheLeaseHadEnded() throws Exception {
    HeldLock lock = rowlock.lock("early");
    pipe.cut();
    until("the client notices", () -> lock.state() == LockState.UNCERTAIN);
    direct.forceRelease("early", "test");
    CompletableFuture<Void> closed = CompletableFuture.runAsync(lock::close);
    until("the release has begun", () -> !lock.isHeld());
    pipe.turnAway(2);
    pipe.mend();
    Throwable cause = assertThrows(ExecutionException.class, closed::get).getCause();
    assertEquals(Reason.LEASE_LOST, assertInstanceOf(RowlockException.class, cause).reason());
  }

  @Test
  void tryWithResourcesReportsALossOnce() throws Exception {
    HeldLock lock = rowlock.lock("reported");
    direct.forceRelease("reported", "test");
    until("it is lost", () -> !lock.isHeld());
    assertEquals(Reason.LEASE_LOST, assertThrows(RowlockException.class, lock::close).reason());
    lock.close();
    HeldLock noticed = rowlock.lock("noticed");
    direct.forceRelease("noticed", "test");
    until("it is lost", () -> !noticed.isHeld());
    assertThrows(RowlockException.class, noticed::requireHeld);
    noticed.close();
  }

  @Test
  void aReleaseThatIsRefusedForItsStatusGivesTheLockBack() throws Exception {
    HeldLock lock = rowlock.lock("refused");
    RowlockException refused =
        assertThrows(
            RowlockException.class, () -> lock.release(with -> with.status("x".repeat(64)).attemptsLeft(7)));
    assertEquals(Reason.BAD_REQUEST, refused.reason());
    assertTrue(refused.getMessage().endsWith("; the lock was given back."), refused.getMessage());
    LockView left = direct.getLock("refused");
    assertEquals(0, left.holderCount());
    // What was not refused is in force.
    assertEquals(7, left.record().orElseThrow().attemptsLeft().orElseThrow());
    lock.close();
  }

  @Test
  void closingAClientTakesNoLongerThanItsProgramAllows() throws Exception {
    rowlock.lock("closing");
    pipe.mute();
    long began = System.nanoTime();
    rowlock.close();
    assertTrue(System.nanoTime() - began < Duration.ofSeconds(2).toNanos());
  }

  @Test
  void aProgramThatExitsGivesItsLocksBack() throws Exception {
    Process exits = exit(true);
    assertEquals("lost\n", new String(exits.getInputStream().readAllBytes()));
    assertEquals(3, exits.waitFor());
    assertEquals(0, direct.getLock("exit/true").holderCount());
    // Its record is to show a loss, so it is left to its ttl.
    assertEquals(1, direct.getLock("exit/true/record").holderCount());
  }

  @Test
  void aProgramMayTurnThatOff() throws Exception {
    Process exits = exit(false);
    exits.getInputStream().readAllBytes();
    assertEquals(3, exits.waitFor());
    assertEquals(1, direct.getLock("exit/false").holderCount());
  }

  private static Process exit(boolean isReleased) throws IOException {
    return new ProcessBuilder(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Exits.class.getName(),
                server.address,
                String.valueOf(isReleased)))
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  /** A program that exits while it holds locks. */
  static final class Exits {
    public static void main(String[] arguments) throws Exception {
      boolean isReleased = Boolean.parseBoolean(arguments[1]);
      RowlockClient client =
          RowlockClient.connect(
              ConnectOptions.to(arguments[0]).releaseOnExit(isReleased).build());
      HeldLock lock = client.lock("exit/" + isReleased);
      lock.onLost(() -> System.out.println("lost"));
      client.lock("exit/" + isReleased + "/record", with -> with.statusIfLost("failed"));
      System.exit(3);
    }
  }
}

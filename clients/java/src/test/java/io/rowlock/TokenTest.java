// Who calls: tokens that are missing, wrong, expired and renewed.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each with a session and with unary calls, behind a guard that takes the old token. */
@Timeout(120)
class TokenTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private static final String OLD = "old-secret";
  private static final String NEW = "new-secret";
  private static final Duration LONG = Duration.ofHours(1);

  @TempDir Path folder;

  private static final AtomicInteger names = new AtomicInteger();
  private final String name = "token/" + names.incrementAndGet();

  private static RowlockClient connect(
      Guard guard, UnaryOperator<ConnectOptions.Builder> choice) {
    return RowlockClient.connect(choice.apply(ConnectOptions.to(guard.address())).build());
  }

  /** Gives the file another token, all at once. */
  private Path replace(String token) throws IOException {
    Path next = Files.writeString(folder.resolve("next"), token + "\n");
    return Files.move(
        next,
        folder.resolve("token"),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
  }

  /** A lock that is held, and a place in the queue behind it. */
  private record LockAndPlace(HeldLock lock, CompletableFuture<HeldLock> next) {
    static LockAndPlace of(RowlockClient client, String name) throws InterruptedException {
      HeldLock lock = client.lock(name, with -> with.ttl(LONG));
      CountDownLatch placed = new CountDownLatch(1);
      CompletableFuture<HeldLock> next =
          client.lockAsync(
              name, LockOptions.builder().ttl(LONG).onPosition(place -> placed.countDown()).build());
      placed.await();
      return new LockAndPlace(lock, next);
    }

    /** Releases the lock, and expects that the place has it then. */
    void handOver() throws Exception {
      until("it is renewed", () -> lock.state() == LockState.HELD);
      assertTrue(lock.release());
      assertEquals(lock.token() + 1, next.get().token());
    }
  }

  private static Reason reasonOf(Throwable failure) {
    Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
    return assertInstanceOf(RowlockException.class, cause).reason();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aTokenIsSentAndItsRefusalReported(boolean hasSessions) throws Exception {
    try (Guard guard = new Guard(server.address, hasSessions, OLD)) {
      guard.refuse("stale-secret", "CREDENTIALS_EXPIRED");
      Map<Reason, UnaryOperator<ConnectOptions.Builder>> refused =
          Map.of(
              Reason.CREDENTIALS_MISSING, with -> with,
              Reason.CREDENTIALS_WRONG, with -> with.token("unknown-secret"),
              Reason.CREDENTIALS_EXPIRED, with -> with.token("stale-secret"));
      for (Map.Entry<Reason, UnaryOperator<ConnectOptions.Builder>> one : refused.entrySet())
        try (RowlockClient client = connect(guard, one.getValue())) {
          RowlockException error =
              assertThrows(
                  RowlockException.class, () -> client.lock(name, LockOptions.Builder::noExpiry));
          assertEquals(one.getKey(), error.reason());
          assertEquals(Status.Code.UNAUTHENTICATED, error.code());
          assertTrue(error.getMessage().contains("token of the ConnectOptions"), error.getMessage());
          assertFalse(error.toString().contains("secret"), error.toString());
          // No server can hold it for this client.
          assertEquals(Map.of(), error.metadata());
        }
      try (RowlockClient client = connect(guard, with -> with.token(" " + OLD + "\n"))) {
        assertEquals(1, client.lock(name).token());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aTokenThatIsRenewedInTimeCostsNothing(boolean hasSessions) throws Exception {
    Path file = replace(OLD);
    try (Guard guard = new Guard(server.address, hasSessions, OLD);
        RowlockClient client = connect(guard, with -> with.tokenFile(file))) {
      LockAndPlace both = LockAndPlace.of(client, name);
      replace(NEW);
      guard.accept(NEW);
      guard.refuse(OLD, "CREDENTIALS_EXPIRED");
      guard.untilTried(NEW);
      both.handOver();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aTokenThatIsRenewedLateCostsNoLockAndNoPlace(boolean hasSessions) throws Exception {
    Path file = replace(OLD);
    try (Guard guard = new Guard(server.address, hasSessions, OLD);
        RowlockClient client = connect(guard, with -> with.tokenFile(file))) {
      LockAndPlace both = LockAndPlace.of(client, name);
      guard.refuse(OLD, "CREDENTIALS_WRONG");
      RowlockException error = assertThrows(RowlockException.class, () -> client.getLock(name));
      assertEquals(Reason.CREDENTIALS_WRONG, error.reason());
      guard.accept(NEW);
      replace(NEW);
      both.handOver();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFunctionIsAskedAgainAtOnceAfterARefusal(boolean hasSessions) throws Exception {
    AtomicInteger asked = new AtomicInteger();
    try (Guard guard = new Guard(server.address, hasSessions, OLD);
        RowlockClient client =
            connect(guard, with -> with.token(() -> asked.incrementAndGet() == 1 ? "stale" : OLD))) {
      assertEquals(2, client.setLimit(LimitChange.ofName(name).to(2)).limit());
    }
  }

  /** Calls and waits fail. The lock stays until its lease ends, and the client pauses between its tries. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFixedTokenThatExpires(boolean hasSessions) throws Exception {
    BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
    try (Guard guard = new Guard(server.address, hasSessions, OLD);
        RowlockClient client =
            connect(guard, with -> with.token(OLD).onConnection(events::add))) {
      LockAndPlace both = LockAndPlace.of(client, name);
      long began = System.nanoTime();
      guard.refuse(OLD, "CREDENTIALS_EXPIRED");
      assertEquals(
          Reason.CREDENTIALS_EXPIRED,
          reasonOf(assertThrows(RowlockException.class, () -> client.getLock(name))));
      assertEquals(
          Reason.CREDENTIALS_EXPIRED,
          reasonOf(assertThrows(ExecutionException.class, () -> both.next.get())));
      for (int tries = 0; tries < 5; )
        if (events.take() instanceof ConnectionEvent.Disconnected ended
            && reasonOf(ended.error()) == Reason.CREDENTIALS_EXPIRED) tries++;
      // The first end may be followed by a try at once; then the pauses are at least half of 100, 200 and 400 ms.
      assertTrue(System.nanoTime() - began > 350_000_000L);
      assertNotEquals(LockState.LOST, both.lock.state());
      guard.accept(OLD);
      until("it is renewed", () -> both.lock.state() == LockState.HELD);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aWaitWithAPlaceFailsInTheEnd(boolean hasSessions) throws Exception {
    Path file = replace(OLD);
    try (Guard guard = new Guard(server.address, hasSessions, OLD);
        RowlockClient client =
            connect(guard, with -> with.tokenFile(file).giveUpAfter(Duration.ofSeconds(4)))) {
      LockAndPlace both = LockAndPlace.of(client, name);
      guard.refuse(OLD, "CREDENTIALS_EXPIRED");
      assertEquals(
          Reason.CREDENTIALS_EXPIRED,
          reasonOf(assertThrows(ExecutionException.class, () -> both.next.get())));
    }
  }

  /** Another reason than that of a proxy must not make the client try unary calls. */
  @Test
  void aRightThatIsMissingIsNoProxy() throws Exception {
    BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
    try (Guard guard = new Guard(server.address, true, OLD);
        RowlockClient client =
            connect(guard, with -> with.token(OLD).onConnection(events::add))) {
      guard.refuse(OLD, "RIGHT_MISSING");
      RowlockException error = assertThrows(RowlockException.class, () -> client.lock(name));
      assertEquals(Reason.RIGHT_MISSING, error.reason());
      guard.accept(OLD);
      assertEquals(1, client.lock(name).token());
      for (; ; )
        if (events.take() instanceof ConnectionEvent.Connected connected) {
          assertEquals(ConnectionEvent.Via.SESSION, connected.via());
          return;
        }
    }
  }

  @Test
  void aSourceWithoutATokenFailsCalls() throws Exception {
    Path empty = Files.writeString(folder.resolve("empty"), " \n");
    Path huge = Files.writeString(folder.resolve("huge"), "x".repeat(70_000));
    Map<String, UnaryOperator<ConnectOptions.Builder>> sources =
        Map.of(
            "NoSuchFile", with -> with.tokenFile(folder.resolve("none")),
            "is empty", with -> with.tokenFile(empty),
            "more than", with -> with.tokenFile(huge),
            "visible", with -> with.token("a-secret\nof two lines"),
            "is null", with -> with.token(() -> null),
            "the issuer is away",
                with ->
                    with.token(
                        () -> {
                          throw new IllegalStateException("the issuer is away");
                        }));
    for (Map.Entry<String, UnaryOperator<ConnectOptions.Builder>> source : sources.entrySet())
      try (RowlockClient client =
          RowlockClient.connect(
              source.getValue().apply(ConnectOptions.to(server.address)).build())) {
        RowlockException error = assertThrows(RowlockException.class, () -> client.lock(name));
        assertEquals(Reason.CREDENTIALS_MISSING, error.reason());
        assertEquals(Status.Code.UNAUTHENTICATED, error.code());
        assertTrue(error.getMessage().contains(source.getKey()), error.getMessage());
        assertFalse(error.getMessage().contains("secret"), error.getMessage());
      }
  }

  @Test
  void aSourceThatHangsCountsAsATryThatFailed() throws Exception {
    CompletableFuture<Void> never = new CompletableFuture<>();
    AtomicInteger asked = new AtomicInteger();
    try (RowlockClient client =
        RowlockClient.connect(
            ConnectOptions.to(server.address)
                .connectTimeout(Duration.ofMillis(200))
                .token(
                    () -> {
                      if (asked.incrementAndGet() == 1) never.join();
                      return OLD;
                    })
                .build())) {
      assertEquals(1, client.lock(name).token());
      never.complete(null);
    }
  }

  @Test
  void aSourceThatIsSlowerThanATryServesTheNextOne() throws Exception {
    CompletableFuture<String> slow = new CompletableFuture<>();
    CompletableFuture<String> never = new CompletableFuture<>();
    AtomicInteger asked = new AtomicInteger();
    try (RowlockClient client =
        RowlockClient.connect(
            ConnectOptions.to(server.address)
                .connectTimeout(Duration.ofSeconds(2))
                .token(() -> (asked.incrementAndGet() == 1 ? slow : never).join())
                .build())) {
      CompletableFuture<HeldLock> lock = client.lockAsync(name, LockOptions.defaults());
      until("the first try is over", () -> asked.get() == 2);
      slow.complete(OLD);
      assertEquals(1, lock.get().token());
    } finally {
      never.complete(OLD);
    }
  }

  @Test
  void aSourceThatHangsHoldsOnlySoManyThreads() {
    CompletableFuture<String> hanging = new CompletableFuture<>();
    AtomicInteger asked = new AtomicInteger();
    // Of many addresses, so that the tries follow each other without a pause.
    try (RowlockClient client =
        RowlockClient.connect(
            ConnectOptions.to(Collections.nCopies(20, server.address).toArray(String[]::new))
                .connectTimeout(Duration.ofMillis(20))
                .giveUpAfter(Duration.ofSeconds(1))
                .token(
                    () -> {
                      asked.incrementAndGet();
                      return hanging.join();
                    })
                .build())) {
      assertThrows(RowlockException.class, () -> client.getLock(name));
      assertTrue(asked.get() <= Connections.PREPARATIONS_MAX, asked + " threads");
    } finally {
      hanging.complete(OLD);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"locks.example:50051", "10.0.0.1:1", "[2001:db8::1]:1", "128.0.0.1:1"})
  void aTokenIsNotSentInPlainText(String remote) {
    ConnectOptions.Builder options = ConnectOptions.to("localhost:1", remote).token(OLD);
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, options::build);
    assertTrue(refused.getMessage().contains(remote + " is not encrypted"), refused.getMessage());
    assertFalse(refused.getMessage().contains("secret"), refused.getMessage());
    assertTrue(options.allowTokenInPlaintext(true).build().token.isPresent());
    ConnectOptions.Builder encrypted =
        ConnectOptions.to(remote).token(OLD).tls(TlsOptions.ofSystem());
    assertTrue(encrypted.build().token.isPresent());
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "localhost:1"})
  void aTokenMayGoToThisMachineInPlainText(String local) {
    ConnectOptions options = ConnectOptions.to(local).token(OLD).build();
    assertFalse(options.token.orElseThrow().toString().contains("secret"));
    assertTrue(options.ofHeir().token.isPresent());
  }

  /** Only a change of the policy can help, so the client does not renew as often as after other failures. */
  @Test
  void aRenewalThatIsDeniedIsRepeatedSlowly() throws Exception {
    try (Guard guard = new Guard(server.address, false, OLD);
        RowlockClient client = connect(guard, with -> with.token(OLD));
        HeldLock lock = client.lock(name, with -> with.ttl(Duration.ofSeconds(6)))) {
      guard.tries.clear();
      guard.refuse(OLD, "RIGHT_MISSING");
      guard.untilTried(OLD);
      long first = System.nanoTime();
      guard.untilTried(OLD);
      assertTrue(System.nanoTime() - first > 900_000_000L);
      assertNotEquals(LockState.LOST, lock.state());
      guard.accept(OLD);
    }
  }
}

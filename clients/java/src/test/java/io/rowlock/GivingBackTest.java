package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import io.grpc.Status;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import rowlock.v1.AcquireResponse;
import rowlock.v1.ClaimEnd;
import rowlock.v1.EndReason;
import rowlock.v1.Lease;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

/** A client that is closed leaves nothing behind, whatever was under way. */
@Timeout(120)
class GivingBackTest {
  private static final int CLOSING = 40;
  private static final int LOCKS_EACH = 8;
  private static final int CLOSED_AFTER_MAX_MS = 40;

  /** Connected clients are closed in groups, all of a group in the same moments. */
  private static final int CONNECTED = 150;

  private static final int GROUP = 30;
  private static final int SOON_MS = 4;

  private static final LockOptions LASTING = LockOptions.builder().ttl(Duration.ofMinutes(10)).build();
  private static final LockOptions FOR_EVER = LockOptions.builder().noExpiry().build();

  @RegisterExtension static final SharedServer server = new SharedServer();

  private final RowlockClient looker = RowlockClient.connect(server.address);
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void close() {
    threads.shutdownNow();
    looker.close();
  }

  /** The names of the locks that are held. */
  private List<String> heldUnder(String prefix) {
    return looker
        .listLocks(ListOptions.of(prefix).busyOnly())
        .filter(lock -> lock.holderCount() > 0)
        .map(LockView::name)
        .toList();
  }

  /** Has each client ask for locks, and closes it a moment later. */
  private void closeAmidst(List<RowlockClient> clients, String prefix, LockOptions options, int withinMs, long seed)
      throws Exception {
    Random random = new Random(seed);
    List<Future<?>> under = new ArrayList<>();
    for (int number = 0; number < clients.size(); number++) {
      RowlockClient client = clients.get(number);
      int closedAfterUs = random.nextInt(withinMs * 1_000);
      String its = prefix + number + "/";
      under.add(
          threads.submit(
              () -> {
                for (int lock = 0; lock < LOCKS_EACH; lock++) client.acquireAsync(its + lock, options);
              }));
      under.add(
          threads.submit(
              () -> {
                Thread.sleep(Duration.ofNanos(closedAfterUs * 1_000L).toMillis());
                client.close();
                return null;
              }));
    }
    for (Future<?> one : under) one.get();
  }

  @Test
  void ofAClientClosedBeforeItsConnectionOpened() throws Exception {
    for (var how :
        Map.of(
                "wait/", LASTING,
                "try/", LASTING.withoutWait(),
                "wait-for-ever/", FOR_EVER,
                "try-for-ever/", FOR_EVER.withoutWait())
            .entrySet()) {
      long seed = System.nanoTime();
      List<RowlockClient> clients = new ArrayList<>();
      for (int number = 0; number < CLOSING; number++) clients.add(RowlockClient.connect(server.address));
      closeAmidst(clients, how.getKey(), how.getValue(), CLOSED_AFTER_MAX_MS, seed);
      assertEquals(List.of(), heldUnder(how.getKey()), "seed " + seed);
    }
  }

  @Test
  void ofAConnectedClientClosedDuringItsRequests() throws Exception {
    for (int group = 0; group < CONNECTED / GROUP; group++) {
      long seed = System.nanoTime();
      List<RowlockClient> clients = new ArrayList<>();
      for (int number = 0; number < GROUP; number++) {
        RowlockClient client = RowlockClient.connect(server.address);
        client.getLock("connected");
        clients.add(client);
      }
      String prefix = "connected/" + group + "/";
      LockOptions options = group % 2 == 0 ? LASTING : FOR_EVER.withoutWait();
      closeAmidst(clients, prefix, options, SOON_MS, seed);
      assertEquals(List.of(), heldUnder(prefix), "seed " + seed);
    }
  }

  private static RowlockException failure(CompletableFuture<?> asked) {
    Throwable why = assertThrows(ExecutionException.class, asked::get).getCause();
    return assertInstanceOf(RowlockException.class, why);
  }

  private RowlockClient connectOver(Pipe pipe) {
    return RowlockClient.connect(
        ConnectOptions.to(pipe.address()).giveUpAfter(Duration.ofSeconds(1)).build());
  }

  @Test
  void ofALeaseWithoutEndWhoseGrantGotLost() throws Exception {
    for (LockOptions options :
        List.of(
            FOR_EVER,
            FOR_EVER.withoutWait(),
            LockOptions.builder().noExpiry().requestId("chosen").build())) {
      try (Pipe pipe = new Pipe(server.address);
          RowlockClient client = connectOver(pipe)) {
        client.getLock("unheard");
        pipe.mute();
        RowlockException unheard = failure(client.lockAsync("unheard", options));
        assertEquals(Reason.NO_SERVER, unheard.reason());
        assertTrue(
            unheard.getMessage().contains("under the request id " + unheard.metadata().get("request_id")),
            unheard.getMessage());
        assertEquals(1, looker.getLock("unheard").holderCount());
        pipe.cut();
        pipe.mend();
        // Its caller comes back for it.
        if (options.requestId.isPresent()) client.lock("unheard", options).close();
        until("the lock is free", () -> looker.getLock("unheard").holderCount() == 0);
      }
    }
  }

  @Test
  void ofALeaseWithoutEndWhoseReleaseGotLost() throws Exception {
    try (Pipe pipe = new Pipe(server.address);
        RowlockClient client = connectOver(pipe)) {
      HeldLock lock = client.lock("unreleased", FOR_EVER);
      pipe.cut();
      assertEquals(Reason.NO_SERVER, assertThrows(RowlockException.class, lock::release).reason());
      pipe.mend();
      until("the lock is free", () -> looker.getLock("unreleased").holderCount() == 0);
    }
  }

  @Test
  void ofALeaseWithoutEndAfterItsClientWasClosed() throws Exception {
    for (boolean isHeard : List.of(true, false)) {
      try (Pipe pipe = new Pipe(server.address)) {
        try (RowlockClient client = RowlockClient.connect(pipe.address())) {
          client.getLock("inherited");
          if (!isHeard) pipe.mute();
          CompletableFuture<HeldLock> asked = client.lockAsync("inherited", FOR_EVER);
          until("the grant", () -> looker.getLock("inherited").holderCount() == 1);
          if (isHeard) asked.get();
          pipe.cut();
        }
        pipe.mend();
        until("the lock is free", () -> looker.getLock("inherited").holderCount() == 0);
        // Their answers have to come through the pipe, too: without one, an heir asks for as long as the program lives.
        until("the heirs are gone", () -> threadsOfClients() == 1);
      }
    }
  }

  /** Each client has one such thread. */
  private static long threadsOfClients() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("rowlock-client"))
        .count();
  }

  @Test
  void theClientDoesNotLookForAnUnsentRequest() throws Exception {
    Pipe pipe = new Pipe(server.address);
    pipe.close();
    try (RowlockClient client = connectOver(pipe)) {
      RowlockException unsent = failure(client.lockAsync("unsent", FOR_EVER));
      assertEquals(Reason.NO_SERVER, unsent.reason());
      assertEquals(Map.of(), unsent.metadata());
    }
  }

  @Test
  void ofALeaseTooShortForTheRoundTrip() throws Exception {
    try (Pipe pipe = new Pipe(server.address);
        RowlockClient client = RowlockClient.connect(pipe.address())) {
      pipe.delay(350);
      Duration ttl = Duration.ofSeconds(1);
      RowlockException lock =
          failure(client.lockAsync("short/lock", LockOptions.builder().ttl(ttl).build()));
      assertEquals(Reason.TTL_TOO_SHORT, lock.reason());
      CaptureOptions task = CaptureOptions.builder().names("short/task").ttl(ttl).build();
      assertEquals(Reason.TTL_TOO_SHORT, failure(client.captureAsync(task)).reason());
      until("both are free", () -> heldUnder("short/").isEmpty());
      client.lock("short/lock", LASTING).close();
    }
  }

  @Test
  void ofTheLastOfTwoWaitsWithOneRequestId() throws Exception {
    LockOptions shared = LockOptions.builder().requestId("shared").build();
    HeldLock holder = looker.lock("shared");
    CompletableFuture<HeldLock> first = looker.lockAsync("shared", shared);
    until("a place", () -> looker.getLock("shared").waiterCount() == 1);
    CompletableFuture<Place> place = new CompletableFuture<>();
    CompletableFuture<HeldLock> second =
        looker.lockAsync(
            "shared", LockOptions.builder().requestId("shared").onPosition(place::complete).build());
    place.get();
    first.cancel(true);
    holder.release();
    try (HeldLock lock = second.get()) {
      CompletableFuture<HeldLock> third =
          looker.lockAsync("shared", LockOptions.builder().requestId("third").build());
      until("a place", () -> looker.getLock("shared").waiterCount() == 1);
      third.cancel(true);
      until("nobody waits", () -> looker.getLock("shared").waiterCount() == 0);
    }
  }

  /** The caller gives up while the server takes the locks, so no caller gets them. */
  @Test
  void ofACaptureThatIsGivenUpAsItTakesItsLocks(@TempDir Path alone) throws Exception {
    // With this grace period, nothing ends by itself while the test waits.
    try (Server patient = Server.start(alone, "--grace", "10m");
        StreamlessProxy proxy = new StreamlessProxy(patient.address, Status.UNIMPLEMENTED);
        RowlockClient its = RowlockClient.connect(patient.address)) {
      for (String way : List.of(patient.address, proxy.address()))
        try (RowlockClient client = RowlockClient.connect(way)) {
          client.getLock("connected");
          captureAndGiveUp(its, client, way + "/");
        }
    }
  }

  private static void captureAndGiveUp(RowlockClient looking, RowlockClient client, String prefix)
      throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 12; round++) {
      String tasks = prefix + round + "/";
      for (int task = 0; task < 30; task++)
        looking.updateRecord(RecordChanges.of(tasks + task).status("new"));
      CaptureOptions.Builder options =
          CaptureOptions.builder().prefix(tasks).count(30).ttl(Duration.ofMinutes(10));
      if (round % 2 == 0) options.waitForever();
      CompletableFuture<Captured> captured = client.captureAsync(options.build());
      Thread.sleep(0, random.nextInt(1_000_000));
      Thread.sleep(random.nextInt(8));
      if (!captured.cancel(true)) captured.get().close();
      ListOptions held = ListOptions.of(tasks).busyOnly();
      until(
          "nothing is held, seed " + seed,
          () -> looking.listLocks(held).allMatch(lock -> lock.holderCount() == 0));
    }
  }

  /** The second call's answer was on its way when another call under the request id released the lease. */
  @Test
  void aReleasedLeaseIsNotALockAgain() throws Exception {
    try (Script script = new Script()) {
      LockOptions options = LockOptions.builder().requestId("mine").noWait().build();
      CompletableFuture<Outcome> first = script.acquire(options);
      SessionCommand one = script.next();
      CompletableFuture<Outcome> second = script.acquire(options);
      SessionCommand two = script.next();
      var lease = Lease.newBuilder().setLeaseId("id").setLockName("x").setTtl(Times.protoOf(Duration.ofHours(1)));
      SessionResult.Builder granted =
          SessionResult.newBuilder().setAcquire(AcquireResponse.newBuilder().setLease(lease));
      script.answer(one, granted);
      HeldLock lock = assertInstanceOf(Outcome.Granted.class, first.get()).lock();
      lock.releaseAsync();
      assertEquals("id", script.next().getRelease().getLeaseId());
      script.answer(two, granted);
      SessionCommand again = script.next();
      assertEquals("mine", again.getAcquire().getRequestId());
      script.answer(
          again,
          SessionResult.newBuilder()
              .setAcquire(
                  AcquireResponse.newBuilder()
                      .setEnded(ClaimEnd.newBuilder().setReason(EndReason.END_REASON_RELEASED))));
      Refusal refusal = assertInstanceOf(Outcome.Refused.class, second.get()).refusal();
      assertEquals(Reason.RELEASED, refusal.reason());
    }
  }
}

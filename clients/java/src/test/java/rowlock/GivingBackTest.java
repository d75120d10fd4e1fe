package rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client that is closed leaves nothing behind, whatever was under way. */
@Timeout(120)
class GivingBackTest {
  private static final int CLOSING = 40;
  private static final int LOCKS_EACH = 8;
  private static final int CLOSED_AFTER_MAX_MS = 40;

  /** In groups, so that all of a group are closed in the same moments. */
  private static final int CONNECTED = 150;

  private static final int GROUP = 30;
  private static final int SOON_MS = 4;

  private static final LockOptions LASTING = LockOptions.builder().ttl(Duration.ofMinutes(10)).build();
  private static final LockOptions FOR_EVER = LockOptions.builder().noExpiry().build();

  @TempDir static Path folder;
  private static Server server;

  private final Rowlock looker = Rowlock.connect(server.address);
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @BeforeAll
  static void start() throws IOException {
    server = Server.start(folder);
  }

  @AfterAll
  static void stop() throws InterruptedException {
    server.close();
  }

  @AfterEach
  void close() {
    threads.shutdownNow();
    looker.close();
  }

  /** Names of locks that are held. */
  private List<String> heldUnder(String prefix) {
    return looker
        .listLocks(ListOptions.of(prefix).busyOnly())
        .filter(lock -> lock.holderCount() > 0)
        .map(LockView::name)
        .toList();
  }

  /** Has each of them ask for locks, and closes it a moment later. */
  private void closeAmidst(List<Rowlock> clients, String prefix, LockOptions options, int withinMs, long seed)
      throws Exception {
    Random random = new Random(seed);
    List<Future<?>> under = new ArrayList<>();
    for (int number = 0; number < clients.size(); number++) {
      Rowlock client = clients.get(number);
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
  void ofAClientThatIsClosedBeforeItsConnectionHasOpened() throws Exception {
    for (var how :
        Map.of(
                "wait/", LASTING,
                "try/", LASTING.withoutWait(),
                "wait-for-ever/", FOR_EVER,
                "try-for-ever/", FOR_EVER.withoutWait())
            .entrySet()) {
      long seed = System.nanoTime();
      List<Rowlock> clients = new ArrayList<>();
      for (int number = 0; number < CLOSING; number++) clients.add(Rowlock.connect(server.address));
      closeAmidst(clients, how.getKey(), how.getValue(), CLOSED_AFTER_MAX_MS, seed);
      assertEquals(List.of(), heldUnder(how.getKey()), "seed " + seed);
    }
  }

  @Test
  void ofAConnectedClientThatIsClosedWithLocksUnderWay() throws Exception {
    for (int group = 0; group < CONNECTED / GROUP; group++) {
      long seed = System.nanoTime();
      List<Rowlock> clients = new ArrayList<>();
      for (int number = 0; number < GROUP; number++) {
        Rowlock client = Rowlock.connect(server.address);
        client.getLock("connected");
        clients.add(client);
      }
      String prefix = "connected/" + group + "/";
      LockOptions options = group % 2 == 0 ? LASTING : FOR_EVER.withoutWait();
      closeAmidst(clients, prefix, options, SOON_MS, seed);
      assertEquals(List.of(), heldUnder(prefix), "seed " + seed);
    }
  }
}

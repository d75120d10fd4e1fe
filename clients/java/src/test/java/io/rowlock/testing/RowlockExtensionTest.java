package io.rowlock.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rowlock.HeldLock;
import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The extension starts the server of this repository. */
@Timeout(120)
class RowlockExtensionTest {
  private static final Path HOUSE = Path.of("../..").toAbsolutePath().normalize();
  private static final String[] COMMAND = {
    HOUSE.resolve("node_modules/.bin/node").toString(), HOUSE.resolve("server/main.ts").toString()
  };

  @RegisterExtension static final RowlockExtension rowlock = new RowlockExtension(COMMAND);

  @Test
  void givesTestsAServerAndAClient(RowlockServer server, RowlockClient client) throws Exception {
    assertSame(rowlock.server(), server);
    assertSame(rowlock.client(), client);
    try (RowlockClient other = RowlockClient.connect(rowlock.address());
        HeldLock lock = client.lock("job")) {
      assertTrue(other.tryLock("job").isEmpty());
    }
  }

  @Test
  void losesALockOnPurpose(RowlockClient client) {
    RowlockException lost =
        assertThrows(
            RowlockException.class,
            () ->
                client.withLock(
                    "lost",
                    lock -> {
                      assertEquals(1, rowlock.lose("lost"));
                      new CountDownLatch(1).await();
                    }));
    assertEquals(Reason.LEASE_LOST, lost.reason());
    assertEquals(0, rowlock.lose("lost"));
  }

  @Test
  void theServerStopsAndSaysHowToGetItIfItIsMissing() {
    RowlockServer server = RowlockServer.start(COMMAND);
    server.close();
    server.close();
    try (RowlockClient late = RowlockClient.connect(server.address())) {
      // Its client would try for long.
      assertThrows(RowlockException.class, () -> server.client().getLock("x"));
    }
    IllegalStateException missing =
        assertThrows(IllegalStateException.class, () -> RowlockServer.start("rowlock-is-missing"));
    assertTrue(missing.getMessage().contains("ROWLOCK_BIN"), missing.getMessage());
    IllegalStateException silent =
        assertThrows(IllegalStateException.class, () -> RowlockServer.start("echo"));
    assertTrue(silent.getMessage().contains("serve --ephemeral"), silent.getMessage());
  }
}

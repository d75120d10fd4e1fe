package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class WatchTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private final RowlockClient rowlock = RowlockClient.connect(server.address);

  @AfterEach
  void close() {
    rowlock.close();
  }

  private static List<String> names(WatchUpdate update) {
    return update.locks().stream().map(LockView::name).toList();
  }

  @Test
  void beginsWithASnapshotAndReportsEachChange() throws Exception {
    rowlock.updateRecord(RecordChanges.of("seen/1").status("new"));
    rowlock.updateRecord(RecordChanges.of("unseen").status("new"));
    try (Watch watch = rowlock.watch("seen/")) {
      WatchUpdate snapshot = watch.next();
      assertEquals(List.of("seen/1"), names(snapshot));
      assertTrue(snapshot.complete());
      assertFalse(snapshot.beganAnew());
      HeldLock lock = rowlock.lock("seen/1");
      WatchUpdate change = watch.next();
      assertEquals(lock.token(), change.locks().get(0).lastToken());
      assertFalse(change.complete());
      lock.close();
      while (change.locks().get(0).holderCount() > 0) change = watch.next();
      assertEquals(Optional.empty(), watch.next(Duration.ofMillis(50)));
    }
  }

  @Test
  void keepsOnlyTheLatestStateForASlowReader() throws Exception {
    try (Watch watch = rowlock.watch("slow/")) {
      watch.next();
      for (int run = 0; run < 20; run++) rowlock.lock("slow/1").close();
      // Until the last of the changes is there, unread.
      Until.until("it was watched", () -> rowlock.getLock("slow/1").lastToken() == 20);
      long token = 0;
      int updates = 0;
      for (; token < 20; updates++) token = watch.next().locks().get(0).lastToken();
      assertTrue(updates <= 40, updates + " updates");
    }
  }

  @Test
  void goesOnOverAnotherConnectionWithANewSnapshot() throws Exception {
    try (Pipe pipe = new Pipe(server.address);
        RowlockClient cut = RowlockClient.connect(pipe.address());
        Watch watch = cut.watch("over/")) {
      assertTrue(watch.next().complete());
      pipe.cut();
      rowlock.updateRecord(RecordChanges.of("over/1").status("new"));
      pipe.mend();
      WatchUpdate snapshot = watch.next();
      assertTrue(snapshot.beganAnew());
      while (!snapshot.complete()) snapshot = watch.next();
      assertEquals(List.of("over/1"), names(snapshot));
    }
  }

  @Test
  void endsWhenItOrItsClientIsClosed() throws Exception {
    Watch closed = rowlock.watch("");
    closed.close();
    closed.close();
    RowlockException ended =
        assertThrows(
            RowlockException.class,
            () -> {
              for (; ; ) closed.next();
            });
    assertEquals(Reason.CLOSED, ended.reason());
    Watch watch = rowlock.watch("none/");
    watch.next();
    CompletableFuture<Throwable> next =
        CompletableFuture.supplyAsync(() -> assertThrows(RowlockException.class, watch::next));
    rowlock.close();
    assertEquals(Reason.CLOSED, ((RowlockException) next.get()).reason());
    assertEquals(
        Reason.CLOSED,
        assertThrows(RowlockException.class, () -> rowlock.watch("").next()).reason());
  }

  @Test
  void failsIfSessionsAndStreamsAreRefused() throws Exception {
    Status refusal = Status.UNIMPLEMENTED.withDescription("no streams");
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, refusal);
        RowlockClient streamless = RowlockClient.connect(proxy.address());
        Watch watch = streamless.watch("")) {
      assertEquals(
          Status.Code.UNIMPLEMENTED, assertThrows(RowlockException.class, watch::next).code());
    }
  }
}

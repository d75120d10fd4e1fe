package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What survives a lost connection, and what happens to the rest. */
@Timeout(120)
class SurvivalTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private final BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
  private final Pipe pipe;
  private final RowlockClient rowlock;
  private final RowlockClient direct = RowlockClient.connect(server.address);

  SurvivalTest() throws IOException {
    pipe = new Pipe(server.address);
    rowlock =
        RowlockClient.connect(ConnectOptions.to(pipe.address()).onConnection(events::add).build());
  }

  @AfterEach
  void close() throws IOException {
    rowlock.close();
    direct.close();
    pipe.close();
  }

  @Test
  void locksAndPlacesOutliveAConnection() throws Exception {
    HeldLock lock = rowlock.lock("kept");
    BlockingQueue<LockState> states = new LinkedBlockingQueue<>();
    lock.onState(states::add);
    List<CompletableFuture<HeldLock>> line = new ArrayList<>();
    for (int index = 1; index <= 20; index++) {
      line.add(rowlock.lockAsync("kept", LockOptions.defaults()));
      int count = index;
      until("all wait", () -> direct.getLock("kept").waiterCount() == count);
    }
    pipe.cut();
    assertEquals(LockState.UNCERTAIN, states.take());
    pipe.mend();
    assertEquals(LockState.HELD, states.take());
    assertTrue(lock.release());
    for (int index = 0; index < line.size(); index++) {
      HeldLock next = line.get(index).get();
      assertEquals(index + 2, next.token());
      next.close();
    }
    assertInstanceOf(ConnectionEvent.Connected.class, events.take());
    assertInstanceOf(ConnectionEvent.Disconnected.class, events.take());
  }

  @Test
  void aLockIsLostBeforeItsLeaseEndsIfNoServerIsReached() throws Exception {
    HeldLock lock =
        rowlock.lock(
            "away", with -> with.ttl(Duration.ofSeconds(3)).margin(Duration.ofMillis(1_000)));
    BlockingQueue<String> order = new LinkedBlockingQueue<>();
    lock.onLost(() -> order.add("lost"));
    direct
        .lockAsync("away", LockOptions.defaults())
        .thenAccept(next -> order.add("granted " + next.token()));
    pipe.mute();
    assertEquals("lost", order.take());
    assertEquals("granted 2", order.take());
    assertEquals(LockState.LOST, lock.state());
  }

  @Test
  void aCallThatMustNotBeRepeatedFailsIfItsAnswerIsLost() throws Exception {
    assertEquals(1, rowlock.getLock("doubt").limit().permits());
    pipe.mute();
    CompletableFuture<LimitInForce> unsafe =
        CompletableFuture.supplyAsync(
            () -> rowlock.setLimit(LimitChange.ofName("doubt").to(5)));
    until("it was done", () -> direct.getLock("doubt").limit().permits() == 5);
    pipe.cut();
    Throwable why = assertThrows(ExecutionException.class, unsafe::get).getCause();
    assertEquals(Reason.CONNECTION_LOST, assertInstanceOf(RowlockException.class, why).reason());
  }

  @Test
  void aRecordThatMustNotBeChangedTwiceIsInDoubtToo() throws Exception {
    assertEquals(Optional.empty(), rowlock.getLock("record").record());
    pipe.mute();
    CompletableFuture<RecordView> unsafe =
        CompletableFuture.supplyAsync(
            () -> rowlock.updateRecord(RecordChanges.of("record").status("new")));
    until("it was done", () -> direct.getLock("record").record().isPresent());
    pipe.cut();
    Throwable why = assertThrows(ExecutionException.class, unsafe::get).getCause();
    assertEquals(Reason.CONNECTION_LOST, assertInstanceOf(RowlockException.class, why).reason());
  }

  @Test
  void aCaptureWhoseAnswerIsLostGetsItsLeasesByTheNextOne() throws Exception {
    for (String name : List.of("lost/1", "lost/2", "lost/3"))
      direct.updateRecord(RecordChanges.of(name).status("new"));
    assertEquals(0, rowlock.getLock("lost/1").holderCount());
    pipe.mute();
    CompletableFuture<Captured> capture =
        rowlock.captureAsync(CaptureOptions.builder().prefix("lost/").count(2).build());
    until("two are taken", () -> direct.getLock("lost/2").holderCount() == 1);
    pipe.cut();
    pipe.mend();
    List<HeldLock> locks = capture.get().locks();
    assertEquals(List.of("lost/1", "lost/2"), locks.stream().map(HeldLock::name).toList());
    for (HeldLock lock : locks) assertEquals(1, lock.token());
    assertEquals(0, direct.getLock("lost/3").holderCount());
  }

  @Test
  void aCaptureContinuesOverAnotherConnection() throws Exception {
    direct.updateRecord(RecordChanges.of("on/1").status("new"));
    Captured first = direct.capture(with -> with.prefix("on/"));
    CompletableFuture<Captured> waits =
        rowlock.captureAsync(CaptureOptions.builder().prefix("on/").waitForever().build());
    // The server answers this read after it has received the capture.
    rowlock.getLock("on/1");
    pipe.cut();
    assertInstanceOf(ConnectionEvent.Connected.class, events.take());
    assertInstanceOf(ConnectionEvent.Disconnected.class, events.take());
    pipe.mend();
    assertInstanceOf(ConnectionEvent.Connected.class, connected());
    first.close();
    assertEquals("on/1", waits.get().locks().get(0).name());
    // The server gave the capture of the lost connection up, so no other wait has taken the lock meanwhile.
    assertEquals(2, waits.get().locks().get(0).token());
  }

  private ConnectionEvent connected() throws InterruptedException {
    for (; ; ) {
      ConnectionEvent event = events.take();
      if (event instanceof ConnectionEvent.Connected) return event;
    }
  }

  @Test
  void whatIsSafeIsRepeated() throws Exception {
    assertEquals(1, rowlock.getLock("safe").limit().permits());
    pipe.mute();
    CompletableFuture<HeldLock> safe =
        rowlock.lockAsync("safe", LockOptions.builder().noWait().build());
    CompletableFuture<LimitInForce> unsafe =
        CompletableFuture.supplyAsync(() -> rowlock.setLimit(LimitChange.ofName("safe").to(5)));
    until("it was granted", () -> direct.getLock("safe").holderCount() == 1);
    until("it was set", () -> direct.getLock("safe").limit().permits() == 5);
    pipe.cut();
    pipe.mend();
    assertEquals(1, safe.get().token());
    // The client does not repeat it, because others may have set the value since.
    Throwable why = assertThrows(ExecutionException.class, unsafe::get).getCause();
    assertEquals(Reason.CONNECTION_LOST, assertInstanceOf(RowlockException.class, why).reason());
  }

  @Test
  void withoutAServerACallFailsInTimeAndSaysWhatToDo() throws IOException {
    pipe.cut();
    try (RowlockClient other =
        RowlockClient.connect(
            ConnectOptions.to(pipe.address()).giveUpAfter(Duration.ofMillis(400)).build())) {
      RowlockException none = assertThrows(RowlockException.class, () -> other.lock("none"));
      assertEquals(Reason.NO_SERVER, none.reason());
      assertTrue(none.getMessage().contains(pipe.address()), none.getMessage());
      assertTrue(none.getMessage().contains("nobody listens there"), none.getMessage());
    }
  }

  @Test
  void theFirstServerThatAnswersIsUsed() throws Exception {
    pipe.cut();
    try (RowlockClient other = RowlockClient.connect(pipe.address(), server.address)) {
      assertEquals(1, other.lock("second").token());
    }
  }

  @Test
  void failingHeadersFailOpenCalls() {
    ConnectOptions options =
        ConnectOptions.to(server.address)
            .headers(
                () -> {
                  throw new IllegalStateException("no token");
                })
            .build();
    try (RowlockClient other = RowlockClient.connect(options)) {
      RowlockException failed = assertThrows(RowlockException.class, () -> other.getLock("x"));
      assertTrue(failed.getMessage().contains("no token"), failed.getMessage());
    }
  }
}

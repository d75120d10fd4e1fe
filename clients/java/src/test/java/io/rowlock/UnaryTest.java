package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static io.rowlock.Until.until;

import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import rowlock.v1.AcquireRequest;
import rowlock.v1.AcquireResponse;
import rowlock.v1.GetLockRequest;
import rowlock.v1.GetLockResponse;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.Ticket;

/** The same operations over a connection that refuses streams. */
@Timeout(120)
class UnaryTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  @ParameterizedTest
  @EnumSource(
      value = Status.Code.class,
      names = {"UNIMPLEMENTED", "INTERNAL", "PERMISSION_DENIED", "UNKNOWN"})
  void unaryCallsReplaceASessionRefusedWithAnyCode(Status.Code code) throws Exception {
    String name = "way/" + code;
    BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
    try (StreamlessProxy proxy =
            new StreamlessProxy(server.address, code.toStatus().withDescription("no streams"));
        RowlockClient rowlock =
            RowlockClient.connect(
                ConnectOptions.to(proxy.address())
                    .owner("anna")
                    .label("team", "etl")
                    .onConnection(events::add)
                    .build())) {
      HeldLock lock = rowlock.lock(name, with -> with.label("run", "7"));
      assertEquals(1, lock.token());
      ConnectionEvent.Connected connected =
          assertInstanceOf(ConnectionEvent.Connected.class, events.take());
      assertEquals(ConnectionEvent.Via.UNARY, connected.via());
      ClaimView holder = rowlock.getLock(name).holders().get(0);
      assertEquals("anna", holder.owner());
      assertEquals(Map.of("team", "etl", "run", "7"), holder.labels());
      assertEquals(Optional.empty(), rowlock.tryLock(name));
      assertTrue(lock.release());
      assertEquals(1, proxy.count("Session"));
    }
  }

  @Test
  void everyCallHasADeadline() throws Exception {
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient rowlock = RowlockClient.connect(proxy.address());
        HeldLock held = rowlock.lock("deadline", with -> with.ttl(Duration.ofSeconds(1)))) {
      until("it is renewed", () -> proxy.count("Renew") > 0);
      assertThrows(
          RowlockException.class,
          () -> rowlock.lock("deadline", with -> with.waitAtMost(Duration.ofMillis(100))));
      try (Captured captured =
          rowlock.capture(with -> with.names("deadline").waitAtMost(Duration.ofMillis(100)))) {
        assertTrue(captured.locks().isEmpty());
      }
      assertEquals(1, rowlock.listLocks(ListOptions.of("deadline")).count());
      assertTrue(held.release());
      assertEquals(0, proxy.withoutDeadline());
    }
  }

  @Test
  void waitsPollAndMoveUp() throws Exception {
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient rowlock = RowlockClient.connect(proxy.address());
        RowlockClient direct = RowlockClient.connect(server.address)) {
      HeldLock first = direct.lock("wait");
      CompletableFuture<HeldLock> second = direct.lockAsync("wait", LockOptions.defaults());
      until("one waits", () -> direct.getLock("wait").waiterCount() == 1);
      BlockingQueue<Place> places = new LinkedBlockingQueue<>();
      CompletableFuture<HeldLock> third =
          rowlock.lockAsync(
              "wait",
              LockOptions.builder()
                  .onPosition(places::add)
                  .positionInterval(Duration.ofMillis(100))
                  .build());
      assertEquals(1, places.take().ahead());
      first.close();
      assertEquals(0, places.take().ahead());
      second.get().close();
      HeldLock lock = third.get();
      assertEquals(3, lock.token());
      // The call that returned the lease has confirmed it, so it has its whole ttl.
      assertTrue(lock.remaining().orElseThrow().compareTo(Duration.ofSeconds(20)) > 0);
    }
  }

  @Test
  void aCancelledWaitFreesItsPlace() throws Exception {
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient rowlock = RowlockClient.connect(proxy.address());
        HeldLock held = rowlock.lock("give up")) {
      CompletableFuture<HeldLock> waiting = rowlock.lockAsync("give up", LockOptions.defaults());
      until("it waits", () -> rowlock.getLock("give up").waiterCount() == 1);
      waiting.cancel(true);
      until("it does not", () -> rowlock.getLock("give up").waiterCount() == 0);
      RowlockException late =
          assertThrows(
              RowlockException.class,
              () -> rowlock.lock("give up", with -> with.waitAtMost(Duration.ofMillis(300))));
      assertEquals(Reason.TIMED_OUT, late.reason());
      assertTrue(held.isHeld());
    }
  }

  /** A proxy lets only so many calls through at a time, and a renewal must not wait until all waits have polled. */
  @Test
  void onlySoManyWaitsPollAtOnce() throws Exception {
    Queue<StreamObserver<AcquireResponse>> polls = new ConcurrentLinkedQueue<>();
    // On the thread of the connection, and thus in the order in which the client sends.
    io.grpc.Server slow = ServerBuilder.forPort(0).directExecutor().addService(new Slow(polls)).build().start();
    try (RowlockClient rowlock =
        RowlockClient.connect(
            ConnectOptions.to("127.0.0.1:" + slow.getPort()).closeWithin(Duration.ofMillis(100)).build())) {
      rowlock.getLock("many");
      for (int waits = 0; waits < UnaryConnection.POLLS_AT_ONCE + 10; waits++)
        rowlock.lockAsync("many", LockOptions.defaults());
      rowlock.getLock("many");
      assertEquals(UnaryConnection.POLLS_AT_ONCE, polls.size());
      for (int answers = 0; answers < 10; answers++) Slow.answer(polls.remove());
      until("the others poll", () -> polls.size() == UnaryConnection.POLLS_AT_ONCE);
    } finally {
      slow.shutdownNow();
    }
  }

  /** A server without sessions that answers polls when the test wants. */
  private static final class Slow extends LockServiceGrpc.LockServiceImplBase {
    private final Queue<StreamObserver<AcquireResponse>> polls;

    Slow(Queue<StreamObserver<AcquireResponse>> polls) {
      this.polls = polls;
    }

    static void answer(StreamObserver<AcquireResponse> poll) {
      poll.onNext(AcquireResponse.newBuilder().setTicket(Ticket.getDefaultInstance()).build());
      poll.onCompleted();
    }

    @Override
    public void acquire(AcquireRequest request, StreamObserver<AcquireResponse> poll) {
      polls.add(poll);
    }

    @Override
    public void getLock(GetLockRequest request, StreamObserver<GetLockResponse> answers) {
      answers.onNext(GetLockResponse.getDefaultInstance());
      answers.onCompleted();
    }
  }

  @Test
  void leasesAreRenewedAndTheirLossIsNoticed() throws Exception {
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient rowlock = RowlockClient.connect(proxy.address());
        RowlockClient direct = RowlockClient.connect(server.address)) {
      HeldLock lock = rowlock.lock("renewed", with -> with.ttl(Duration.ofSeconds(3)));
      until("renewed over several ttls", () -> proxy.count("Renew") >= 4);
      assertTrue(lock.isHeld());
      CompletableFuture<String> lost = new CompletableFuture<>();
      lock.onLost(() -> lost.complete("lost"));
      direct.forceRelease("renewed", "test");
      assertEquals("lost", lost.get());
      RowlockException why = assertThrows(RowlockException.class, lock::requireHeld);
      ClaimEndView end = why.end().orElseThrow();
      assertEquals(Reason.FORCE_RELEASED, end.reason());
      assertEquals("test", end.note());
      assertTrue(end.endedAt().isPresent());
    }
  }
}

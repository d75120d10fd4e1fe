package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import rowlock.v1.CaptureRequest;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionRequest;
import rowlock.v1.SessionResponse;

/** How commands are gathered into requests. */
@Timeout(120)
class SessionConnectionTest {
  private final BlockingQueue<SessionRequest> requests = new LinkedBlockingQueue<>();

  private static SessionCommand capture(long call) {
    return SessionCommand.newBuilder()
        .setCall(call)
        .setCapture(CaptureRequest.getDefaultInstance())
        .build();
  }

  private static SessionCommand cancel(long call) {
    return SessionCommand.newBuilder().setCancel(call).build();
  }

  @Test
  void aCommandCancelledBeforeItWasSentIsDropped() throws Exception {
    Server server = ServerBuilder.forPort(0).addService(new Hearing()).build().start();
    EventLoop loop = new EventLoop();
    CompletableFuture<SessionConnection> opened = new CompletableFuture<>();
    try {
      Address address = new Address("127.0.0.1", server.getPort());
      loop.run(
          () -> {
            SessionConnection connection = connect(loop, address, 100_000);
            opened.complete(connection);
            connection.send(capture(1));
            connection.send(capture(2));
            assertFalse(connection.cancel(1));
            assertFalse(connection.hasSent(2));
          });
      assertEquals(List.of(capture(2)), requests.take().getCommandsList());
      loop.run(
          () -> {
            assertTrue(opened.join().hasSent(2));
            assertTrue(opened.join().cancel(2));
          });
      assertEquals(List.of(cancel(2)), requests.take().getCommandsList());
      loop.run(opened.join()::destroy);
    } finally {
      loop.close();
      server.shutdownNow();
    }
  }

  @ParameterizedTest
  @CsvSource({"100, 1", "1024, 15", "1000000, 500"})
  void aRenewalStaysWithinTheBytesOfACommand(int bytesMax, int count) {
    EventLoop loop = new EventLoop();
    SessionConnection connection = connect(loop, new Address("127.0.0.1", 9), bytesMax);
    assertEquals(count, connection.renewalsMax());
    loop.run(connection::destroy);
    loop.close();
  }

  private static SessionConnection connect(EventLoop loop, Address address, int bytesMax) {
    return new SessionConnection(
        loop,
        new Clock(),
        address,
        Channels.open(address, Optional.empty(), List.of()),
        "anna",
        Map.of(),
        bytesMax,
        new Deaf());
  }

  private final class Hearing extends LockServiceGrpc.LockServiceImplBase {
    @Override
    public StreamObserver<SessionRequest> session(StreamObserver<SessionResponse> answers) {
      return new StreamObserver<>() {
        @Override
        public void onNext(SessionRequest request) {
          requests.add(request);
        }

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
      };
    }
  }

  private static final class Deaf implements Connection.Listener {
    @Override
    public void onResponded(Connection connection, SessionResponse response, long basis) {}

    @Override
    public void onEnded(Connection connection, RowlockException error) {}
  }
}

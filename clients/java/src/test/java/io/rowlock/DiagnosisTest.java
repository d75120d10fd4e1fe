package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rowlock.Diagnosis.Kind;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the client says of a server that is none. The conformance suite has the cases of TLS. */
@Timeout(120)
class DiagnosisTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  /** A server that says the same to everybody, and then nothing. */
  private static final class Parrot implements AutoCloseable {
    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Thread accepting;

    Parrot(String words) throws IOException {
      accepting =
          new Thread(
              () -> {
                for (; ; )
                  try {
                    Socket socket = listening.accept();
                    socket.getOutputStream().write(words.getBytes(StandardCharsets.ISO_8859_1));
                  } catch (IOException closed) {
                    if (listening.isClosed()) return;
                  }
              });
      accepting.setDaemon(true);
      accepting.start();
    }

    Address address() {
      return new Address("127.0.0.1", listening.getLocalPort());
    }

    @Override
    public void close() throws IOException {
      listening.close();
      try {
        // Until it has ended, the port is in use, and one more connection may come.
        accepting.join();
      } catch (InterruptedException interrupted) {
        throw new InterruptedIOException();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "HTTP/1.1 400 Bad Request, OTHER_PROTOCOL, a web server (HTTP/1) answers there",
    "SSH-2.0-OpenSSH_9.2, OTHER_PROTOCOL, an SSH server answers there",
    "220 mail.example ESMTP, OTHER_PROTOCOL, something else answers there",
    "'', SILENT, does not answer like a Rowlock server"
  })
  void namesWhatElseListens(String words, Kind kind, String sentence) throws IOException {
    try (Parrot parrot = new Parrot(words)) {
      Diagnosis found = Probe.of(parrot.address(), Optional.empty());
      assertEquals(kind, found.kind(), found.toString());
      assertTrue(found.sentence().contains(sentence), found.sentence());
      assertEquals(parrot.address().toString(), found.address());
    }
  }

  @Test
  void knowsMysqlByItsGreeting() throws IOException {
    try (Parrot parrot = new Parrot("J\u0000\u0000\u0000\n8.0.36")) {
      String found = Probe.of(parrot.address(), Optional.empty()).sentence();
      assertTrue(found.startsWith("a MySQL or MariaDB server answers there"), found);
    }
  }

  @Test
  void knowsThatNobodyListensAndThatThereIsNoSuchHost() throws IOException {
    Parrot gone = new Parrot("");
    gone.close();
    assertEquals(Kind.NOBODY_LISTENS, Probe.of(gone.address(), Optional.empty()).kind());
    assertEquals(
        Kind.NO_SUCH_HOST, Probe.of(new Address("nowhere.invalid", 1), Optional.empty()).kind());
  }

  @Test
  void knowsAServerThatSpeaksPlainText() {
    Diagnosis found = Probe.of(Address.of(server.address), Optional.of(TlsOptions.ofSystem()));
    assertEquals(Kind.WANTS_PLAIN_TEXT, found.kind());
  }

  @Test
  void failsAtOnceIfWaitingCannotHeal() throws IOException {
    try (Parrot web = new Parrot("HTTP/1.1 400 Bad Request\r\n\r\n");
        RowlockClient client = patient(web.address().toString())) {
      long began = System.nanoTime();
      for (int call = 0; call < 2; call++) {
        RowlockException none = assertThrows(RowlockException.class, () -> client.lock("x"));
        assertEquals(Reason.NO_SERVER, none.reason());
        assertEquals(List.of(Kind.OTHER_PROTOCOL), kinds(none));
        assertTrue(none.getMessage().contains(web.address() + ": a web server"), none.getMessage());
        StringWriter trace = new StringWriter();
        none.printStackTrace(new PrintWriter(trace));
        assertFalse(trace.toString().contains("Pipeline"), trace.toString());
      }
      // Far from the ten minutes that the client would try otherwise.
      assertTrue(System.nanoTime() - began < Duration.ofSeconds(30).toNanos());
    }
  }

  /** What a program prints that does not catch it: the sentence and the way to it, without what gRPC has gone through. */
  @Test
  void aProgramWithoutAServerPrintsAFewLines() throws IOException {
    Parrot gone = new Parrot("");
    gone.close();
    ConnectOptions options = ConnectOptions.to(gone.address().toString()).giveUpAfter(Duration.ofSeconds(5)).build();
    try (RowlockClient client = RowlockClient.connect(options)) {
      RowlockException none;
      do none = assertThrows(RowlockException.class, () -> client.lock("x"));
      while (none.diagnoses().isEmpty());
      assertNull(none.getCause());
      long own = Arrays.stream(none.getStackTrace()).filter(frame -> frame.getClassName().startsWith("io.rowlock.")).count();
      assertTrue(own < 15, none.toString());
    }
  }

  @Test
  void waitsWhileOneOfTheAddressesMayHeal() throws Exception {
    try (Pipe pipe = new Pipe(server.address);
        Parrot web = new Parrot("HTTP/1.1 400 Bad Request\r\n\r\n")) {
      pipe.cut();
      try (RowlockClient client = patient(web.address().toString(), pipe.address())) {
        CompletableFuture<HeldLock> asked = client.lockAsync("healed", LockOptions.defaults());
        Thread.sleep(1_500);
        assertFalse(asked.isDone());
        pipe.mend();
        assertEquals(1, asked.get().token());
      }
    }
  }

  private static RowlockClient patient(String... addresses) {
    return RowlockClient.connect(
        ConnectOptions.to(addresses).giveUpAfter(Duration.ofMinutes(10)).build());
  }

  private static List<Kind> kinds(RowlockException error) {
    return error.diagnoses().stream().map(Diagnosis::kind).toList();
  }
}

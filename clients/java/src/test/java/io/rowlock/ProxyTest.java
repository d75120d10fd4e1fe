// Which connections go through a proxy of the environment, and what calls say then. The environment belongs to a process, so
// each case of a whole client is a process of its own.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class ProxyTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private static final String FAR = "locks.example:50051";
  private static final String TOKEN = "the-token-of-the-child";

  /** An HTTP proxy that answers each CONNECT with the same status, may connect to a target then, and keeps what it hears. */
  private static final class Recorder implements AutoCloseable {
    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final ByteArrayOutputStream heard = new ByteArrayOutputStream();
    private final String status;
    private final Optional<Address> target;

    Recorder(String status, Optional<Address> target) throws IOException {
      this.status = status;
      this.target = target;
      start(
          () -> {
            while (true) {
              Socket socket = listening.accept();
              start(() -> serve(socket));
            }
          });
    }

    private void serve(Socket near) throws IOException {
      try (near) {
        StringBuilder head = new StringBuilder();
        for (int next; !head.toString().endsWith("\r\n\r\n") && (next = near.getInputStream().read()) >= 0; ) {
          hear(next);
          head.append((char) next);
        }
        near.getOutputStream().write(("HTTP/1.1 " + status + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        if (target.isEmpty()) return;
        try (Socket far = new Socket(target.get().host(), target.get().port())) {
          InputStream answers = far.getInputStream();
          start(() -> answers.transferTo(near.getOutputStream()));
          for (int next; (next = near.getInputStream().read()) >= 0; ) {
            hear(next);
            far.getOutputStream().write(next);
          }
        }
      }
    }

    private synchronized void hear(int next) {
      heard.write(next);
    }

    synchronized String heard() {
      return heard.toString(StandardCharsets.ISO_8859_1);
    }

    String port() {
      return String.valueOf(listening.getLocalPort());
    }

    private interface Step {
      void run() throws IOException;
    }

    private static void start(Step step) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  step.run();
                } catch (IOException ended) {
                  // One of both sides has closed the connection.
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    @Override
    public void close() throws IOException {
      listening.close();
    }
  }

  /** Asks a server once, with a token, and prints the outcome. */
  static final class Child {
    public static void main(String[] args) {
      ConnectOptions.Builder options =
          ConnectOptions.to(args[0])
              .token(TOKEN)
              .allowTokenInPlaintext(true)
              .connectTimeout(Duration.ofSeconds(1))
              .giveUpAfter(Duration.ofSeconds(2));
      if (args[1].equals("tls")) options.tls(TlsOptions.ofSystem());
      try (RowlockClient client = RowlockClient.connect(options.build())) {
        while (true) {
          try {
            client.getLock("a");
            System.out.println("answered");
            return;
          } catch (RowlockException failure) {
            // The look at an address may take longer than the call.
            if (failure.diagnoses().isEmpty()) continue;
            System.out.println(failure.diagnoses().get(0).kind() + " " + failure.getMessage());
            return;
          }
        }
      }
    }
  }

  private static String ask(String address, String security, Map<String, String> environment, String... properties)
      throws IOException {
    List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
    command.addAll(List.of(properties));
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(Child.class.getName(), address, security));
    ProcessBuilder child = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
    child.environment().putAll(environment);
    try (BufferedReader said = new BufferedReader(new InputStreamReader(child.start().getInputStream(), StandardCharsets.UTF_8))) {
      return said.lines().collect(Collectors.joining("\n"));
    }
  }

  /** All that names a proxy, without the exceptions of Java for this machine. */
  private static String[] properties(Recorder proxy) {
    return new String[] {
      "-Dhttp.nonProxyHosts=", "-Dhttps.proxyHost=127.0.0.1", "-Dhttps.proxyPort=" + proxy.port(),
      "-Dhttp.proxyHost=127.0.0.1", "-Dhttp.proxyPort=" + proxy.port(), "-DsocksProxyHost=127.0.0.1",
      "-DsocksProxyPort=" + proxy.port()
    };
  }

  private static Map<String, String> variables(Recorder proxy) {
    String url = "http://127.0.0.1:" + proxy.port();
    return Map.of(
        "GRPC_PROXY_EXP", "127.0.0.1:" + proxy.port(), "HTTPS_PROXY", url, "https_proxy", url, "http_proxy", url,
        "grpc_proxy", url);
  }

  @ParameterizedTest
  @CsvSource({
    "SERVER, plain, answered",
    "SERVER, tls, WANTS_PLAIN_TEXT",
    "locks.invalid:50051, plain, NO_SUCH_HOST",
  })
  void neverSendsPlainTextOrWhatStaysHereToAProxy(String address, String security, String says) throws IOException {
    String to = address.replace("SERVER", server.address);
    try (Recorder proxy = new Recorder("200 OK", Optional.of(Address.of(server.address)))) {
      String byVariable = ask(to, security, variables(proxy), properties(proxy));
      String byProperty = ask(to, security, Map.of(), properties(proxy));
      assertTrue(byVariable.contains(says) && byProperty.contains(says), byVariable + byProperty);
      assertEquals("", proxy.heard());
    }
  }

  @Test
  void sendsTlsBeyondThisMachineThroughTheProxyAndSaysSo() throws IOException {
    try (Recorder proxy = new Recorder("200 OK", Optional.of(Address.of(server.address)))) {
      String said = ask(FAR, "tls", Map.of(), properties(proxy));
      assertTrue(said.contains("WANTS_PLAIN_TEXT"), said);
      assertTrue(said.contains("through the proxy 127.0.0.1:" + proxy.port() + " of https.proxyHost: it speaks plain"), said);
      assertTrue(proxy.heard().startsWith("CONNECT " + FAR), proxy.heard());
      assertFalse(proxy.heard().contains(TOKEN));
    }
    try (Recorder proxy = new Recorder("403 Forbidden", Optional.empty())) {
      String said = ask(FAR, "tls", variables(proxy));
      assertTrue(said.contains("PROXY_REFUSES"), said);
      assertTrue(said.contains("of GRPC_PROXY_EXP: it refuses to connect to the address (it answers \"403 Forbidden\")"), said);
    }
  }

  @ParameterizedTest
  @CsvSource({"NO_PROXY", "no_proxy"})
  void heedsNoProxyOfTheEnvironment(String variable) throws IOException {
    try (Recorder proxy = new Recorder("200 OK", Optional.of(Address.of(server.address)))) {
      String said = ask("locks.invalid:50051", "tls", Map.of(variable, "a,.invalid"), properties(proxy));
      assertTrue(said.contains("NO_SUCH_HOST"), said);
      assertEquals("", proxy.heard());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "502 Bad Gateway, UNREACHABLE, it cannot connect to the address (it answers \"502 Bad Gateway\")",
    "407 Proxy Authentication Required, PROXY_REFUSES, it refuses to connect to the address",
  })
  void saysWhatTheProxyAnswers(String status, Diagnosis.Kind kind, String says) throws IOException {
    try (Recorder proxy = new Recorder(status, Optional.empty())) {
      Diagnosis found = probe("127.0.0.1:" + proxy.port());
      assertEquals(kind, found.kind());
      assertTrue(found.sentence().startsWith("through the proxy 127.0.0.1:" + proxy.port() + " of GRPC_PROXY_EXP: " + says), found.sentence());
    }
  }

  @Test
  void saysThatNoProxyIsThere() throws IOException {
    Recorder gone = new Recorder("200 OK", Optional.empty());
    gone.close();
    Diagnosis found = probe("127.0.0.1:" + gone.port());
    assertEquals(Diagnosis.Kind.UNREACHABLE, found.kind());
    assertTrue(found.sentence().contains("of GRPC_PROXY_EXP: it cannot be reached"), found.sentence());
  }

  private static Diagnosis probe(String proxy) {
    return Probe.of(Address.of(FAR), Optional.of(TlsOptions.ofSystem()), Map.of("GRPC_PROXY_EXP", proxy)::get);
  }

  @ParameterizedTest
  @CsvSource({
    "*, true", "locks.example, true", ".example, true", "*.example, true", "EXAMPLE, true", "locks.example:50051, true",
    "locks.example:1, false", "ocks.example, false", "10.0.0.0/8, false", "'', false", "'a, ,locks.example', true",
  })
  void aHostIsInNoProxyByItsNameOrDomain(String list, boolean isCovered) {
    assertEquals(isCovered, NoProxy.of(Map.of("NO_PROXY", list)::get).covers(Address.of(FAR)));
  }

  @ParameterizedTest
  @CsvSource({
    "10.1.2.3:1, '10.0.0.0/8', true", "11.1.2.3:1, '10.0.0.0/8', false", "10.1.2.3:1, 10.1.2.3, true",
    "10.1.2.3:1, '10.1.2.3:2', false", "10.1.2.3:1, 2.3, false", "[fd00::1]:1, 'fd00::/8', true",
    "[fd00::1]:1, '[fd00:0::1]:1', true", "[fd00::1]:1, '10.0.0.0/8', false", "10.1.2.3:1, '10.0.0.0/99', false",
  })
  void anAddressIsInNoProxyByItselfOrItsRange(String address, String list, boolean isCovered) {
    assertEquals(isCovered, NoProxy.of(Map.of("no_proxy", list)::get).covers(Address.of(address)));
  }

  @ParameterizedTest
  @CsvSource({
    "localhost:1, true", "LOCALHOST.:1, true", "a.localhost:1, true", "127.1.2.3:1, true", "[::1]:1, true", "0.0.0.0:1, true",
    "[::]:1, true", "[::ffff:127.0.0.1]:1, true", "locks.example:1, false", "10.1.2.3:1, false", "localhost.example:1, false",
  })
  void someHostsCanOnlyBeThisMachine(String address, boolean stays) {
    assertEquals(stays, Address.of(address).staysHere());
  }
}

// Which proxy of this program's environment a connection goes through, and how a probe connects through one. It shows no
// password of a proxy, and keeps nothing.

package io.rowlock;

import io.grpc.HttpConnectProxiedSocketAddress;
import io.grpc.ProxiedSocketAddress;
import io.rowlock.Diagnosis.Kind;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Authenticator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PasswordAuthentication;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A proxy that takes CONNECT.
 *
 * @param host of the proxy
 * @param port of the proxy
 * @param source names it: a variable of the environment, a system property, or the ProxySelector
 */
record HttpProxy(String host, int port, String source) {
  private static final String VARIABLE = "GRPC_PROXY_EXP";
  private static final String PROPERTY = "https.proxyHost";
  private static final int PORT_DEFAULT = 80;

  /** No proxy has more to say about a CONNECT. */
  private static final int HEAD_BYTES_MAX = 16_384;

  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] (\\d{3})([^\\r\\n]*)");
  private static final int OK = 200;
  private static final int SERVER_ERROR = 500;

  /** What is wrong with the proxy itself, and not with the server behind it. */
  static final class Fault extends IOException {
    private static final long serialVersionUID = 1;
    final Kind kind;

    Fault(Kind kind, String sentence) {
      super(sentence);
      this.kind = kind;
    }
  }

  /**
   * The proxy for an address. Nothing in plain text goes to a proxy, which could read it, and nothing that stays on this
   * machine. gRPC alone would send both to the proxy of GRPC_PROXY_EXP. Blocks for a second at most.
   */
  static Optional<HttpProxy> to(Address address, boolean isEncrypted, UnaryOperator<String> environment) {
    if (!isEncrypted || address.staysHere() || NoProxy.of(environment).covers(address)) return Optional.empty();
    return named(address, environment).filter(proxy -> !address.leadsHere());
  }

  private static Optional<HttpProxy> named(Address address, UnaryOperator<String> environment) {
    String named = environment.apply(VARIABLE);
    if (named != null && !named.isBlank()) return Optional.of(ofVariable(named.trim()));
    ProxySelector selector = ProxySelector.getDefault();
    if (selector == null) return Optional.empty();
    // gRPC speaks HTTP to the first proxy only, so any other kind is of no use.
    return selector.select(asked(address)).stream()
        .limit(1)
        .filter(proxy -> proxy.type() == Proxy.Type.HTTP)
        .map(proxy -> ofSelector((InetSocketAddress) proxy.address()))
        .findFirst();
  }

  private static HttpProxy ofVariable(String named) {
    Matcher parts = Pattern.compile("(.*?)(?::(\\d{1,5}))?").matcher(named);
    parts.matches();
    int port = parts.group(2) == null ? PORT_DEFAULT : Integer.parseInt(parts.group(2));
    return new HttpProxy(parts.group(1), port, VARIABLE);
  }

  private static HttpProxy ofSelector(InetSocketAddress at) {
    boolean isOfProperty = at.getHostString().equals(System.getProperty(PROPERTY));
    return new HttpProxy(
        at.getHostString(), at.getPort(), isOfProperty ? PROPERTY : "the ProxySelector of this program");
  }

  private static URI asked(Address address) {
    try {
      return new URI("https", null, address.host(), address.port(), null, null, null);
    } catch (URISyntaxException impossible) {
      throw new IllegalArgumentException(impossible);
    }
  }

  /** For gRPC. Throws an IOException if the proxy's host is unknown. */
  ProxiedSocketAddress between(Address address) throws IOException {
    HttpConnectProxiedSocketAddress.Builder builder =
        HttpConnectProxiedSocketAddress.newBuilder()
            .setProxyAddress(resolved())
            .setTargetAddress(InetSocketAddress.createUnresolved(address.host(), address.port()));
    login()
        .ifPresent(
            login -> builder.setUsername(login.getUserName()).setPassword(new String(login.getPassword())));
    return builder.build();
  }

  private InetSocketAddress resolved() throws UnknownHostException {
    return new InetSocketAddress(InetAddress.getByName(host), port);
  }

  /** What the program's Authenticator says, as gRPC asks it, too. */
  private Optional<PasswordAuthentication> login() throws UnknownHostException {
    if (source.equals(VARIABLE)) return Optional.empty();
    return Optional.ofNullable(
        Authenticator.requestPasswordAuthentication(
            host, resolved().getAddress(), port, "https", "", null, null, Authenticator.RequestorType.PROXY));
  }

  /** Connects through the proxy, for a probe. Throws a Fault if the proxy is the reason why that fails. */
  Socket connect(Address address, int timeoutMs) throws IOException {
    Socket socket = new Socket(Proxy.NO_PROXY);
    try {
      socket.connect(resolved(), timeoutMs);
      socket.setSoTimeout(timeoutMs);
    } catch (IOException unreachable) {
      socket.close();
      throw new Fault(
          Kind.UNREACHABLE, "it cannot be reached (" + unreachable.getMessage() + "): start it, or " + advice());
    }
    try {
      StringBuilder request = new StringBuilder("CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n");
      login().ifPresent(login -> request.append("Proxy-Authorization: Basic ").append(encoded(login)).append("\r\n"));
      socket.getOutputStream().write(request.append("\r\n").toString().getBytes(StandardCharsets.UTF_8));
      judge(head(socket.getInputStream()));
      return socket;
    } catch (Fault fault) {
      socket.close();
      throw fault;
    } catch (IOException broken) {
      socket.close();
      throw new Fault(Kind.PROXY_REFUSES, "it does not answer like an HTTP proxy: " + advice());
    }
  }

  private static String encoded(PasswordAuthentication login) {
    String both = login.getUserName() + ":" + new String(login.getPassword());
    return Base64.getEncoder().encodeToString(both.getBytes(StandardCharsets.UTF_8));
  }

  /** The answer up to its empty line, after which the server speaks. */
  private static String head(InputStream in) throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    while (head.size() < HEAD_BYTES_MAX) {
      int next = in.read();
      if (next < 0) break;
      head.write(next);
      if (next == '\n' && head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) break;
    }
    return head.toString(StandardCharsets.ISO_8859_1);
  }

  private void judge(String head) throws Fault {
    Matcher status = STATUS.matcher(head);
    if (!status.lookingAt())
      throw new Fault(Kind.PROXY_REFUSES, "it does not answer like an HTTP proxy: " + advice());
    int code = Integer.parseInt(status.group(1));
    if (code == OK) return;
    String answer = "it answers \"" + code + status.group(2) + "\"";
    if (code >= SERVER_ERROR)
      throw new Fault(
          Kind.UNREACHABLE, "it cannot connect to the address (" + answer + "): check the address, or " + advice());
    throw new Fault(
        Kind.PROXY_REFUSES,
        "it refuses to connect to the address (" + answer + "): allow that on the proxy, or " + advice());
  }

  private String advice() {
    return "name the host in NO_PROXY, or correct " + source;
  }

  @Override
  public String toString() {
    return "the proxy " + new Address(host, port) + " of " + source;
  }
}

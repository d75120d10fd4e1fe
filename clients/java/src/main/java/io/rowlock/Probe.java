// Finds out why a server has not answered: connects to the address as any client would, and looks at what comes back.
// Runs only after a failure, and blocks its thread for at most a second or two.

package io.rowlock;

import io.rowlock.Diagnosis.Kind;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

final class Probe {
  /** How long one look may take. There are two at most. */
  private static final int LOOK_MS = 1_000;

  /** The first bytes of an HTTP/2 client: the preface and empty settings. */
  private static final byte[] HELLO = hello();

  /** The type of the SETTINGS frame, which every HTTP/2 server sends first. */
  private static final int SETTINGS = 4;

  private static final int FRAME_HEAD_BYTES = 9;
  private static final int MYSQL_PROTOCOL = 10;
  private static final int TLS_ALERT = 0x15;

  /** The alerts with which a server refuses the certificate of a client, or the lack of one. */
  private static final Pattern REFUSED =
      Pattern.compile("alert: (certificate|bad_certificate|unknown_ca|handshake_failure)");

  private static final Pattern OTHER_NAME =
      Pattern.compile("No subject alternative|No name matching", Pattern.CASE_INSENSITIVE);

  private final Address address;
  private final Optional<TlsOptions> tls;

  private final Optional<HttpProxy> proxy;

  private Probe(Address address, Optional<TlsOptions> tls, UnaryOperator<String> environment) {
    this.address = address;
    this.tls = tls;
    proxy = HttpProxy.to(address, tls.isPresent(), environment);
  }

  /** Blocks for as long as it looks. */
  static Diagnosis of(Address address, Optional<TlsOptions> tls) {
    return of(address, tls, System::getenv);
  }

  static Diagnosis of(Address address, Optional<TlsOptions> tls, UnaryOperator<String> environment) {
    Probe probe = new Probe(address, tls, environment);
    return tls.isPresent() ? probe.throughTls() : probe.inPlainText();
  }

  private Diagnosis inPlainText() {
    Plain found = lookInPlainText();
    if (found.diagnosis != null) return found.diagnosis;
    if (found == Plain.HTTP_2) return notRowlock();
    // A server that does not understand plain text may just stay silent, so this tries TLS.
    if (found == Plain.TLS || lookThroughTls(TlsOptions.any()).speaksTls())
      return diagnosis(
          Kind.WANTS_TLS, "it wants TLS: set tls(...) of the ConnectOptions, with the certificate of its authority");
    return diagnosis(
        Kind.SILENT,
        "something listens there, but does not answer like a Rowlock server: check the port, and whether the server is"
            + " overloaded");
  }

  private Diagnosis throughTls() {
    Tls found = lookThroughTls(tls.orElseThrow());
    if (found.fault() != null) return found.fault();
    if (found.speaksTls())
      return found.protocol().equals("h2")
          ? notRowlock()
          : diagnosis(
              Kind.OTHER_PROTOCOL,
              "it speaks TLS, but not HTTP/2, so it is not a Rowlock server: check the port");
    Plain plain = lookInPlainText();
    if (plain.diagnosis != null) return plain.diagnosis;
    if (plain == Plain.HTTP_2)
      return diagnosis(
          Kind.WANTS_PLAIN_TEXT, "it speaks plain text: leave tls(...) of the ConnectOptions out");
    return diagnosis(
        Kind.SILENT,
        "something listens there, but speaks no TLS that this client understands: check the port");
  }

  private Diagnosis notRowlock() {
    return diagnosis(
        Kind.SILENT,
        "a server answers, but not like a Rowlock server, or not in time: check the port and any proxies, or raise"
            + " giveUpAfter");
  }

  private Diagnosis diagnosis(Kind kind, String sentence) {
    String through = proxy.map(between -> "through " + between + ": ").orElse("");
    return new Diagnosis(address.toString(), kind, through + sentence);
  }

  /** What answers in plain text: one of the three, or something that has its diagnosis. */
  private static final class Plain {
    static final Plain HTTP_2 = new Plain(null);
    static final Plain TLS = new Plain(null);
    static final Plain SILENT = new Plain(null);

    final Diagnosis diagnosis;

    Plain(Diagnosis diagnosis) {
      this.diagnosis = diagnosis;
    }
  }

  private Plain lookInPlainText() {
    try (Socket socket = connected()) {
      socket.getOutputStream().write(HELLO);
      byte[] heard = read(socket.getInputStream());
      return heard.length == 0 ? Plain.SILENT : whatSpeaks(heard);
    } catch (HttpProxy.Fault ofProxy) {
      return new Plain(diagnosis(ofProxy.kind, ofProxy.getMessage()));
    } catch (SocketTimeoutException | SocketException failure) {
      return whyNotReached(failure);
    } catch (IOException unreachable) {
      return unreached(unreachable);
    }
  }

  private Socket connected() throws IOException {
    if (proxy.isPresent()) return proxy.get().connect(address, LOOK_MS);
    InetSocketAddress where = new InetSocketAddress(address.host(), address.port());
    if (where.isUnresolved()) throw new UnknownHostException(address.host());
    // Without the SOCKS proxy of the system properties, which gRPC does not use either.
    Socket socket = new Socket(Proxy.NO_PROXY);
    try {
      socket.connect(where, LOOK_MS);
      socket.setSoTimeout(LOOK_MS);
      return socket;
    } catch (SocketTimeoutException late) {
      socket.close();
      throw new IOException("it does not answer", late);
    } catch (IOException failure) {
      socket.close();
      throw failure;
    }
  }

  /** The first bytes that come, until there are enough of them or time is over. */
  private static byte[] read(InputStream in) throws IOException {
    ByteArrayOutputStream heard = new ByteArrayOutputStream();
    try {
      while (heard.size() < FRAME_HEAD_BYTES) {
        int next = in.read();
        if (next < 0) break;
        heard.write(next);
      }
    } catch (SocketTimeoutException | SocketException silent) {
      // What came before that may be enough.
    }
    return heard.toByteArray();
  }

  private Plain whatSpeaks(byte[] heard) {
    byte[] head = Arrays.copyOf(heard, FRAME_HEAD_BYTES);
    String text = new String(heard, StandardCharsets.ISO_8859_1);
    if (head[3] == SETTINGS && head[0] == 0) return Plain.HTTP_2;
    if (head[0] == TLS_ALERT && head[1] == 3) return Plain.TLS;
    if (text.startsWith("HTTP/1")) return other("a web server (HTTP/1)");
    if (text.startsWith("SSH-")) return other("an SSH server");
    if (head[3] == 0 && head[4] == MYSQL_PROTOCOL) return other("a MySQL or MariaDB server");
    return other("something else");
  }

  private Plain other(String what) {
    return new Plain(
        diagnosis(
            Kind.OTHER_PROTOCOL, what + " answers there, not a Rowlock server: check the port"));
  }

  private Plain whyNotReached(IOException failure) {
    if (failure instanceof ConnectException)
      return new Plain(
          diagnosis(
              Kind.NOBODY_LISTENS,
              "nobody listens there: start a server with `rowlock serve`, or check the port"));
    boolean isReset = failure instanceof SocketException && !(failure instanceof NoRouteToHostException);
    return isReset ? Plain.SILENT : unreached(failure);
  }

  private Plain unreached(IOException failure) {
    if (failure instanceof UnknownHostException)
      return new Plain(
          diagnosis(Kind.NO_SUCH_HOST, "there is no such host: check its name"));
    String why = failure.getMessage();
    return new Plain(
        diagnosis(
            Kind.UNREACHABLE,
            "it cannot be reached (" + why + "): check the network and its firewalls"));
  }

  /** What the handshake shows. {@code fault} is that of a certificate. */
  private record Tls(boolean speaksTls, String protocol, Diagnosis fault) {
    static final Tls NONE = new Tls(false, "", null);
  }

  private Tls lookThroughTls(TlsOptions options) {
    String name = options.serverName.orElse(address.host());
    LookedAt looked = new LookedAt(options.trust());
    try (Socket socket = connected();
        SSLSocket secure =
            (SSLSocket)
                options.context(looked).getSocketFactory().createSocket(socket, name, address.port(), true)) {
      SSLParameters parameters = secure.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"h2", "http/1.1"});
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      secure.setSSLParameters(parameters);
      secure.startHandshake();
      if (looked.fault() == null) {
        // The server refuses a client's certificate only after the handshake.
        secure.getOutputStream().write(HELLO);
        secure.getOutputStream().flush();
        try {
          secure.getInputStream().read();
        } catch (SocketTimeoutException silent) {
          // It has not refused.
        }
      }
      return new Tls(true, secure.getApplicationProtocol(), faultOf(looked));
    } catch (SSLException refused) {
      if (looked.fault() != null) return new Tls(true, "", faultOf(looked));
      if (!REFUSED.matcher(String.valueOf(refused.getMessage())).find()) return Tls.NONE;
      return new Tls(
          true,
          "",
          diagnosis(
              Kind.WANTS_CLIENT_CERTIFICATE,
              "it requires a client certificate that it trusts: name one with certificate(...) of the TlsOptions"));
    } catch (IOException | GeneralSecurityException none) {
      return Tls.NONE;
    }
  }

  private Diagnosis faultOf(LookedAt looked) {
    if (looked.fault() == null) return null;
    for (Throwable why = looked.fault(); why != null; why = why.getCause()) {
      boolean isOld =
          why instanceof CertificateExpiredException
              || (why instanceof CertPathValidatorException path
                  && path.getReason() == CertPathValidatorException.BasicReason.EXPIRED);
      if (isOld)
        return diagnosis(
            Kind.EXPIRED, "its certificate has expired: have it renewed on the server");
      if (why instanceof CertificateNotYetValidException)
        return diagnosis(
            Kind.EXPIRED, "its certificate is not valid yet: check the clocks of both machines");
      if (OTHER_NAME.matcher(String.valueOf(why.getMessage())).find())
        return diagnosis(
            Kind.WRONG_NAME,
            "its certificate is for another name: use the name in it, or give that name as serverName(...) of the"
                + " TlsOptions");
    }
    return diagnosis(
        Kind.UNTRUSTED,
        "its certificate is not from a trusted authority: name its authority as ca(...) of the TlsOptions");
  }

  private static byte[] hello() {
    byte[] preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    byte[] hello = Arrays.copyOf(preface, preface.length + FRAME_HEAD_BYTES);
    hello[preface.length + 3] = SETTINGS;
    return hello;
  }
}

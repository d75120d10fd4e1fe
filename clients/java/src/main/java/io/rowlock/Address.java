// The address of a server: host:port, with an IPv6 host in brackets.

package io.rowlock;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

record Address(String host, int port) {
  private static final int PORT_MAX = 65_535;

  /** In a network with a proxy, there may be no name server to ask. */
  private static final long LOOK_UP_MS = 1_000;

  static Address of(String text) {
    String trimmed = text.trim();
    int colon = trimmed.lastIndexOf(':');
    if (colon > 0 && trimmed.substring(colon + 1).matches("\\d{1,5}")) {
      String host = trimmed.substring(0, colon);
      int port = Integer.parseInt(trimmed.substring(colon + 1));
      boolean isBracketed = host.startsWith("[") && host.endsWith("]");
      boolean isHost = isBracketed || !(host.contains(":") || host.contains("/"));
      if (isHost && port > 0 && port <= PORT_MAX)
        return new Address(isBracketed ? host.substring(1, host.length() - 1) : host, port);
    }
    throw new IllegalArgumentException(
        "addresses: \""
            + text
            + (trimmed.matches("[\\w.-]+")
                ? "\" has no port: write " + trimmed + ":50051, if that is the server's"
                : "\" must be host:port"));
  }

  /** Whether what is sent to this address stays on this machine. It asks no name server. */
  boolean isLoopback() {
    if (host.equalsIgnoreCase("localhost") || host.matches("127(\\.\\d{1,3}){3}")) return true;
    try {
      return host.contains(":") && InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException noAddress) {
      return false;
    }
  }

  /** Whether the host can only be this machine, by any of its names. A superset of {@link #isLoopback}. */
  boolean staysHere() {
    String name = host.toLowerCase(Locale.ROOT).replaceFirst("\\.$", "");
    if (isLoopback() || name.equals("localhost") || name.endsWith(".localhost")) return true;
    try {
      return isNumeric(host) && (parsed(host).isAnyLocalAddress() || parsed(host).isLoopbackAddress());
    } catch (UnknownHostException noAddress) {
      return false;
    }
  }

  /** Whether the system says that the name is one of this machine. Where no name server answers, it is not. */
  boolean leadsHere() {
    CompletableFuture<Boolean> asked = new CompletableFuture<>();
    Thread asking =
        new Thread(
            () -> {
              try {
                asked.complete(Arrays.stream(InetAddress.getAllByName(host)).allMatch(InetAddress::isLoopbackAddress));
              } catch (UnknownHostException unknown) {
                asked.complete(false);
              }
            },
            "rowlock-look-up");
    asking.setDaemon(true);
    asking.start();
    return asked.completeOnTimeout(false, LOOK_UP_MS, TimeUnit.MILLISECONDS).join();
  }

  /** Whether a host is an address of IP, and not a name. */
  static boolean isNumeric(String host) {
    if (!host.matches("\\d{1,3}(\\.\\d{1,3}){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.%\\w]*")) return false;
    try {
      parsed(host);
      return true;
    } catch (UnknownHostException noAddress) {
      return false;
    }
  }

  /** The address that digits stand for, without a name server. */
  private static InetAddress parsed(String numeric) throws UnknownHostException {
    return InetAddress.getByName(numeric);
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}

// The address of a server: host:port, with an IPv6 host in brackets.

package io.rowlock;

import java.net.InetAddress;
import java.net.UnknownHostException;

record Address(String host, int port) {
  private static final int PORT_MAX = 65_535;

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

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}

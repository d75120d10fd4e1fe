// The hosts for which the environment wants no proxy, in NO_PROXY and no_proxy. gRPC for Java heeds neither by itself.

package io.rowlock;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A list of hosts.
 *
 * @param entries each a host, a domain, an address, a range of addresses such as 10.0.0.0/8, or * for all; with a port or
 *     without
 */
record NoProxy(List<String> entries) {
  static NoProxy of(UnaryOperator<String> environment) {
    return new NoProxy(
        Stream.of("NO_PROXY", "no_proxy")
            .map(environment)
            .filter(Objects::nonNull)
            .flatMap(text -> Arrays.stream(text.split("[,\\s]+")))
            .filter(entry -> !entry.isEmpty())
            .map(NoProxy::lower)
            .toList());
  }

  boolean covers(Address address) {
    String host = lower(address.host().replaceFirst("\\.$", ""));
    return entries.stream().anyMatch(entry -> covers(entry, host, address.port()));
  }

  private static boolean covers(String entry, String host, int port) {
    if (entry.equals("*")) return true;
    if (entry.contains("/")) return isInRange(entry, host);
    String named = entry;
    // An IPv6 address has colons of its own, and brackets before a port.
    int colon = entry.lastIndexOf(':');
    boolean hasPort = colon > 0 && (entry.indexOf(':') == colon || entry.charAt(colon - 1) == ']');
    if (hasPort) {
      if (!entry.substring(colon + 1).equals(String.valueOf(port))) return false;
      named = entry.substring(0, colon);
    }
    named = named.replaceFirst("^\\[(.*)]$", "$1").replaceFirst("^\\*?\\.", "");
    if (Address.isNumeric(host)) return Address.isNumeric(named) && bytesOf(named).equals(bytesOf(host));
    return host.equals(named) || host.endsWith("." + named);
  }

  private static boolean isInRange(String entry, String host) {
    String[] parts = entry.split("/", 2);
    if (!Address.isNumeric(host) || !Address.isNumeric(parts[0]) || !parts[1].matches("\\d{1,3}")) return false;
    int bits = bitsOf(host);
    int rest = bits - Integer.parseInt(parts[1]);
    return bits == bitsOf(parts[0])
        && rest >= 0
        && bytesOf(host).shiftRight(rest).equals(bytesOf(parts[0]).shiftRight(rest));
  }

  private static int bitsOf(String numeric) {
    return addressOf(numeric).getAddress().length * Byte.SIZE;
  }

  private static BigInteger bytesOf(String numeric) {
    return new BigInteger(1, addressOf(numeric).getAddress());
  }

  private static InetAddress addressOf(String numeric) {
    try {
      return InetAddress.getByName(numeric);
    } catch (UnknownHostException impossible) {
      throw new IllegalArgumentException(impossible);
    }
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}

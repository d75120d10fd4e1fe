// The ids of requests for which the caller has chosen none: UUIDs of version 7, so that later ids sort after earlier
// ones. The database then writes neighbouring pages. Nothing may rely on the order, as clocks differ. For any thread.

package io.rowlock;

import java.util.UUID;

final class RequestId {
  private RequestId() {}

  static String make() {
    return makeAt(System.currentTimeMillis()).toString();
  }

  /** A new id: its first 48 bits are the Unix time in milliseconds, and 74 bits are random. */
  static UUID makeAt(long unixMillis) {
    UUID random = UUID.randomUUID();
    long time = unixMillis << 16 | 0x7000 | random.getMostSignificantBits() & 0xfff;
    return new UUID(time, random.getLeastSignificantBits());
  }
}

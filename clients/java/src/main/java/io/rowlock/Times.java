// Converts durations and instants between the protocol and Java. Inside the client, times are nanoseconds of its clock.

package io.rowlock;

import java.time.Duration;
import java.time.Instant;

final class Times {
  /** Without end; small enough to be added to any time of the clock. */
  static final long FOREVER = Long.MAX_VALUE / 4;

  private static final long NANOS = 1_000_000_000L;

  private Times() {}

  static long ofMillis(long millis) {
    return millis * 1_000_000L;
  }

  static long ofDuration(Duration duration) {
    return duration.compareTo(Duration.ofNanos(FOREVER)) >= 0 ? FOREVER : duration.toNanos();
  }

  static long ofProto(com.google.protobuf.Duration duration) {
    return Math.min(FOREVER, duration.getSeconds() * NANOS + duration.getNanos());
  }

  static Duration durationOf(com.google.protobuf.Duration duration) {
    return Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
  }

  static com.google.protobuf.Duration protoOf(Duration duration) {
    return com.google.protobuf.Duration.newBuilder()
        .setSeconds(duration.getSeconds())
        .setNanos(duration.getNano())
        .build();
  }

  static com.google.protobuf.Duration protoOf(long nanos) {
    return protoOf(Duration.ofNanos(nanos));
  }

  static com.google.protobuf.Timestamp protoOf(Instant instant) {
    return com.google.protobuf.Timestamp.newBuilder()
        .setSeconds(instant.getEpochSecond())
        .setNanos(instant.getNano())
        .build();
  }

  static Instant instantOf(com.google.protobuf.Timestamp timestamp) {
    return Instant.ofEpochSecond(timestamp.getSeconds(), timestamp.getNanos());
  }
}

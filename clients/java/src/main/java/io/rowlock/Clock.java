// The client's own clock, in nanoseconds. It never goes back, and counts the time that the machine has slept. For any
// thread.

package io.rowlock;

import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

final class Clock {
  /** How long one reading of the machine's uptime is used: a reading costs some microseconds. */
  private static final long LOOK_EVERY = Times.ofMillis(20);

  /** Two clocks of a machine that is awake may seem to differ by less than this. */
  private static final long SLEPT_MIN = Times.ofMillis(250);

  private final LongSupplier awake;
  private final Supplier<OptionalLong> up;
  private final long start;
  private long slept;
  private long looked;
  private long apart;

  Clock() {
    this(System::nanoTime, Uptime::nanos);
  }

  /** @param up how long the machine has been up, including its sleep; empty if that is unknown at the moment. */
  Clock(LongSupplier awake, Supplier<OptionalLong> up) {
    this.awake = awake;
    this.up = up;
    start = awake.getAsLong();
    apart = up.get().orElse(0);
  }

  /**
   * Nanoseconds since the client was made. {@code System.nanoTime()} stands still on some systems, such as Linux, while
   * the machine is suspended, but leases go on. So this adds the time by which the machine's uptime has advanced more.
   */
  synchronized long now() {
    long now = awake.getAsLong() - start;
    if (now - looked >= LOOK_EVERY) {
      looked = now;
      OptionalLong found = up.get();
      if (found.isPresent()) {
        long apartNow = found.getAsLong() - now;
        long since = apartNow - apart;
        if (since >= SLEPT_MIN) slept += since;
        if (since >= SLEPT_MIN || since < 0) apart = apartNow;
      }
    }
    return now + slept;
  }
}

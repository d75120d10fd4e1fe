// The client's own clock: nanoseconds that only go ahead, and count the time that the machine has slept. For any thread.

package rowlock;

import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

final class Clock {
  /** How long a look at the machine's uptime is good for: the look costs some microseconds. */
  private static final long LOOK_EVERY = Times.ofMillis(20);

  /** What two clocks of a machine that is awake may seem to differ by. */
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

  /** @param up how long the machine has been up, its sleep included; empty where that cannot be had at the moment. */
  Clock(LongSupplier awake, Supplier<OptionalLong> up) {
    this.awake = awake;
    this.up = up;
    start = awake.getAsLong();
    apart = up.get().orElse(0);
  }

  /**
   * Nanoseconds since the client was made. {@code System.nanoTime()} stands still while a machine is suspended, on Linux for
   * one, but leases go on: what the machine's uptime has gone ahead of it is added.
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

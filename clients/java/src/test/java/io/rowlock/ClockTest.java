// The clock: it counts sleep and never goes back.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ClockTest {
  private static final long SECOND = 1_000_000_000L;

  private long awake = 77;
  private long up = 5 * SECOND;
  private boolean isReadable = true;

  private Clock clock() {
    return new Clock(() -> awake, () -> isReadable ? OptionalLong.of(up) : OptionalLong.empty());
  }

  private void pass(long nanos) {
    awake += nanos;
    up += nanos;
  }

  @Test
  void goesAheadWithTheMachine() {
    Clock clock = clock();
    pass(3 * SECOND);
    assertEquals(3 * SECOND, clock.now());
    pass(1);
    assertEquals(3 * SECOND + 1, clock.now());
  }

  @Test
  void countsSleep() {
    Clock clock = clock();
    pass(SECOND);
    up += 60 * SECOND;
    pass(SECOND);
    assertEquals(62 * SECOND, clock.now());
    pass(SECOND);
    assertEquals(63 * SECOND, clock.now());
  }

  @Test
  void ignoresJitterAndNeverGoesBack() {
    Clock clock = clock();
    for (int round = 0; round < 100; round++) {
      pass(SECOND);
      up += round % 2 == 0 ? SECOND / 5 : -SECOND / 5;
      clock.now();
    }
    assertEquals(100 * SECOND, clock.now());
  }

  @Test
  void continuesIfTheUptimeCannotBeRead() {
    Clock clock = clock();
    isReadable = false;
    pass(SECOND);
    assertEquals(SECOND, clock.now());
    isReadable = true;
    up += 10 * SECOND;
    pass(SECOND);
    assertEquals(12 * SECOND, clock.now());
  }

  @Test
  void readsTheUptimeOnAThreadThatIsInterrupted() {
    Thread.currentThread().interrupt();
    try {
      assertTrue(Uptime.nanos().isPresent());
      assertTrue(Uptime.nanos().isPresent());
    } finally {
      assertTrue(Thread.interrupted());
    }
  }
}

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import rowlock.v1.QueueRequest;
import rowlock.v1.Ticket;

class PolledWaitTest {
  private static PolledWait waiting(long interval) {
    return new PolledWait(null, 1, QueueRequest.getDefaultInstance(), Times.ofMillis(interval));
  }

  @ParameterizedTest
  @CsvSource({"3600000, 30000, 1000", "3600000, 1000, 250", "100, 30000, 100", "100, 200, 50", "100, 0, 50"})
  void aWaitPollsOftenEnoughToKeepItsPlace(long interval, long keptFor, long pause) {
    Ticket ticket = Ticket.newBuilder().setKeptFor(Times.protoOf(Duration.ofMillis(keptFor))).build();
    assertEquals(Times.ofMillis(pause), waiting(interval).pause(ticket));
  }

  @Test
  void aWaitAsksForItsHeadStart() {
    QueueRequest.Builder asked = QueueRequest.newBuilder();
    assertFalse(PolledWait.enqueuing(asked.build()).hasHeadStart());
    asked.setHeadStart(Times.protoOf(Duration.ofMinutes(1)));
    assertEquals(asked.getHeadStart(), PolledWait.enqueuing(asked.build()).getHeadStart());
  }

  @Test
  void aServerMayNotSayForHowLongItKeepsThePlace() {
    assertEquals(Times.ofMillis(1_000), waiting(3_600_000).pause(Ticket.getDefaultInstance()));
  }
}

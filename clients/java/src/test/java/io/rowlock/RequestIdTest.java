// The ids that the client makes: their form, their time and their order.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RequestIdTest {
  private static final long MILLIS = 1_645_557_742_000L;

  @Test
  void areRandomUuidsOfVersion7() {
    Set<UUID> ids = new HashSet<>();
    for (int nth = 0; nth < 100; nth++) {
      UUID id = RequestId.makeAt(MILLIS);
      assertTrue(id.toString().startsWith("017f22e2-79b0-7"), id.toString());
      assertEquals(7, id.version());
      assertEquals(2, id.variant());
      ids.add(id);
    }
    assertEquals(100, ids.size());
  }

  @Test
  void haveTheTimeNow() {
    long before = System.currentTimeMillis();
    long made = UUID.fromString(RequestId.make()).getMostSignificantBits() >>> 16;
    assertTrue(before <= made && made <= System.currentTimeMillis());
  }

  @Test
  void sortByTheTimeTheyWereMade() {
    List<String> ids = LongStream.of(0, 1, 0xffff, 0x10000, MILLIS, MILLIS + 1, (1L << 48) - 1)
        .mapToObj(millis -> RequestId.makeAt(millis).toString())
        .toList();
    assertEquals(ids.stream().sorted().toList(), ids);
  }
}

// The examples run.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rowlock.examples.HourlyReport;
import io.rowlock.examples.Tasks;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class ExamplesTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  @Test
  void hourlyReportRunsOnce() throws InterruptedException {
    for (int run = 0; run < 2; run++) HourlyReport.main(new String[] {server.address});
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      assertEquals(1, rowlock.getLock("report/hourly").lastToken());
    }
  }

  @Test
  void tasksAreAllDone() throws InterruptedException {
    Tasks.main(new String[] {server.address});
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      assertEquals(
          List.of("done", "done", "done"),
          rowlock.listLocks(ListOptions.of("task/"))
              .map(lock -> lock.record().orElseThrow().status())
              .toList());
    }
  }
}

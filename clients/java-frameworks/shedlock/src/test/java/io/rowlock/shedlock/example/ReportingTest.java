package io.rowlock.shedlock.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rowlock.frameworks.Machine;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class ReportingTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  @Test
  void oneOfThreeProcessesMakesTheReport() throws Exception {
    List<String> said = new ArrayList<>();
    try (Machine one = Machine.start(Reporting.class, server.address());
        Machine two = Machine.start(Reporting.class, server.address());
        Machine three = Machine.start(Reporting.class, server.address())) {
      for (Machine machine : List.of(one, two, three)) said.addAll(machine.readUntil("the end"));
    }
    assertEquals(List.of("the report"), said);
  }
}

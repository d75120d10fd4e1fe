package io.rowlock.spring.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.rowlock.frameworks.Machine;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(180)
class ReportApplicationTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  private static Machine start() throws Exception {
    return Machine.start(
        ReportApplication.class, "--rowlock.addresses=" + server.address(), "--report.tick=100ms");
  }

  @Test
  void threeMachinesMakeOneReportTogether() throws Exception {
    try (Machine one = start();
        Machine two = start();
        Machine three = start()) {
      List<String> said = new ArrayList<>();
      for (Machine machine : List.of(one, two, three)) said.addAll(machine.readUntil("tick 5"));
      assertThat(said.stream().filter(line -> line.startsWith("the report"))).hasSize(1);
      assertThat(said.stream().filter(line -> line.equals("tick 4"))).hasSize(3);
    }
  }
}

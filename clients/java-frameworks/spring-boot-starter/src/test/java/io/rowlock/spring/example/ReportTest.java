// How a program with the starter is tested, as the README says.

package io.rowlock.spring.example;

import static io.rowlock.frameworks.Until.until;

import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

@SpringBootTest(classes = ReportApplication.class)
@DirtiesContext
@Timeout(120)
class ReportTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  @DynamicPropertySource
  static void rowlock(DynamicPropertyRegistry properties) {
    properties.add("rowlock.addresses", server::address);
  }

  @Test
  void makesTheReport() throws Exception {
    until("the run", () -> server.client().getLock("report").record().isPresent());
  }
}

package io.rowlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

@Timeout(60)
class RowlockPropertiesTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  private static ApplicationContextRunner runner(String... properties) {
    return new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(RowlockAutoConfiguration.class))
        .withPropertyValues("rowlock.addresses=" + server.address())
        .withPropertyValues(properties);
  }

  private static String faultsOf(String... properties) {
    String[] said = new String[1];
    runner(properties)
        .run(
            context -> {
              FailureAnalysis analysis =
                  new FaultyPropertiesAnalyzer().analyze(context.getStartupFailure());
              said[0] = analysis.getDescription();
            });
    return said[0];
  }

  @Test
  void theClientHasTheOptionsOfTheProperties() {
    runner("rowlock.owner=nightly", "rowlock.labels.team=data", "rowlock.token=t0ken")
        .withBean(RowlockOptionsCustomizer.class, () -> with -> with.label("host", "h1"))
        .run(
            context -> {
              RowlockClient client = context.getBean(RowlockClient.class);
              try (HeldLock lock = client.lock("who")) {
                var holder = client.getLock(lock.name()).holders().get(0);
                assertThat(holder.owner()).isEqualTo("nightly");
                assertThat(holder.labels()).containsEntry("team", "data").containsEntry("host", "h1");
              }
            });
  }

  @Test
  void theClientOfTheApplicationComesFirst() {
    try (RowlockClient own = RowlockClient.connect(server.address())) {
      runner("rowlock.addresses=nonsense")
          .withBean(RowlockClient.class, () -> own)
          .run(context -> assertThat(context.getBean(RowlockClient.class)).isSameAs(own));
    }
  }

  @Test
  void allFaultsAreReportedAtOnceByTheNamesOfTheProperties(@TempDir Path folder) throws IOException {
    Path text = Files.writeString(folder.resolve("ca.pem"), "no certificate");
    String faults =
        faultsOf(
            "rowlock.addresses=locks.example.com,127.0.0.1:50051",
            "rowlock.give-up-after=0s",
            "rowlock.connect-timeout=-1s",
            "rowlock.token=a",
            "rowlock.token-file=b",
            "rowlock.tls.ca=" + text);
    assertThat(faults)
        .contains("rowlock.addresses: \"locks.example.com\" has no port")
        .contains("rowlock.giveUpAfter: PT0S must be above 0")
        .contains("rowlock.connectTimeout: PT-1S must be above 0")
        .contains("rowlock.token and rowlock.token-file: set one of them")
        .contains("rowlock.tls: ");
  }

  @Test
  void tlsIsAllOrNothing() {
    assertThat(faultsOf("rowlock.tls.certificate=a"))
        .contains("rowlock.tls.certificate and rowlock.tls.key: set both or none");
    assertThat(faultsOf("rowlock.tls.enabled=false", "rowlock.tls.server-name=a"))
        .contains("rowlock.tls.enabled: is false, although");
    assertThat(faultsOf("rowlock.tls.ca=/no/such/file"))
        .contains("rowlock.tls: cannot read /no/such/file");
  }

  @Test
  void aTokenGoesToOtherMachinesOnlyOverTls() {
    assertThat(faultsOf("rowlock.addresses=locks.example.com:50051", "rowlock.token=a"))
        .contains("rowlock.token: the connection to locks.example.com:50051 is not encrypted");
    runner(
            "rowlock.addresses=locks.example.com:50051",
            "rowlock.token=a",
            "rowlock.tls.enabled=true")
        .run(context -> assertThat(context).hasNotFailed());
  }

  @Test
  void aPropertyThatDoesNotExistEndsTheStart() {
    runner("rowlock.adresses=127.0.0.1:1")
        .run(
            context ->
                assertThat(context.getStartupFailure()).rootCause().hasMessageContaining("adresses"));
  }

  @Test
  void theTokenIsNotInTheTextOfTheProperties() {
    runner("rowlock.token=s3cret")
        .run(
            context ->
                assertThat(context.getBean(RowlockProperties.class).toString())
                    .doesNotContain("s3cret"));
  }

  @Test
  void idesKnowEachProperty() throws IOException {
    String metadata;
    try (InputStream file =
        RowlockProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      metadata = new String(file.readAllBytes(), StandardCharsets.UTF_8);
    }
    for (RecordComponent one : RowlockProperties.class.getRecordComponents()) {
      String name = one.getName().replaceAll("([A-Z])", "-$1").toLowerCase();
      assertThat(metadata).contains("\"name\": \"rowlock." + name + "\"");
    }
  }
}

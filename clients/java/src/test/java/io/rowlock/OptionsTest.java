// Defaults of options, and options that cannot work.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {
  @ParameterizedTest
  @CsvSource({"1, 0.1", "10, 1", "20, 2", "30, 2", "3600, 2"})
  void theMarginIsATenthOfTheTtlAndTwoSecondsAtTheMost(long ttl, double margin) {
    LockOptions options = LockOptions.builder().ttl(Duration.ofSeconds(ttl)).build();
    assertEquals(Duration.ofMillis((long) (margin * 1_000)), options.margin);
  }

  @Test
  void aMarginOfHalfOfTheTtlCannotWork() {
    LockOptions.Builder options =
        LockOptions.builder().ttl(Duration.ofSeconds(10)).margin(Duration.ofSeconds(5));
    IllegalArgumentException wrong =
        assertThrows(IllegalArgumentException.class, options::build);
    assertTrue(wrong.getMessage().startsWith("margin: PT5S"), wrong.getMessage());
  }

  @Test
  void aCaptureHasAMarginAndDoesNotWaitByDefault() {
    assertEquals(Duration.ofSeconds(2), CaptureOptions.builder().build().margin);
    assertFalse(CaptureOptions.builder().build().isWait());
    assertTrue(CaptureOptions.builder().waitForever().build().isWait());
    assertTrue(CaptureOptions.builder().waitAtMost(Duration.ofNanos(1)).build().isWait());
    CaptureOptions.Builder half =
        CaptureOptions.builder().ttl(Duration.ofSeconds(2)).margin(Duration.ofSeconds(1));
    assertThrows(IllegalArgumentException.class, half::build);
    CaptureOptions.Builder options = CaptureOptions.builder();
    assertThrows(
        IllegalArgumentException.class, () -> options.waitAtMost(Duration.ofNanos(-1)));
  }

  /** A request has room for one value of each pair, so that the server would not see the contradiction. */
  @Test
  void contradictionsAreRefused() {
    RecordChanges record = RecordChanges.of("a");
    Duration soon = Duration.ofSeconds(1);
    Map<String, Executable> wrong =
        Map.of(
            "prefix and names", () -> CaptureOptions.builder().prefix("").names("a").build(),
            "notBefore and notBeforeIn", () -> record.notBefore(Instant.EPOCH).notBeforeIn(soon),
            "notBeforeIn and notBefore", () -> record.notBeforeIn(soon).notBefore(Instant.EPOCH),
            "notBefore and unsetNotBefore", () -> record.notBefore(Instant.EPOCH).unsetNotBefore(),
            "unsetNotBefore and notBeforeIn", () -> record.unsetNotBefore().notBeforeIn(soon),
            "attemptsLeft and unsetAttemptsLeft", () -> record.attemptsLeft(0).unsetAttemptsLeft(),
            "unsetAttemptsLeft and attemptsLeft", () -> record.unsetAttemptsLeft().attemptsLeft(0));
    wrong.forEach(
        (both, asking) ->
            assertEquals(
                both + ": set one of them",
                assertThrows(IllegalArgumentException.class, asking).getMessage()));
    LimitChange limit = LimitChange.ofName("a");
    for (Executable asking : List.<Executable>of(() -> limit.to(0).unset(), () -> limit.unset().to(0)))
      assertEquals(
          "to and unset: set one of them",
          assertThrows(IllegalArgumentException.class, asking).getMessage());
    // The last of several values of one kind counts.
    assertEquals(2, record.attemptsLeft(1).attemptsLeft(2).request().getAttemptsLeft());
  }

  @Test
  void aTryKeepsAllThatDoesNotConcernTheWait() {
    LockOptions options =
        LockOptions.builder()
            .waitAtMost(Duration.ofSeconds(1))
            .ttl(Duration.ofSeconds(10))
            .margin(Duration.ofSeconds(3))
            .permits(4)
            .owner("anna")
            .label("run", "7")
            .requestId("id")
            .minInterval(Duration.ofHours(1))
            .lockDelay(Duration.ofMinutes(1))
            .statusIfLost("failed")
            .ifStatus("", "new")
            .backoff(Duration.ofSeconds(1), Duration.ofSeconds(9))
            .build()
            .withoutWait();
    assertTrue(options.isTry());
    assertEquals(Duration.ofSeconds(3), options.margin);
    assertEquals(4, options.permits);
    assertEquals("anna", options.owner);
    assertEquals(Map.of("run", "7"), options.labels);
    assertEquals("id", options.requestId.orElseThrow());
    Terms terms =
        new Terms(
            Optional.of(Duration.ofHours(1)),
            Optional.of(Duration.ofMinutes(1)),
            Optional.of("failed"),
            List.of("", "new"),
            Optional.of(
                rowlock.v1.Backoff.newBuilder()
                    .setFirst(Times.protoOf(Duration.ofSeconds(1)))
                    .setMax(Times.protoOf(Duration.ofSeconds(9)))
                    .build()));
    assertEquals(terms, options.terms);
    assertFalse(LockOptions.defaults().isTry());
    assertTrue(LockOptions.builder().noExpiry().build().withoutWait().ttl.isEmpty());
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:50051, 127.0.0.1, 50051",
    "my_host:1, my_host, 1",
    "' rowlock.internal:65535 ', rowlock.internal, 65535",
    "[::1]:7, ::1, 7"
  })
  void addressesAreHostAndPort(String text, String host, int port) {
    assertEquals(new Address(host, port), Address.of(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "host", "host:", ":1", "host:0", "host:65536", "::1:7", "http://host:1", "host:x"})
  void otherAddressesCannotWork(String text) {
    assertThrows(IllegalArgumentException.class, () -> RowlockClient.connect(text));
  }

  @Test
  void aClientNeedsAnAddressAndTimesAboveZero() {
    assertThrows(IllegalArgumentException.class, RowlockClient::connect);
    ConnectOptions.Builder options = ConnectOptions.to("a:1").giveUpAfter(Duration.ZERO);
    assertThrows(IllegalArgumentException.class, options::build);
    assertThrows(
        IllegalArgumentException.class,
        () -> ConnectOptions.to("a:1").headers(Map.of("no name", "x")));
  }

  @Test
  void nullIsRefusedBeforeAnythingIsAskedFor() {
    try (RowlockClient client = RowlockClient.connect("a:1")) {
      Map<String, Executable> wrong =
          Map.of(
              "the name of a lock", () -> client.lockAsync(null, LockOptions.defaults()),
              "the prefix of a watch", () -> client.watch(null),
              "the prefix of a worker", () -> client.work(null, with -> {}, lock -> {}),
              "the handler of a worker", () -> client.work("x", with -> {}, null),
              "owner:", () -> LockOptions.builder().owner(null),
              "mode:", () -> LockOptions.builder().mode(null),
              "positionInterval:", () -> LockOptions.builder().positionInterval(null));
      wrong.forEach(
          (says, asking) -> {
            NullPointerException refused = assertThrows(NullPointerException.class, asking);
            assertTrue(refused.getMessage().startsWith(says), refused.getMessage());
          });
    }
  }

  @Test
  void anEmptyListOfStatusesIsNoTerm() {
    assertFalse(LockOptions.builder().ifStatus().build().terms.areSet());
    assertTrue(LockOptions.builder().ifStatus("").build().terms.areSet());
  }

  @Test
  void certificatesThatAreNoneCannotWork(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("ca.pem"), "no certificate");
    TlsOptions.Builder options = TlsOptions.builder().ca(file);
    assertThrows(IllegalArgumentException.class, options::build);
    assertThrows(UncheckedIOException.class, () -> TlsOptions.builder().ca(folder.resolve("none")).build());
  }

  @Test
  void aByteOrderMarkIsNoPartOfAFile(@TempDir Path folder) throws IOException {
    Path marked = Files.writeString(folder.resolve("token"), "\uFEFFa-token\r\n");
    assertEquals("a-token", TokenSource.ofFile(marked).ask());
    TlsOptions.Builder pem = TlsOptions.builder().ca(Files.writeString(folder.resolve("wide.pem"), "\uFEFF-", StandardCharsets.UTF_16LE));
    IllegalArgumentException wide = assertThrows(IllegalArgumentException.class, pem::build);
    assertTrue(wide.getMessage().contains("wide.pem begins with the byte order mark of UTF-16"), wide.getMessage());
    Path wideToken = Files.writeString(folder.resolve("wide"), "a-token", StandardCharsets.UTF_16);
    RowlockException refused = assertThrows(RowlockException.class, () -> TokenSource.ofFile(wideToken).ask());
    assertTrue(refused.getMessage().contains("save it as UTF-8"), refused.getMessage());
    assertFalse(refused.getMessage().contains("a-token"));
  }

  /** gRPC would send "M?ller". */
  @Test
  void aHeaderThatAsciiCannotEncodeIsRefused() {
    ConnectOptions.Builder options = ConnectOptions.to("a:1");
    for (String value : new String[] {"M\u00FCller", "\uD83D", "two\nlines"}) {
      IllegalArgumentException wrong =
          assertThrows(IllegalArgumentException.class, () -> options.headers(Map.of("x-caller", value)));
      assertTrue(wrong.getMessage().startsWith("headers: the value of \"x-caller\" is not visible ASCII"), wrong.getMessage());
      assertFalse(wrong.getMessage().contains(value));
    }
  }

  @Test
  void theDefaultOwnerIsThisMachineAndProcess() {
    String owner = ConnectOptions.to("a:1").build().owner;
    assertTrue(owner.endsWith(":" + ProcessHandle.current().pid()), owner);
  }
}

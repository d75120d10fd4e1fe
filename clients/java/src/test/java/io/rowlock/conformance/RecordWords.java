// Reads and writes a lock's record in the form of the protocol.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.millis;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import io.rowlock.LastRunView;
import io.rowlock.RecordChanges;
import io.rowlock.RecordView;
import io.rowlock.ReleaseOptions;

final class RecordWords {
  private RecordWords() {}

  static ReleaseOptions lastWords(JsonObject asked) {
    ReleaseOptions.Builder options = ReleaseOptions.builder();
    if (has(asked, "status")) options.status(text(asked, "status"));
    if (has(asked, "coolDownMs")) options.coolDown(millis(asked, "coolDownMs"));
    if (has(asked, "attemptsLeft")) options.attemptsLeft(asked.get("attemptsLeft").getAsInt());
    if (has(asked, "failed")) options.failed(asked.get("failed").getAsBoolean());
    return options.build();
  }

  static RecordChanges change(JsonObject asked) {
    RecordChanges change = RecordChanges.of(text(asked, "name"));
    if (isText(asked, "notBeforeMs")) change = change.unsetNotBefore();
    else if (has(asked, "notBeforeMs"))
      change = change.notBefore(Instant.ofEpochMilli(asked.get("notBeforeMs").getAsLong()));
    if (has(asked, "notBeforeInMs")) change = change.notBeforeIn(millis(asked, "notBeforeInMs"));
    if (isText(asked, "attemptsLeft")) change = change.unsetAttemptsLeft();
    else if (has(asked, "attemptsLeft"))
      change = change.attemptsLeft(asked.get("attemptsLeft").getAsInt());
    if (has(asked, "status")) change = change.status(text(asked, "status"));
    if (has(asked, "ifVersion")) change = change.ifVersion(asked.get("ifVersion").getAsLong());
    if (has(asked, "reason")) change = change.reason(text(asked, "reason"));
    return change;
  }

  /** Whether the value is "none" or "unlimited", and not a number. */
  private static boolean isText(JsonObject asked, String key) {
    return has(asked, key) && asked.get(key).getAsJsonPrimitive().isString();
  }

  static Map<String, ?> shown(RecordView record) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("status", record.status());
    shown.put("version", String.valueOf(record.version()));
    record.attemptsLeft().ifPresent(left -> shown.put("attemptsLeft", left));
    record.notBefore().ifPresent(instant -> shown.put("notBeforeMs", instant.toEpochMilli()));
    record.lastRun().ifPresent(run -> shown.put("lastRun", shown(run)));
    record.lastSuccess().ifPresent(run -> shown.put("lastSuccess", shown(run)));
    shown.put("failures", record.failures());
    return shown;
  }

  private static Map<String, ?> shown(LastRunView run) {
    return Map.of(
        "owner", run.owner(),
        "token", String.valueOf(run.token()),
        "endReason", run.endReason().name(),
        "status", run.status());
  }
}

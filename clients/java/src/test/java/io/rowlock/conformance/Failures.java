// An error of the client or of the driver itself, in the form of the protocol.

package io.rowlock.conformance;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import io.rowlock.ClaimEndView;
import io.rowlock.RowlockException;

final class Failures {
  private Failures() {}

  static Map<String, ?> shown(Throwable failure) {
    if (failure instanceof CompletionException && failure.getCause() != null)
      return shown(failure.getCause());
    if (failure instanceof RowlockException error) {
      Map<String, Object> shown = new HashMap<>();
      shown.put("reason", error.reasonName());
      shown.put("code", error.code().name());
      shown.put("message", error.getMessage());
      shown.put("violations", error.violations());
      shown.put("metadata", error.metadata());
      List<Map<String, String>> diagnoses =
          error.diagnoses().stream()
              .map(
                  found ->
                      Map.of(
                          "address", found.address(),
                          "kind", found.kind().name().toLowerCase(Locale.ROOT),
                          "sentence", found.sentence()))
              .toList();
      shown.put("diagnoses", diagnoses);
      error.end().ifPresent(end -> shown.put("end", shown(end)));
      error.retryAfter().ifPresent(after -> shown.put("retryAfterMs", after.toMillis()));
      return shown;
    }
    // Java's own exceptions for a caller that gave up.
    boolean isGivenUp =
        failure instanceof CancellationException || failure instanceof InterruptedException;
    String reason = isGivenUp ? "CANCELLED" : "";
    return Map.of(
        "reason",
        reason,
        "code",
        reason,
        "message",
        String.valueOf(failure),
        "violations",
        List.of(),
        "metadata",
        Map.of());
  }

  static Map<String, ?> shown(ClaimEndView end) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("reason", end.reason().name());
    end.endedAt().ifPresent(at -> shown.put("endedAtMs", at.toEpochMilli()));
    if (!end.endedBy().isEmpty()) shown.put("endedBy", end.endedBy());
    if (!end.note().isEmpty()) shown.put("note", end.note());
    if (!end.status().isEmpty()) shown.put("status", end.status());
    if (!end.lockName().isEmpty()) shown.put("lockName", end.lockName());
    return shown;
  }
}

// Queue rules, in the form of the protocol.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.millis;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import io.rowlock.QueueRules;
import io.rowlock.QueueRulesView;

final class QueueRulesWords {
  private QueueRulesWords() {}

  static QueueRules rules(JsonObject asked) {
    String whenFull = has(asked, "whenFull") ? text(asked, "whenFull") : "refuse";
    return new QueueRules(
        has(asked, "waitingMax")
            ? OptionalInt.of(asked.get("waitingMax").getAsInt())
            : OptionalInt.empty(),
        QueueRules.WhenFull.valueOf(whenFull.toUpperCase(Locale.ROOT).replace(' ', '_')),
        has(asked, "shareBy") ? Optional.of(text(asked, "shareBy")) : Optional.empty(),
        has(asked, "headStartMaxMs")
            ? Optional.of(millis(asked, "headStartMaxMs"))
            : Optional.empty());
  }

  static Map<String, Object> shown(QueueRules rules) {
    Map<String, Object> shown = new HashMap<>();
    rules.waitingMax().ifPresent(most -> shown.put("waitingMax", most));
    shown.put("whenFull", rules.whenFull().name().toLowerCase(Locale.ROOT).replace('_', ' '));
    rules.shareBy().ifPresent(by -> shown.put("shareBy", by));
    rules.headStartMax().ifPresent(most -> shown.put("headStartMaxMs", most.toMillis()));
    return shown;
  }

  static Map<String, ?> shown(QueueRulesView view) {
    Map<String, Object> shown = shown(view.rules());
    shown.put("source", view.source().name().toLowerCase(Locale.ROOT));
    view.pattern().ifPresent(pattern -> shown.put("pattern", pattern));
    shown.put("reason", view.reason());
    return shown;
  }
}

// Queue rules, in the form of the protocol.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import io.rowlock.QueueRules;
import io.rowlock.QueueRulesView;

final class QueueRulesWords {
  private QueueRulesWords() {}

  static QueueRules rules(JsonObject asked) {
    String whenFull = has(asked, "whenFull") ? text(asked, "whenFull") : "refuse";
    return new QueueRules(
        asked.get("waitingMax").getAsInt(),
        QueueRules.WhenFull.valueOf(whenFull.toUpperCase(Locale.ROOT).replace(' ', '_')));
  }

  static Map<String, Object> shown(QueueRules rules) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("waitingMax", rules.waitingMax());
    shown.put("whenFull", rules.whenFull().name().toLowerCase(Locale.ROOT).replace('_', ' '));
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

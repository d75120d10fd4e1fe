// Queue rules, in the form of the protocol.

package io.rowlock.conformance;

import com.google.gson.JsonObject;
import io.rowlock.QueueRules;
import io.rowlock.QueueRulesView;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

final class QueueRulesWords {
  private QueueRulesWords() {}

  static QueueRules rules(JsonObject asked) {
    int waitingMax = asked.get("waitingMax").getAsInt();
    boolean newestWins =
        asked.has("whenFull") && asked.get("whenFull").getAsString().equals("end longest waiting");
    return newestWins ? QueueRules.newestWins(waitingMax) : QueueRules.atMost(waitingMax);
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

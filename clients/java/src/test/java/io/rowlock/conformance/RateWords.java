// Rates, in the form of the protocol.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.millis;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import io.rowlock.Rate;
import io.rowlock.RateView;

final class RateWords {
  private RateWords() {}

  static Rate rate(JsonObject asked) {
    Rate rate = Rate.of(asked.get("permits").getAsInt(), millis(asked, "perMs"));
    return has(asked, "burst") ? rate.withBurst(asked.get("burst").getAsInt()) : rate;
  }

  static Map<String, Object> shown(Rate rate) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("permits", rate.permits());
    shown.put("perMs", rate.per().toMillis());
    shown.put("burst", rate.burst());
    return shown;
  }

  static Map<String, ?> shown(RateView view) {
    Map<String, Object> shown = shown(view.rate());
    shown.put("source", view.source().name().toLowerCase(Locale.ROOT));
    view.pattern().ifPresent(pattern -> shown.put("pattern", pattern));
    shown.put("reason", view.reason());
    shown.put("available", view.available());
    return shown;
  }
}

// The verbs about the past, and about waits.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import io.rowlock.ChangeFilter;
import io.rowlock.ChangeView;
import io.rowlock.ClaimFilter;
import io.rowlock.ClaimView;
import io.rowlock.RowlockClient;
import io.rowlock.WaitCause;
import io.rowlock.WaitExplanation;

record HistoryVerbs(Function<JsonObject, RowlockClient> clientOf) {
  void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put("listClaims", this::listClaims);
    verbs.put("listChanges", this::listChanges);
    verbs.put("explainWait", this::explainWait);
  }

  private Map<String, ?> listClaims(JsonObject asked) {
    ClaimFilter filter =
        has(asked, "name")
            ? ClaimFilter.ofLock(text(asked, "name"))
            : ClaimFilter.ofPrefix(text(asked, "prefix"));
    if (has(asked, "owner")) filter = filter.owner(text(asked, "owner"));
    return Map.of(
        "claims", clientOf.apply(asked).listClaims(filter).map(HistoryVerbs::shown).toList());
  }

  private static Map<String, Object> shown(ClaimView claim) {
    Map<String, Object> shown = OperatorVerbs.shown(claim);
    shown.put("lockName", claim.lockName());
    shown.put("state", claim.state().name().toLowerCase(Locale.ROOT));
    claim.end().ifPresent(end -> shown.put("end", Failures.shown(end)));
    return shown;
  }

  private Map<String, ?> listChanges(JsonObject asked) {
    ChangeFilter filter =
        has(asked, "name")
            ? ChangeFilter.ofLock(text(asked, "name"))
            : ChangeFilter.ofPrefix(text(asked, "prefix"));
    return Map.of(
        "changes", clientOf.apply(asked).listChanges(filter).map(HistoryVerbs::shown).toList());
  }

  private static Map<String, Object> shown(ChangeView change) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("kind", change.kind().name().toLowerCase(Locale.ROOT).replace('_', ' '));
    change.lockName().ifPresent(name -> shown.put("name", name));
    change.pattern().ifPresent(pattern -> shown.put("pattern", pattern));
    change.pool().ifPresent(pool -> shown.put("pool", pool));
    shown.put("changedBy", change.by());
    shown.put("reason", change.reason());
    shown.putAll(shown(change.what()));
    return shown;
  }

  private static Map<String, ?> shown(ChangeView.What what) {
    Map<String, Object> shown = new HashMap<>();
    if (what instanceof ChangeView.OfLimit limit) {
      limit.from().ifPresent(from -> shown.put("from", from));
      limit.to().ifPresent(to -> shown.put("to", to));
      limit.rateFrom().ifPresent(from -> shown.put("rateFrom", RateWords.shown(from)));
      limit.rateTo().ifPresent(to -> shown.put("rateTo", RateWords.shown(to)));
      limit
          .queueRulesFrom()
          .ifPresent(from -> shown.put("queueRulesFrom", QueueRulesWords.shown(from)));
      limit.queueRulesTo().ifPresent(to -> shown.put("queueRulesTo", QueueRulesWords.shown(to)));
    } else if (what instanceof ChangeView.OfRecord record) {
      record.from().ifPresent(from -> shown.put("from", RecordWords.shown(from)));
      record.to().ifPresent(to -> shown.put("to", RecordWords.shown(to)));
    } else if (what instanceof ChangeView.OfForcedRelease released) {
      shown.put("claim", shown(released));
    } else if (what instanceof ChangeView.OfPolicy policy) {
      shown.put("from", policy.from());
      shown.put("to", policy.to());
    }
    return shown;
  }

  private static Map<String, ?> shown(ChangeView.OfForcedRelease released) {
    return Map.of(
        "ticketNumber", String.valueOf(released.ticketNumber()),
        "state", released.state().name().toLowerCase(Locale.ROOT),
        "owner", released.owner(),
        "principal", released.principal());
  }

  private Map<String, ?> explainWait(JsonObject asked) {
    RowlockClient client = clientOf.apply(asked);
    String name = text(asked, "name");
    WaitExplanation explained =
        has(asked, "ticketNumber")
            ? client.explainWait(name, asked.get("ticketNumber").getAsLong())
            : client.explainWait(name);
    Map<String, Object> shown = new HashMap<>();
    explained.claim().ifPresent(claim -> shown.put("owner", claim.owner()));
    shown.put("causes", explained.causes().stream().map(HistoryVerbs::named).toList());
    shown.put("summary", explained.summary());
    return shown;
  }

  private static Map<String, ?> named(WaitCause cause) {
    Map<String, Object> shown = new HashMap<>(shown(cause));
    cause.lockName().ifPresent(name -> shown.put("lockName", name));
    return shown;
  }

  private static Map<String, ?> shown(WaitCause cause) {
    if (cause instanceof WaitCause.Held held)
      return Map.of(
          "kind", "held", "holders", owners(held.holders()), "holderCount", held.holderCount());
    if (cause instanceof WaitCause.Queued queued)
      return Map.of("kind", "queued", "ahead", queued.ahead(), "first", owners(queued.first()));
    if (cause instanceof WaitCause.InTheWay limit)
      return Map.of("kind", "limit", "limit", limit.limit().permits());
    if (cause instanceof WaitCause.RateInTheWay rate)
      return Map.of(
          "kind", "rate", "rate", RateWords.shown(rate.rate()), "isForEver", rate.until().isEmpty());
    if (cause instanceof WaitCause.PoolInTheWay at) {
      Map<String, Object> shown = PoolWords.shown(at.pool());
      shown.putAll(Map.of("kind", "pool", "waitsHere", at.waitsHere(), "ahead", at.ahead()));
      return shown;
    }
    if (cause instanceof WaitCause.UnwantedStatus status)
      return Map.of("kind", "status", "status", status.status());
    if (cause instanceof WaitCause.NotBefore) return Map.of("kind", "not before");
    if (cause instanceof WaitCause.Exhausted) return Map.of("kind", "exhausted");
    if (cause instanceof WaitCause.FailedOver) return Map.of("kind", "failed over");
    return Map.of("kind", "rows held");
  }

  private static List<String> owners(List<ClaimView> claims) {
    return claims.stream().map(ClaimView::owner).toList();
  }
}

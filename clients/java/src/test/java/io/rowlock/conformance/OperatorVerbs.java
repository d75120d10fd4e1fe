// The verbs that need a client but no lock that it holds: limits, rates, queue rules, listings, and leases by id.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.list;
import static io.rowlock.conformance.Driver.millis;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import io.rowlock.ClaimView;
import io.rowlock.ClaimedLock;
import io.rowlock.ForceReleased;
import io.rowlock.LimitChange;
import io.rowlock.LimitInForce;
import io.rowlock.LimitSetting;
import io.rowlock.ListOptions;
import io.rowlock.LockView;
import io.rowlock.RecordDeletion;
import io.rowlock.RenewedLease;
import io.rowlock.RowlockClient;

record OperatorVerbs(Function<JsonObject, RowlockClient> clientOf) {
  void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put("renewLease", this::renewLease);
    verbs.put(
        "releaseLease",
        asked ->
            Map.of(
                "released",
                clientOf.apply(asked).release(text(asked, "leaseId"), RecordWords.lastWords(asked))));
    verbs.put("setLimit", this::setLimit);
    verbs.put("setRate", this::setRate);
    verbs.put("unsetRate", asked -> set(asked, target(asked).unsetRate()));
    verbs.put("setQueueRules", this::setQueueRules);
    verbs.put("unsetQueueRules", asked -> set(asked, target(asked).unsetQueueRules()));
    verbs.put("updateRecord", this::updateRecord);
    verbs.put("deleteRecord", this::deleteRecord);
    verbs.put("getLock", asked -> shown(clientOf.apply(asked).getLock(text(asked, "name"))));
    verbs.put("listLocks", this::listLocks);
    verbs.put("listLimits", this::listLimits);
    new HistoryVerbs(clientOf).addTo(verbs);
    verbs.put("forceRelease", this::forceRelease);
  }

  private Map<String, ?> renewLease(JsonObject asked) {
    RowlockClient client = clientOf.apply(asked);
    String leaseId = text(asked, "leaseId");
    RenewedLease lease =
        has(asked, "ttlMs") ? client.renew(leaseId, millis(asked, "ttlMs")) : client.renew(leaseId);
    Map<String, Object> shown = new HashMap<>();
    shown.put("name", lease.name());
    shown.put("token", String.valueOf(lease.token()));
    shown.put("tokens", HeldLocks.texts(lease.tokens()));
    lease.ttl().ifPresent(ttl -> shown.put("ttlMs", ttl.toMillis()));
    return shown;
  }

  private Map<String, ?> setLimit(JsonObject asked) {
    LimitChange target = target(asked);
    return set(
        asked, has(asked, "limit") ? target.to(asked.get("limit").getAsInt()) : target.unset());
  }

  private Map<String, ?> setRate(JsonObject asked) {
    return set(asked, target(asked).toRate(RateWords.rate(asked.getAsJsonObject("rate"))));
  }

  private Map<String, ?> setQueueRules(JsonObject asked) {
    return set(
        asked,
        target(asked).toQueueRules(QueueRulesWords.rules(asked.getAsJsonObject("queueRules"))));
  }

  private static LimitChange target(JsonObject asked) {
    if (has(asked, "pool")) return LimitChange.ofPool(text(asked, "pool"));
    return has(asked, "name")
        ? LimitChange.ofName(text(asked, "name"))
        : LimitChange.ofPattern(text(asked, "pattern"));
  }

  private Map<String, ?> set(JsonObject asked, LimitChange change) {
    if (has(asked, "ifVersion")) change = change.ifVersion(asked.get("ifVersion").getAsLong());
    if (has(asked, "reason")) change = change.reason(text(asked, "reason"));
    LimitInForce limit = clientOf.apply(asked).setLimit(change);
    Map<String, Object> shown = new HashMap<>();
    shown.put("limit", limit.limit());
    shown.put("version", String.valueOf(limit.version()));
    shown.put("heldPermits", limit.heldPermits());
    shown.put("waiterCount", limit.waiterCount());
    shown.put("draining", limit.draining());
    limit.rate().ifPresent(rate -> shown.put("rate", RateWords.shown(rate)));
    limit.queueRules().ifPresent(rules -> shown.put("queueRules", QueueRulesWords.shown(rules)));
    shown.put("noLimit", limit.hasNoLimit());
    shown.put("counting", limit.counting());
    return shown;
  }

  private Map<String, ?> updateRecord(JsonObject asked) {
    return RecordWords.shown(clientOf.apply(asked).updateRecord(RecordWords.change(asked)));
  }

  private Map<String, ?> deleteRecord(JsonObject asked) {
    RecordDeletion deletion = RecordDeletion.of(text(asked, "name"));
    if (has(asked, "ifVersion")) deletion = deletion.ifVersion(asked.get("ifVersion").getAsLong());
    if (has(asked, "reason")) deletion = deletion.reason(text(asked, "reason"));
    return Map.of("deleted", clientOf.apply(asked).deleteRecord(deletion));
  }

  private static Map<String, ?> shown(LockView lock) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("name", lock.name());
    shown.put("limit", lock.limit().permits());
    shown.put("limitSource", lock.limit().source().name().toLowerCase(Locale.ROOT));
    shown.put("heldPermits", lock.heldPermits());
    shown.put("holderCount", lock.holderCount());
    shown.put("waiterCount", lock.waiterCount());
    shown.put("draining", lock.draining());
    shown.put("lastToken", String.valueOf(lock.lastToken()));
    shown.put("holders", lock.holders().stream().map(OperatorVerbs::shown).toList());
    shown.put("waiters", lock.waiters().stream().map(OperatorVerbs::shown).toList());
    lock.record().ifPresent(record -> shown.put("record", RecordWords.shown(record)));
    lock.rate().ifPresent(rate -> shown.put("rate", RateWords.shown(rate)));
    lock.queueRules().ifPresent(rules -> shown.put("queueRules", QueueRulesWords.shown(rules)));
    shown.put("pools", lock.pools().stream().map(PoolWords::shown).toList());
    return shown;
  }

  static Map<String, Object> shown(ClaimView claim) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("owner", claim.owner());
    shown.put("principal", claim.principal());
    shown.put("permits", claim.permits());
    shown.put("mode", claim.mode().name().toLowerCase(Locale.ROOT));
    shown.put("ticketNumber", String.valueOf(claim.ticketNumber()));
    shown.put("labels", claim.labels());
    if (claim.spendOnly()) shown.put("spendOnly", true);
    claim.pool().ifPresent(pool -> shown.put("pool", pool));
    shown.put("also", claim.also().stream().map(OperatorVerbs::shown).toList());
    if (claim.provisional()) shown.put("provisional", true);
    claim.token().ifPresent(token -> shown.put("token", String.valueOf(token)));
    return shown;
  }

  private static Map<String, ?> shown(ClaimedLock lock) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("lockName", lock.lockName());
    shown.put("mode", lock.mode().name().toLowerCase(Locale.ROOT));
    shown.put("permits", lock.permits());
    lock.token().ifPresent(token -> shown.put("token", String.valueOf(token)));
    return shown;
  }

  private Map<String, ?> listLocks(JsonObject asked) {
    ListOptions options = ListOptions.of(has(asked, "prefix") ? text(asked, "prefix") : "");
    if (has(asked, "busyOnly") && asked.get("busyOnly").getAsBoolean()) options = options.busyOnly();
    if (has(asked, "statuses")) options = options.status(list(asked, "statuses"));
    if (has(asked, "exhaustedOnly")) options = options.exhaustedOnly();
    String order = has(asked, "order") ? text(asked, "order") : "name";
    if (order.equals("longest wait")) options = options.longestWaitFirst();
    if (order.equals("most waiters")) options = options.mostWaitersFirst();
    List<String> names = clientOf.apply(asked).listLocks(options).map(LockView::name).toList();
    return Map.of("names", names);
  }

  private Map<String, ?> listLimits(JsonObject asked) {
    String prefix = has(asked, "prefix") ? text(asked, "prefix") : "";
    List<Map<String, ?>> limits =
        clientOf.apply(asked).listLimits(prefix).<Map<String, ?>>map(OperatorVerbs::shown).toList();
    return Map.of("limits", limits);
  }

  private static Map<String, ?> shown(LimitSetting setting) {
    Map<String, Object> shown = new HashMap<>();
    shown.put(
        setting.isPool() ? "pool" : setting.isPattern() ? "pattern" : "name", setting.target());
    setting.use().ifPresent(use -> shown.put("use", PoolWords.shown(use)));
    if (!setting.isRateOnly()) shown.put("limit", setting.limit());
    shown.put("version", String.valueOf(setting.version()));
    shown.put("reason", setting.reason());
    setting.rate().ifPresent(rate -> shown.put("rate", RateWords.shown(rate)));
    setting.queueRules().ifPresent(rules -> shown.put("queueRules", QueueRulesWords.shown(rules)));
    return shown;
  }

  private Map<String, ?> forceRelease(JsonObject asked) {
    RowlockClient client = clientOf.apply(asked);
    String name = text(asked, "name");
    ForceReleased released =
        has(asked, "ticketNumber")
            ? client.forceRelease(name, asked.get("ticketNumber").getAsLong(), text(asked, "reason"))
            : client.forceRelease(name, text(asked, "reason"));
    return Map.of("ended", released.ended().size(), "remaining", released.remaining());
  }
}

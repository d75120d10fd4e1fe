// Locks under the handles that the runner gave them: asked for, held with or without a scope, inspected and released.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.millis;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import io.rowlock.Captured;
import io.rowlock.HandedOver;
import io.rowlock.HeldLock;
import io.rowlock.LimitView;
import io.rowlock.LockOptions;
import io.rowlock.Outcome;
import io.rowlock.Place;
import io.rowlock.Refusal;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import io.rowlock.SpendOptions;
import io.rowlock.Spent;
import io.rowlock.WaitNotice;

final class HeldLocks {
  private static final class Handle {
    /** Cancelled to give up. */
    volatile Future<?> asking;

    volatile HeldLock lock;

    /** For a scope: counted down to leave it. */
    final CountDownLatch leaving = new CountDownLatch(1);

    /** For a scope: how it ended. */
    final CompletableFuture<Void> left = new CompletableFuture<>();
  }

  private final Driver driver;
  private final Map<String, Handle> handles = new ConcurrentHashMap<>();

  HeldLocks(Driver driver) {
    this.driver = driver;
  }

  void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put("acquire", this::acquire);
    verbs.put("spend", this::spend);
    verbs.put("giveUp", this::giveUp);
    verbs.put("leave", this::leave);
    verbs.put("state", this::state);
    verbs.put("capture", this::capture);
    verbs.put(
        "release",
        asked -> Map.of("released", held(asked).release(RecordWords.lastWords(asked))));
    verbs.put("handOver", this::handOver);
  }

  private Map<String, ?> acquire(JsonObject asked) {
    RowlockClient client = driver.clientOf(asked);
    LockOptions options = options(asked);
    Handle handle = new Handle();
    handles.put(text(asked, "lock"), handle);
    if (has(asked, "scope") && asked.get("scope").getAsBoolean()) {
      handle.asking = driver.threads().submit(() -> hold(client, asked, options, handle));
      return null;
    }
    CompletableFuture<Outcome> outcome = client.acquireAsync(text(asked, "name"), options);
    handle.asking = outcome;
    outcome.whenComplete(
        (found, failure) -> {
          if (failure != null) driver.fail(asked, failure);
          else if (found instanceof Outcome.Granted granted) granted(asked, handle, granted.lock());
          else driver.answer(asked, Map.of("refused", shown(((Outcome.Refused) found).refusal())));
        });
    return null;
  }

  /** Runs on a thread of its own, which stays in the scope until it is left. */
  private void hold(RowlockClient client, JsonObject asked, LockOptions options, Handle handle) {
    try {
      client.withLock(
          text(asked, "name"),
          options,
          lock -> {
            granted(asked, handle, lock);
            handle.leaving.await();
          });
      handle.left.complete(null);
    } catch (Exception failure) {
      handle.left.completeExceptionally(failure);
      if (handle.lock == null) driver.fail(asked, failure);
    }
  }

  /** A refusal is an error of this client's call, and a result of the verb. */
  private Map<String, ?> spend(JsonObject asked) {
    SpendOptions options = LeaseWords.spend(asked, place -> tell(asked, place), notice -> tell(asked, notice));
    Handle handle = new Handle();
    handles.put(text(asked, "lock"), handle);
    CompletableFuture<Spent> outcome = driver.clientOf(asked).spendAsync(text(asked, "name"), options);
    handle.asking = outcome;
    outcome.whenComplete(
        (spent, failure) -> {
          if (failure == null) driver.answer(asked, Map.of("spent", shown(spent)));
          else if (failure instanceof RowlockException error && error.refusal().isPresent())
            driver.answer(asked, Map.of("refused", shown(error.refusal().get())));
          else driver.fail(asked, failure);
        });
    return null;
  }

  private static Map<String, ?> shown(Spent spent) {
    return Map.of(
        "name", spent.name(),
        "token", String.valueOf(spent.token()),
        "permits", spent.permits(),
        "spentAtMs", spent.at().toEpochMilli(),
        "requestId", spent.requestId());
  }

  private Map<String, ?> capture(JsonObject asked) {
    Handle handle = new Handle();
    handles.put(text(asked, "lock"), handle);
    CompletableFuture<Captured> outcome =
        driver.clientOf(asked).captureAsync(LeaseWords.capture(asked));
    handle.asking = outcome;
    outcome.whenComplete(
        (captured, failure) -> {
          if (failure != null) driver.fail(asked, failure);
          else captured(asked, captured);
        });
    return null;
  }

  /** Each lock has a handle of its own: the command's handle and a number. */
  private void captured(JsonObject asked, Captured captured) {
    List<Map<String, String>> locks = new ArrayList<>();
    for (HeldLock lock : captured.locks()) {
      Handle handle = new Handle();
      handle.lock = lock;
      String name = text(asked, "lock") + locks.size();
      handles.put(name, handle);
      locks.add(
          Map.of(
              "lock", name,
              "name", lock.name(),
              "token", String.valueOf(lock.token()),
              "leaseId", lock.leaseId()));
    }
    Map<String, Object> shown = new HashMap<>();
    shown.put("captured", locks);
    captured.retryAfter().ifPresent(after -> shown.put("retryAfterMs", after.toMillis()));
    driver.answer(asked, shown);
    locks.forEach(lock -> tellStates(lock.get("lock")));
  }

  private void tellStates(String handle) {
    handles
        .get(handle)
        .lock
        .onState(
            state ->
                driver.say(
                    Map.of(
                        "event", "state",
                        "lock", handle,
                        "state", state.name().toLowerCase(Locale.ROOT),
                        // The clock that all processes of a Linux machine share.
                        "atMs", System.nanoTime() / 1e6)));
  }

  private void granted(JsonObject asked, Handle handle, HeldLock lock) {
    handle.lock = lock;
    driver.answer(
        asked,
        Map.of(
            "granted",
            Map.of(
                "token", String.valueOf(lock.token()),
                "tokens", texts(lock.tokens()),
                "leaseId", lock.leaseId(),
                "mode", lock.mode().name().toLowerCase(Locale.ROOT),
                "permits", lock.permits())));
    tellStates(text(asked, "lock"));
  }

  /** Fencing tokens by name, as the runner reads them. */
  static Map<String, String> texts(Map<String, Long> tokens) {
    Map<String, String> texts = new LinkedHashMap<>();
    tokens.forEach((name, token) -> texts.put(name, String.valueOf(token)));
    return texts;
  }

  private LockOptions options(JsonObject asked) {
    return LeaseWords.lock(asked, place -> tell(asked, place), notice -> tell(asked, notice));
  }

  private void tell(JsonObject asked, Place place) {
    driver.say(shown(text(asked, "lock"), place));
  }

  private void tell(JsonObject asked, WaitNotice notice) {
    driver.say(shown(text(asked, "lock"), notice));
  }

  private static Map<String, ?> shown(String lock, WaitNotice notice) {
    return Map.of(
        "event", "waiting",
        "lock", lock,
        "ahead", notice.place().ahead(),
        "summary", notice.summary(),
        "heldByYou", notice.heldByYou());
  }

  private static Map<String, ?> shown(String lock, Place place) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("event", "position");
    shown.put("lock", lock);
    shown.put("ahead", place.ahead());
    shown.put("permitsAhead", place.permitsAhead());
    shown.put("queueLength", place.queueLength());
    shown.put("waitedMs", place.waited().toMillis());
    place.rateWait().ifPresent(wait -> shown.put("rateWaitMs", wait.toMillis()));
    place.pool().ifPresent(pool -> shown.put("pool", pool));
    place.waitsFor().ifPresent(name -> shown.put("waitsFor", name));
    return shown;
  }

  private static Map<String, ?> shown(Refusal refusal) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("reason", refusal.reason().name());
    shown.put("message", refusal.message());
    List<Map<String, String>> holders =
        refusal.holders().stream()
            .map(
                holder ->
                    Map.of(
                        "owner", holder.owner(),
                        "token", String.valueOf(holder.token().orElse(0))))
            .toList();
    shown.put("holders", holders);
    refusal.rate().ifPresent(rate -> shown.put("rate", RateWords.shown(rate)));
    refusal.queueRules().ifPresent(rules -> shown.put("queueRules", QueueRulesWords.shown(rules)));
    refusal.limit().ifPresent(limit -> shown.put("limit", shown(limit)));
    if (refusal.heldByYou()) shown.put("heldByYou", true);
    refusal.lockName().ifPresent(name -> shown.put("lockName", name));
    refusal.status().ifPresent(status -> shown.put("status", status));
    refusal.retryAfter().ifPresent(after -> shown.put("retryAfterMs", after.toMillis()));
    return shown;
  }

  private static Map<String, ?> shown(LimitView limit) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("permits", limit.permits());
    shown.put("source", limit.source().name().toLowerCase(Locale.ROOT));
    limit.pattern().ifPresent(pattern -> shown.put("pattern", pattern));
    shown.put("reason", limit.reason());
    return shown;
  }

  private Map<String, ?> giveUp(JsonObject asked) {
    find(asked).asking.cancel(true);
    return Map.of();
  }

  private Map<String, ?> leave(JsonObject asked) throws Exception {
    Handle handle = find(asked);
    handle.leaving.countDown();
    try {
      handle.left.get();
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof Exception cause ? cause : failed;
    }
    return Map.of("released", true);
  }

  private Map<String, ?> state(JsonObject asked) {
    HeldLock lock = held(asked);
    Map<String, Object> shown = new HashMap<>();
    shown.put("state", lock.state().name().toLowerCase(Locale.ROOT));
    lock.remaining().ifPresent(left -> shown.put("remainingMs", left.toMillis()));
    return shown;
  }

  private Map<String, ?> handOver(JsonObject asked) {
    HeldLock lock = held(asked);
    HandedOver over = has(asked, "ttlMs") ? lock.handOver(millis(asked, "ttlMs")) : lock.handOver();
    return Map.of(
        "leaseId", over.leaseId(),
        "token", String.valueOf(over.token()),
        "tokens", texts(over.tokens()));
  }

  private Handle find(JsonObject asked) {
    Handle found = handles.get(text(asked, "lock"));
    if (found == null) throw new IllegalArgumentException("There is no such lock: " + asked);
    return found;
  }

  private HeldLock held(JsonObject asked) {
    HeldLock lock = find(asked).lock;
    if (lock == null) throw new IllegalStateException("Not granted: " + asked);
    return lock;
  }
}

// Reads the options of a lease from a command of the protocol.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.list;
import static io.rowlock.conformance.Driver.millis;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import io.rowlock.CaptureOptions;
import io.rowlock.LockOptions;
import io.rowlock.Mode;
import io.rowlock.Place;
import io.rowlock.SpendOptions;
import io.rowlock.WaitNotice;

final class LeaseWords {
  private LeaseWords() {}

  static LockOptions lock(JsonObject asked, Consumer<Place> moved, Consumer<WaitNotice> waits) {
    LockOptions.Builder options = LockOptions.builder().onWaiting(waits);
    if (has(asked, "reentrant")) options.reentrant(asked.get("reentrant").getAsBoolean());
    if (has(asked, "waitMs")) options.waitAtMost(millis(asked, "waitMs"));
    if (isForever(asked, "ttlMs")) options.noExpiry();
    else if (has(asked, "ttlMs")) options.ttl(millis(asked, "ttlMs"));
    if (has(asked, "marginMs")) options.margin(millis(asked, "marginMs"));
    if (has(asked, "permits")) options.permits(asked.get("permits").getAsInt());
    if (has(asked, "mode")) options.mode(mode(asked));
    if (has(asked, "also"))
      for (JsonElement lock : asked.getAsJsonArray("also")) addFurther(options, lock.getAsJsonObject());
    if (has(asked, "headStartMs")) options.headStart(millis(asked, "headStartMs"));
    if (has(asked, "requestId")) options.requestId(text(asked, "requestId"));
    if (has(asked, "owner")) options.owner(text(asked, "owner"));
    options.labels(Driver.texts(asked, "labels"));
    if (has(asked, "minIntervalMs")) options.minInterval(millis(asked, "minIntervalMs"));
    if (has(asked, "lockDelayMs")) options.lockDelay(millis(asked, "lockDelayMs"));
    if (has(asked, "statusIfLost")) options.statusIfLost(text(asked, "statusIfLost"));
    backoff(asked, options::backoff, options::backoff);
    options.ifStatus(list(asked, "ifStatus"));
    if (has(asked, "positionIntervalMs"))
      options.positionInterval(millis(asked, "positionIntervalMs"));
    if (has(asked, "positions") && asked.get("positions").getAsBoolean()) options.onPosition(moved);
    return options.build();
  }

  private static void addFurther(LockOptions.Builder options, JsonObject lock) {
    String name = text(lock, "name");
    if (!has(lock, "mode") && !has(lock, "permits")) {
      options.also(name);
      return;
    }
    int permits = has(lock, "permits") ? lock.get("permits").getAsInt() : 1;
    options.also(name, has(lock, "mode") ? mode(lock) : Mode.PERMIT, permits);
  }

  private static Mode mode(JsonObject asked) {
    return Mode.valueOf(text(asked, "mode").toUpperCase(Locale.ROOT));
  }

  static SpendOptions spend(JsonObject asked, Consumer<Place> moved, Consumer<WaitNotice> waits) {
    SpendOptions.Builder options = SpendOptions.builder().onWaiting(waits);
    if (has(asked, "waitMs")) options.waitAtMost(millis(asked, "waitMs"));
    if (has(asked, "headStartMs")) options.headStart(millis(asked, "headStartMs"));
    if (has(asked, "permits")) options.permits(asked.get("permits").getAsInt());
    if (has(asked, "requestId")) options.requestId(text(asked, "requestId"));
    if (has(asked, "owner")) options.owner(text(asked, "owner"));
    options.labels(Driver.texts(asked, "labels"));
    options.ifStatus(list(asked, "ifStatus"));
    if (has(asked, "positionIntervalMs"))
      options.positionInterval(millis(asked, "positionIntervalMs"));
    if (has(asked, "positions") && asked.get("positions").getAsBoolean()) options.onPosition(moved);
    return options.build();
  }

  static CaptureOptions capture(JsonObject asked) {
    CaptureOptions.Builder options = CaptureOptions.builder();
    if (has(asked, "prefix")) options.prefix(text(asked, "prefix"));
    if (has(asked, "names")) options.names(list(asked, "names"));
    if (has(asked, "count")) options.count(asked.get("count").getAsInt());
    if (isForever(asked, "waitMs")) options.waitForever();
    else if (has(asked, "waitMs")) options.waitAtMost(millis(asked, "waitMs"));
    if (has(asked, "ttlMs")) options.ttl(millis(asked, "ttlMs"));
    if (has(asked, "marginMs")) options.margin(millis(asked, "marginMs"));
    if (has(asked, "requestId")) options.requestId(text(asked, "requestId"));
    if (has(asked, "owner")) options.owner(text(asked, "owner"));
    options.labels(Driver.texts(asked, "labels"));
    if (has(asked, "minIntervalMs")) options.minInterval(millis(asked, "minIntervalMs"));
    if (has(asked, "lockDelayMs")) options.lockDelay(millis(asked, "lockDelayMs"));
    if (has(asked, "statusIfLost")) options.statusIfLost(text(asked, "statusIfLost"));
    backoff(asked, options::backoff, options::backoff);
    options.ifStatus(list(asked, "ifStatus"));
    return options.build();
  }

  static void backoff(JsonObject asked, Consumer<Duration> same, BiConsumer<Duration, Duration> growing) {
    if (!has(asked, "backoff")) return;
    JsonObject backoff = asked.getAsJsonObject("backoff");
    if (has(backoff, "maxMs")) growing.accept(millis(backoff, "firstMs"), millis(backoff, "maxMs"));
    else same.accept(millis(backoff, "firstMs"));
  }

  private static boolean isForever(JsonObject asked, String key) {
    return has(asked, key) && asked.get(key).getAsJsonPrimitive().isString();
  }
}

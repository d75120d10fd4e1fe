// Watches under the names that the runner gave them.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import io.rowlock.LockView;
import io.rowlock.RowlockException;
import io.rowlock.Watch;
import io.rowlock.WatchUpdate;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;

final class WatchVerbs {
  private record Watching(Watch watch, Future<?> reading) {}

  private final Driver driver;
  private final Map<String, Watching> watches = new ConcurrentHashMap<>();

  WatchVerbs(Driver driver) {
    this.driver = driver;
  }

  void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put("watch", this::watch);
    verbs.put("unwatch", this::unwatch);
  }

  private Map<String, ?> watch(JsonObject asked) {
    String name = text(asked, "watch");
    Watch watch = driver.clientOf(asked).watch(text(asked, "prefix"));
    watches.put(name, new Watching(watch, driver.threads().submit(() -> read(name, watch))));
    return Map.of();
  }

  private Map<String, ?> unwatch(JsonObject asked) throws Exception {
    Watching watching = watches.remove(text(asked, "watch"));
    watching.watch().close();
    watching.reading().get();
    return Map.of();
  }

  /** Until the watch is closed. */
  private void read(String name, Watch watch) {
    try {
      for (; ; ) driver.say(shown(name, watch.next()));
    } catch (RowlockException ended) {
      if (watches.containsKey(name))
        driver.say(
            Map.of("event", "watch failed", "watch", name, "error", String.valueOf(ended.getMessage())));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static Map<String, ?> shown(String name, WatchUpdate update) {
    List<Map<String, ?>> locks = update.locks().stream().<Map<String, ?>>map(WatchVerbs::shown).toList();
    return Map.of(
        "event", "watched",
        "watch", name,
        "beganAnew", update.beganAnew(),
        "complete", update.complete(),
        "locks", locks,
        "deleted", update.deleted());
  }

  private static Map<String, ?> shown(LockView lock) {
    return Map.of(
        "name", lock.name(),
        "holderCount", lock.holderCount(),
        "waiterCount", lock.waiterCount(),
        "lastToken", String.valueOf(lock.lastToken()));
  }
}

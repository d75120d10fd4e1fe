// Work loops, with handlers that run until the runner finishes them.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.has;
import static io.rowlock.conformance.Driver.list;
import static io.rowlock.conformance.Driver.millis;
import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import io.rowlock.HeldLock;
import io.rowlock.WorkOptions;
import io.rowlock.Worker;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

final class WorkVerbs {
  private final Driver driver;
  private final Map<String, Worker> workers = new ConcurrentHashMap<>();

  /** Whether each handler fails, by its worker and lock. */
  private final Map<String, BlockingQueue<Boolean>> ends = new ConcurrentHashMap<>();

  WorkVerbs(Driver driver) {
    this.driver = driver;
  }

  void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put("work", this::work);
    verbs.put("finish", this::finish);
    verbs.put("stopWorking", this::stop);
  }

  private Map<String, ?> work(JsonObject asked) {
    String name = text(asked, "worker");
    WorkOptions.Builder options =
        WorkOptions.builder()
            .concurrency(asked.get("concurrency").getAsInt())
            .ifStatus(list(asked, "ifStatus"));
    if (has(asked, "ttlMs")) options.ttl(millis(asked, "ttlMs"));
    if (has(asked, "statusWhenDone")) options.statusWhenDone(text(asked, "statusWhenDone"));
    if (has(asked, "statusIfLost")) options.statusIfLost(text(asked, "statusIfLost"));
    LeaseWords.backoff(asked, options::backoff, options::backoff);
    workers.put(
        name,
        driver.clientOf(asked).work(text(asked, "prefix"), options.build(), lock -> handle(name, lock)));
    return Map.of();
  }

  private void handle(String worker, HeldLock lock) throws InterruptedException {
    driver.say(
        Map.of(
            "event", "working",
            "worker", worker,
            "name", lock.name(),
            "token", String.valueOf(lock.token())));
    if (endOf(worker, lock.name()).take()) throw new IllegalStateException("The runner wants it so.");
  }

  private Map<String, ?> finish(JsonObject asked) {
    boolean fails = has(asked, "fails") && asked.get("fails").getAsBoolean();
    endOf(text(asked, "worker"), text(asked, "name")).add(fails);
    return Map.of();
  }

  private BlockingQueue<Boolean> endOf(String worker, String lock) {
    return ends.computeIfAbsent(worker + " " + lock, any -> new LinkedBlockingQueue<>());
  }

  private Map<String, ?> stop(JsonObject asked) {
    workers.get(text(asked, "worker")).close();
    return Map.of();
  }
}

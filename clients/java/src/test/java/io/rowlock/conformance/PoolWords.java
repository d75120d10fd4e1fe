// Pools, as the runner reads them.

package io.rowlock.conformance;

import io.rowlock.PoolUse;
import io.rowlock.PoolView;
import java.util.HashMap;
import java.util.Map;

final class PoolWords {
  private PoolWords() {}

  static Map<String, Object> shown(PoolView pool) {
    Map<String, Object> shown = new HashMap<>();
    shown.put("pattern", pool.pattern());
    pool.limit().ifPresent(limit -> shown.put("limit", limit.permits()));
    pool.rate().ifPresent(rate -> shown.put("rate", RateWords.shown(rate)));
    shown.put("use", shown(pool.use()));
    return shown;
  }

  static Map<String, ?> shown(PoolUse use) {
    return Map.of(
        "heldPermits", use.heldPermits(),
        "holderCount", use.holderCount(),
        "waiterCount", use.waiterCount(),
        "draining", use.draining(),
        "counting", use.counting(),
        "available", use.available());
  }
}

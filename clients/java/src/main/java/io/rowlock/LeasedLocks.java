// All locks of one lease, in the order of the request: how each is held, and its fencing token.

package io.rowlock;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import rowlock.v1.ClaimedLock;
import rowlock.v1.Lease;

record LeasedLocks(List<WantedLock> held, Map<String, Long> tokens) {
  static LeasedLocks of(Lease lease) {
    List<WantedLock> held = new ArrayList<>();
    Map<String, Long> tokens = new LinkedHashMap<>();
    held.add(new WantedLock(lease.getLockName(), Mode.of(lease.getMode()), lease.getPermits()));
    tokens.put(lease.getLockName(), lease.getFencingToken());
    for (ClaimedLock lock : lease.getAlsoList()) {
      held.add(new WantedLock(lock.getLockName(), Mode.of(lock.getMode()), lock.getPermits()));
      tokens.put(lock.getLockName(), lock.getFencingToken());
    }
    return new LeasedLocks(List.copyOf(held), Collections.unmodifiableMap(tokens));
  }

  long tokenOf(String name) {
    Long token = tokens.get(name);
    if (token == null)
      throw new IllegalArgumentException(
          "name: \"" + name + "\" is no lock of this claim, which has " + tokens.keySet());
    return token;
  }
}

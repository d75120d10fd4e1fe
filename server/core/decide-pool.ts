// The decision about a pool's own guard row: an operator changes its limit or its rate, the walk that counts earlier holders
// ends, or a server looks who may go on. It touches no claim: those who may go on are looked at with their own locks.

import type { Command, Outcome, SetLimit } from "./command.ts";
import { withSet } from "./limit.ts";
import { byOf, type NotedChange, settingsText } from "./noted-change.ts";
import type { Pool } from "./pools.ts";

interface Attempt {
  /** Random. A pool that is made is counted under it. */
  readonly mark: bigint;
}

export function decidePool(pool: Pool, command: Command, attempt: Attempt, noted: NotedChange[]): Outcome {
  switch (command.verb) {
    case "set_limit":
      return setPoolLimit(pool, command, attempt, noted);
    case "end_counting":
      if (pool.lock.counting === command.counting) pool.lock.counting = null;
      return { kind: "done" };
    default:
      return { kind: "done" };
  }
}

function setPoolLimit(pool: Pool, command: SetLimit, attempt: Attempt, noted: NotedChange[]): Outcome {
  const { lock } = pool;
  const { expectedVersion = lock.limitVersion, reason, caller } = command;
  if (expectedVersion !== lock.limitVersion) return { kind: "version_mismatch", version: lock.limitVersion };
  const from = { limit: lock.limit, rate: lock.rate, queueRules: null };
  Object.assign(lock, withSet(from, command));
  // Who holds already has taken no permits of it so far.
  const isNew = from.limit === null && from.rate === null;
  if (pool.isLeaving) lock.counting = null;
  else if (isNew) lock.counting = attempt.mark;
  lock.limitVersion += 1n;
  lock.limitReason = reason;
  const texts = { from: settingsText(from), to: settingsText(lock), reason };
  noted.push({ kind: "pool", target: pool.pattern, isPattern: true, by: byOf(caller), ...texts });
  const { limit, rate } = pool;
  return { kind: "limit", lock, limit, rate, queueRules: null, version: lock.limitVersion };
}

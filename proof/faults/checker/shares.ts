// Where the shares of a lock are fair: whoever is granted from the queue is of a group that holds no more than another one of which
// somebody waits. What a group holds follows from the leases that are listed at the end.

import type { Acquired, History, Listed, RulesSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";

/** By the database's clock: a wait that begins so shortly before a grant may not have been seen, and ends may be of the same time. */
const UNSURE_US = 30_000;
/** A lease that has run out is ended by a decision that comes later. */
const ENDS_LATE_US = 2_000_000;
const RUN_OUT = ["EXPIRED", "LAPSED"];

export function shares(history: History): Breach[] {
  // The times of claims change after the clock was set, and what is not listed is not counted.
  if (history.of("step").length > 0 || history.of("lose").length > 0) return [];
  const breaches: Breach[] = [];
  const [listed, unserved, asked] = [
    history.byLock("list"),
    history.byLock("unserved"),
    history.byLock("acquire"),
  ];
  for (const [lock, [rules, ...others]] of history.byLock("rules")) {
    // The rules were set once, and are as they were then.
    if (others.length > 0 || rules?.outcome !== "done" || rules.shareBy === undefined) continue;
    const leases = (listed.get(lock) ?? []).filter(isTimed);
    const fromUs = sharedFromUs(rules, asked.get(lock) ?? [], leases);
    const waits = [...leases, ...(unserved.get(lock) ?? []).filter(isWait)];
    for (const lease of leases) {
      const atUs = lease.grantedUs;
      // It was granted at once.
      if (atUs - lease.requestedUs < UNSURE_US || atUs < fromUs) continue;
      const before = leases.filter((other) => BigInt(other.token) < BigInt(lease.token));
      const surely = (group: string) => heldBy(before, group, (each) => endOf(each) > atUs + UNSURE_US);
      const perhaps = (group: string) =>
        heldBy(before, group, (each) => latestEndOf(each) > atUs - UNSURE_US);
      const passed = waits.find(
        (wait) =>
          wait.group !== lease.group &&
          wait.requestedUs < atUs - UNSURE_US &&
          (wait.grantedUs ?? wait.endedUs ?? 0) > atUs + UNSURE_US &&
          perhaps(wait.group) < surely(lease.group),
      );
      if (!passed) continue;
      const what = `${lock}: ticket ${lease.ticket} of ${lease.group}, which held ${surely(lease.group)}, was granted while ticket ${passed.ticket} of ${passed.group} waited, which held ${perhaps(passed.group)}`;
      breaches.push({ rule: "the group that holds least is next", what });
    }
  }
  return breaches;
}

/** By the database's clock, the first request that was begun after the rules had been set. */
function sharedFromUs(
  { endMs }: RulesSet,
  calls: readonly Acquired[],
  leases: readonly (Listed & Timed)[],
): number {
  const later = calls.filter(({ startMs }) => startMs > endMs);
  const tokens = new Set(later.map(({ token }) => token));
  const times = leases.filter(({ token }) => tokens.has(token)).map(({ requestedUs }) => requestedUs);
  return Math.min(Number.POSITIVE_INFINITY, ...times);
}

interface Timed {
  readonly group: string;
  readonly requestedUs: number;
}

function isTimed(listed: Listed): listed is Listed & Timed & { readonly grantedUs: number } {
  return listed.group !== undefined && listed.requestedUs !== undefined && listed.grantedUs !== undefined;
}

function isWait<Told extends Partial<Timed>>(told: Told): told is Told & Timed {
  return told.group !== undefined && told.requestedUs !== undefined;
}

function endOf({ endedUs = Number.POSITIVE_INFINITY }: Listed): number {
  return endedUs;
}

function latestEndOf(lease: Listed): number {
  return endOf(lease) + (RUN_OUT.includes(lease.endReason ?? "") ? ENDS_LATE_US : 0);
}

function heldBy(leases: readonly Listed[], group: string, isHeld: (lease: Listed) => boolean): number {
  const own = leases.filter((lease) => lease.group === group && isHeld(lease));
  return own.reduce((sum, { permits }) => sum + permits, 0);
}

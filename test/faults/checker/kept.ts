// What was acknowledged is there afterwards, and nothing that was replaced comes back: limits, counters, grants, releases.

import type { Counted, Final, History, LimitSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";

export function kept(history: History): Breach[] {
  return [...limits(history), ...counters(history), ...grantsAndReleases(history)];
}

function limits(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const [lock, settings] of history.byLock("limit")) {
    const final = finalOf(history, lock);
    if (!final) continue;
    const possible = new Set(settings.filter((each) => mayBeLast(each, settings)).map(({ limit }) => limit));
    if (!possible.has(final.limit)) {
      const what = `${lock}: the limit is ${final.limit}, and only ${[...possible].join(", ")} may be in force`;
      breaches.push({ rule: "an acknowledged limit stays", what });
    }
  }
  return breaches;
}

function mayBeLast(setting: LimitSet, all: readonly LimitSet[]): boolean {
  if (setting.outcome === "unknown") return true;
  return !all.some((other) => other.outcome === "done" && other.startMs > setting.endMs);
}

function counters(history: History): Breach[] {
  const breaches: Breach[] = [];
  const reads = history.byLock("read");
  for (const [lock, counts] of history.byLock("count")) {
    const breach = (rule: string, what: string) => breaches.push({ rule, what: `${lock}: ${what}` });
    const done = counts.filter(({ outcome }) => outcome === "done");
    for (const [from, winners] of Map.groupBy(done, ({ fromVersion }) => fromVersion)) {
      if (winners.length > 1) {
        const whom = winners.map(({ who }) => who).join(" and ");
        breach("a compare-and-set is won once", `version ${from} was replaced by ${whom}`);
      }
    }
    for (const { who, fromVersion, version } of done) {
      if (BigInt(version as string) <= BigInt(fromVersion))
        breach("versions rise", `${who} replaced ${fromVersion} and got ${version}`);
    }
    for (const [version, values] of valuesByVersion(done, reads.get(lock) ?? [])) {
      if (values.size > 1)
        breach("versions never repeat", `version ${version} had ${[...values].join(" and ")}`);
    }
    breaches.push(...neverBack(lock, done, reads.get(lock) ?? []));
    const final = finalOf(history, lock);
    if (!final) continue;
    const unknown = counts.filter(({ outcome }) => outcome === "unknown").length;
    const value = Number(final.status);
    if (value < done.length || value > done.length + unknown) {
      const what = `the value is ${value} after ${done.length} acknowledged increments and ${unknown} unknown ones`;
      breach("no acknowledged change is lost", what);
    }
  }
  return breaches;
}

interface Seen {
  readonly value: number;
  readonly version: string;
  readonly startMs: number;
  readonly endMs: number;
}

function seenBy(done: readonly Counted[], reads: readonly Seen[]): Seen[] {
  const written = done.map(({ to, version, startMs, endMs }) => ({
    value: to,
    version: version as string,
    startMs,
    endMs,
  }));
  return [...written, ...reads];
}

function valuesByVersion(done: readonly Counted[], reads: readonly Seen[]): Map<string, Set<number>> {
  const values = new Map<string, Set<number>>();
  for (const { version, value } of seenBy(done, reads)) {
    values.set(version, (values.get(version) ?? new Set()).add(value));
  }
  return values;
}

/** Who begins after somebody has been told a value never sees a lower one. */
function neverBack(lock: string, done: readonly Counted[], reads: readonly Seen[]): Breach[] {
  const told = seenBy(done, reads).sort((a, b) => a.endMs - b.endMs);
  const asked = [...reads].sort((a, b) => a.startMs - b.startMs);
  let highest = 0;
  let next = 0;
  const breaches: Breach[] = [];
  for (const { value, startMs } of asked) {
    for (let before = told[next]; before && before.endMs < startMs; before = told[++next]) {
      highest = Math.max(highest, before.value);
    }
    if (value < highest)
      breaches.push({ rule: "no replaced value comes back", what: `${lock}: ${value} after ${highest}` });
  }
  return breaches;
}

function grantsAndReleases(history: History): Breach[] {
  const listed = new Map(history.of("list").map(({ lock, token, state }) => [`${lock}/${token}`, state]));
  if (listed.size === 0) return [];
  const breaches: Breach[] = [];
  for (const { lock, token, who, outcome } of history.of("acquire")) {
    if (outcome === "granted" && !listed.has(`${lock}/${token}`))
      breaches.push({ rule: "the history has each grant", what: `${lock}: ${token} of ${who} is not in it` });
  }
  for (const { lock, token, who, outcome } of history.of("release")) {
    if (outcome === "released" && listed.get(`${lock}/${token}`) !== "ended")
      breaches.push({
        rule: "an acknowledged release stays",
        what: `${lock}: ${token} of ${who} has not ended`,
      });
  }
  return breaches;
}

function finalOf(history: History, lock: string): Final | undefined {
  return history.of("final").find((final) => final.lock === lock);
}

// What was acknowledged is there afterwards, and nothing that was replaced comes back: limits, counters, grants, releases.

import type { Counted, Final, History, LimitSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { DEFAULT_LIMIT } from "./exclusion.ts";

/** The version of a lock whose record was deleted. */
const NO_RECORD = "0";

export function kept(history: History): Breach[] {
  return [...limits(history), ...counters(history), ...grantsAndReleases(history)];
}

function limits(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const [lock, settings] of history.byLock("limit")) {
    const final = finalOf(history, lock);
    if (!final) continue;
    const possible = new Set(settings.filter((each) => mayBeLast(each, settings)).map(({ limit }) => limit));
    if (settings.every(({ outcome }) => outcome === "unknown")) possible.add(DEFAULT_LIMIT);
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
    // An increment never ends at 0, and only a deletion does.
    const isErased = counts.some(({ to, outcome }) => to === 0 && outcome !== "mismatch");
    for (const [from, winners] of Map.groupBy(done, ({ fromVersion }) => fromVersion)) {
      if (winners.length > 1 && !(isErased && from === NO_RECORD)) {
        const whom = winners.map(({ who }) => who).join(" and ");
        breach("a compare-and-set is won once", `version ${from} was replaced by ${whom}`);
      }
    }
    for (const { who, fromVersion, version } of done) {
      if (version !== NO_RECORD && BigInt(version as string) <= BigInt(fromVersion))
        breach("versions rise", `${who} replaced ${fromVersion} and got ${version}`);
    }
    for (const [version, values] of valuesByVersion(done, reads.get(lock) ?? [])) {
      if (values.size > 1)
        breach("versions never repeat", `version ${version} had ${[...values].join(" and ")}`);
    }
    const recorded = (all: readonly Seen[]) => all.filter(({ version }) => version !== NO_RECORD);
    const read = reads.get(lock) ?? [];
    const told = seenBy(done, read);
    for (const what of neverBack(recorded(told), recorded(read), ({ version }) => BigInt(version)))
      breach("versions never fall", what);
    // The value of one that is erased begins anew.
    if (isErased) continue;
    for (const what of neverBack(told, read, ({ value }) => BigInt(value)))
      breach("no replaced value comes back", what);
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

/** Who begins after somebody has been told a number never sees a lower one. */
function neverBack(
  told: readonly Seen[],
  reads: readonly Seen[],
  numberOf: (seen: Seen) => bigint,
): string[] {
  const sorted = [...told].sort((a, b) => a.endMs - b.endMs);
  const asked = [...reads].sort((a, b) => a.startMs - b.startMs);
  let highest = 0n;
  let next = 0;
  return asked.flatMap((read) => {
    for (let before = sorted[next]; before && before.endMs < read.startMs; before = sorted[++next]) {
      if (numberOf(before) > highest) highest = numberOf(before);
    }
    return numberOf(read) < highest ? [`${numberOf(read)} after ${highest}`] : [];
  });
}

function grantsAndReleases(history: History): Breach[] {
  const listed = new Map(history.of("list").map(({ lock, token, state }) => [`${lock}/${token}`, state]));
  if (listed.size === 0) return [];
  const forgetful = new Set(
    history
      .of("final")
      .filter(({ isForgetful }) => isForgetful)
      .map(({ lock }) => lock),
  );
  const breaches: Breach[] = [];
  const acquired = history.of("acquire").filter(({ outcome }) => outcome === "granted");
  const taken = history
    .of("take")
    .flatMap(({ who, taken }) => taken.map(({ task: lock, token }) => ({ lock, token, who })));
  for (const { lock, token, who } of [...acquired, ...taken]) {
    if (!forgetful.has(lock) && !listed.has(`${lock}/${token}`))
      breaches.push({ rule: "the history has each grant", what: `${lock}: ${token} of ${who} is not in it` });
  }
  const finished = history.of("finish").map(({ task: lock, ...release }) => ({ lock, ...release }));
  for (const { lock, token, who, outcome } of [...history.of("release"), ...finished]) {
    if (forgetful.has(lock)) continue;
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

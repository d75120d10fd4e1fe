// History tells what happened: the claims and changes that a server lists at the end are those that clients asked for and
// were told of, and no others.

import type { Acquired, History, Listed, Noted } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { connectedWith } from "./set-locks.ts";

const RULE = "history tells what happened";
/** Refusals of a client that may have been granted a lease, which ended before the client could rely on it. */
const AFTER_A_GRANT = ["LAPSED", "LEASE_LOST", "EXPIRED", "FORCE_RELEASED", "CANCELLED"];

/** A client repeats a call that has no answer by then. The first one may come to its decision after the second is refused. */
const REPEATED_AFTER_MS = 2_000;

export function toldHistory(history: History): Breach[] {
  if (history.of("list").length === 0) return [];
  const listed = history.byLock("list");
  return [
    ...claims(history, listed),
    ...unasked(history, listed),
    ...forced(history, listed),
    ...changes(history),
  ];
}

/** Each grant that a client was told is listed with what the client asked for, and with how it ended. */
function claims(history: History, listed: ReadonlyMap<string, readonly Listed[]>): Breach[] {
  const breaches: Breach[] = [];
  const byToken = new Map(
    [...listed].map(([lock, all]) => [lock, new Map(all.map((claim) => [claim.token, claim]))]),
  );
  const must = (lock: string, token: string, expected: Partial<Listed>) => {
    const claim = byToken.get(lock)?.get(token);
    // That it is listed at all is another rule.
    if (!claim) return;
    for (const [field, value] of Object.entries(expected)) {
      const found = claim[field as keyof Listed];
      if (found === value) continue;
      breaches.push({ rule: RULE, what: `${lock}: ${token} has the ${field} ${found} instead of ${value}` });
    }
  };
  for (const { lock, token, outcome, who: owner, mode, permits, spends } of history.of("acquire")) {
    const ended = spends && { endReason: "SPENT" };
    if (outcome === "granted") must(lock, token as string, { owner, mode, permits, ...ended });
  }
  for (const { taken, who: owner } of history.of("take"))
    for (const { task, token } of taken) must(task, token, { owner });
  for (const { lock, token, outcome } of history.of("release"))
    if (outcome === "released") must(lock, token, { endReason: "RELEASED" });
  for (const { task, token, outcome } of history.of("finish"))
    if (outcome === "released") must(task, token, { endReason: "RELEASED" });
  return breaches;
}

/** A lease of which its client was not told is that of a call with an unknown outcome: one call, one claim. */
function unasked(history: History, listed: ReadonlyMap<string, readonly Listed[]>): Breach[] {
  const breaches: Breach[] = [];
  const calls = Map.groupBy(
    history.of("acquire").filter(({ asksOnce }) => asksOnce),
    ({ lock, who }) => `${lock} of ${who}`,
  );
  for (const [whose, all] of calls) {
    const [{ lock, who } = { lock: "", who: "" }] = all;
    const told = new Set(all.map(({ token }) => token));
    const untold = (listed.get(lock) ?? []).filter(({ owner, token }) => owner === who && !told.has(token));
    const possible = all.filter(mayBeUntold).length;
    if (untold.length <= possible) continue;
    const tokens = untold.map(({ token }) => token).join(", ");
    const what = `${whose}: ${untold.length} leases (${tokens}) were told to nobody, by ${possible} calls at most`;
    breaches.push({ rule: "one call is one claim", what });
  }
  return breaches;
}

function mayBeUntold({ outcome, reason = "", isRepeated = false, startMs, endMs }: Acquired): boolean {
  if (outcome !== "refused") return isRepeated || outcome === "unknown";
  return isRepeated || AFTER_A_GRANT.includes(reason) || endMs - startMs > REPEATED_AFTER_MS;
}

/**
 * Leases that were ended by force: as many as operators were told, once in the claims and once in the changes. One for several
 * locks was ended at one of them, and counts once.
 */
function forced(history: History, listed: ReadonlyMap<string, readonly Listed[]>): Breach[] {
  const breaches: Breach[] = [];
  const connected = connectedWith(history);
  const forces = history.byLock("force");
  const forgetful = new Set(history.of("final").flatMap((final) => (final.isForgetful ? final.lock : [])));
  for (const lock of forces.keys()) {
    const locks = connected(lock);
    if (locks.some((each) => forgetful.has(each))) continue;
    const calls = locks.flatMap((each) => forces.get(each) ?? []);
    const told = calls.reduce((sum, { ended }) => sum + ended, 0);
    const isKnown = calls.every(({ outcome }) => outcome === "done");
    const ended = locks
      .flatMap((each) => listed.get(each) ?? [])
      .filter(({ endReason }) => endReason === "FORCE_RELEASED");
    const inClaims = new Set(ended.map(leaseOf)).size;
    const inChanges = history
      .of("note")
      .filter(({ kind, target }) => kind === "forced release" && locks.includes(target)).length;
    if (inClaims !== inChanges || inClaims < told || (isKnown && inClaims > told)) {
      const what = `${lock}: ${told} leases were ended by force${isKnown ? "" : " or more"}, ${inClaims} by the claims, ${inChanges} by the changes`;
      breaches.push({ rule: RULE, what });
    }
  }
  return breaches;
}

/** The same text at each of its locks. */
function leaseOf({ lock, token, also = [] }: Listed): string {
  return [{ lock, token }, ...also]
    .map((each) => `${each.lock} ${each.token}`)
    .sort()
    .join(", ");
}

/** Each acknowledged change of a limit or a counter is listed, and each change begins where another one ended. */
function changes(history: History): Breach[] {
  const breaches: Breach[] = [];
  const breach = (what: string) => breaches.push({ rule: RULE, what });
  const limits = Map.groupBy(history.of("limit"), ({ lock, pattern }) => pattern ?? lock);
  const rates = Map.groupBy(history.of("rate"), ({ target }) => target);
  const rules = history.byLock("rules");
  for (const target of new Set([...limits.keys(), ...rates.keys(), ...rules.keys()])) {
    const notes = history.of("note").filter(isOf("limit", target));
    for (const wrong of breaks(notes)) breach(`${target}: ${wrong}`);
    const calls = limits.get(target) ?? [];
    // A pattern has one entry for each lock.
    const ofOneLock = calls.filter(({ lock }) => lock === calls[0]?.lock);
    const settings = [...ofOneLock, ...(rates.get(target) ?? []), ...(rules.get(target) ?? [])];
    const done = settings.filter(({ outcome }) => outcome === "done").length;
    if (notes.length < done || notes.length > settings.length)
      breach(`${target}: ${notes.length} changes are listed of ${done} to ${settings.length}`);
  }
  for (const [target, settings] of Map.groupBy(history.of("pool"), (set) => set.target)) {
    const notes = history.of("note").filter(isOf("pool", target));
    for (const wrong of breaks(notes)) breach(`pool ${target}: ${wrong}`);
    const done = settings.filter(({ outcome }) => outcome === "done").length;
    if (notes.length < done || notes.length > settings.length)
      breach(`pool ${target}: ${notes.length} changes are listed of ${done} to ${settings.length}`);
  }
  for (const [lock, counts] of history.byLock("count")) {
    const notes = history.of("note").filter(isOf("record", lock));
    for (const wrong of breaks(notes)) breach(`${lock}: ${wrong}`);
    const states = new Set(notes.flatMap(({ after }) => (after === "" ? [] : [stateOf(after)])));
    for (const { outcome, to, version, who } of counts) {
      if (outcome !== "done" || version === "0" || states.has(`${to} ${version}`)) continue;
      breach(`${lock}: ${to} with the version ${version} of ${who} is not in the changes`);
    }
  }
  return breaches;
}

/**
 * Each change begins with what another one has left, except the first one. Not necessarily in the order in which they are
 * listed: servers know the database's clock within some milliseconds, and what they decide within these may change places.
 */
function breaks(notes: readonly Noted[]): string[] {
  const left = new Map<string, number>();
  for (const { after } of notes) left.set(after, (left.get(after) ?? 0) + 1);
  const unexplained = notes.filter(({ before }) => {
    const count = left.get(before) ?? 0;
    left.set(before, count - 1);
    return count <= 0;
  });
  if (unexplained.length <= 1) return [];
  return unexplained.map(
    ({ before, after }) => `a change from ${before} to ${after} follows none to ${before}`,
  );
}

function stateOf(record: string): string {
  const { status, version } = JSON.parse(record) as { status: string; version: string };
  return `${status} ${version}`;
}

const isOf = (kind: string, target: string) => (note: Noted) => note.kind === kind && note.target === target;

// Rates: in no span of time are more permits of a lock granted than its rate allows, and nobody is kept for longer than it
// keeps them. A spend that is repeated gets the answer that it had, and pays nothing.

import type { Acquired, History, RateSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { isUnder, poolSettings, poolsOf, wholeSpans } from "./pool-settings.ts";
import { backInMs, ratesOf, type Spell, sameRate, spellsOf } from "./rate-settings.ts";
import { common, type Span, totalMs, union } from "./spans.ts";

/** What a server may not know of the database's clock when it decides, and what clocks may drift apart meanwhile. */
const UNSURE_MS = 250;
/** A decision while something is wrong may get the time of a later one, which was decided meanwhile. */
const DELAYED_MS = 350;
/** A server that was frozen in a transaction decides by what it read before, and the time of its grant is the latest possible one. */
const FREEZES = /^a server is frozen/;
const DRIFT = 0.001;

export function rates(history: History): Breach[] {
  const breaches = [...again(history), ...keptRates(history), ...ofPools(history)];
  const faults = faultsOf(history);
  const locks = new Set([
    ...history.of("acquire").map(({ lock }) => lock),
    ...history.of("list").map(({ lock }) => lock),
  ]);
  for (const lock of locks) {
    const spells = spellsOf(history, ratesOf(history, lock));
    if (spells.length === 0) continue;
    const grants = grantsOf(history, lock);
    const refused = history
      .of("acquire")
      .filter((call) => call.lock === lock && isByRate(call) && call.pool === undefined);
    for (const spell of spells) {
      breaches.push(...tooFast(lock, grants, spell, faults));
      if (areAllListed(history, lock)) breaches.push(...tooSlow(lock, grants, spell, refused));
    }
  }
  return breaches;
}

interface Fault extends Span {
  readonly name: string;
}

function faultsOf(history: History): Fault[] {
  return history.of("fault").map(({ name, startMs: fromMs, endMs: untilMs }) => ({ name, fromMs, untilMs }));
}

/** The same of pools, whose rate all grants under them take. */
function ofPools(history: History): Breach[] {
  const faults = faultsOf(history);
  const breaches: Breach[] = [];
  for (const target of poolsOf(history)) {
    const settings = poolSettings(history, target);
    const spells = spellsOf(history, settings);
    if (spells.length === 0) continue;
    const named = [...history.of("acquire"), ...history.of("list")].map(({ lock }) => lock);
    const locks = [...new Set(named)].filter((lock) => isUnder(lock, target));
    const grants = locks.flatMap((lock) => grantsOf(history, lock));
    const refused = history.of("acquire").filter((call) => call.pool === target && isByRate(call));
    const areAllKnown = locks.every((lock) => areAllListed(history, lock));
    // Whoever is past a new pool before all holders are counted takes nothing of its rate.
    const whole = union(wholeSpans(history, settings, target));
    for (const spell of spells) {
      for (const span of common([spell], whole))
        breaches.push(...tooFastTogether(`pool ${target}`, grants, { ...spell, ...span }, faults));
      if (areAllKnown) breaches.push(...tooSlow(`pool ${target}`, grants, spell, refused));
    }
  }
  return breaches;
}

/** The rate of another one of several locks may be in the way, or that of a pool for all of them. */
function isByRate({ reason, set }: Acquired): boolean {
  return reason === "RATE" && set === undefined;
}

/** Whether also those grants are known that nobody was told of. */
function areAllListed(history: History, lock: string): boolean {
  if (history.of("list").length === 0) return false;
  return history.of("final").some((final) => final.lock === lock && !final.isForgetful);
}

function again(history: History): Breach[] {
  return history
    .of("again")
    .filter(({ outcome, first, token }) => outcome !== "unknown" && token !== first)
    .map(({ lock, requestId, first, token, reason }) => ({
      rule: "a spend is paid once",
      what: `${lock}: ${requestId} was told ${first} and then ${token ?? reason}`,
    }));
}

/** A grant was decided between the two; `grantedUs`: null: nobody said when by the database's clock. */
interface Grant {
  readonly token: bigint;
  readonly permits: number;
  readonly grantedUs: number | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** In the order of their tokens, which is that of the decisions. */
function grantsOf(history: History, lock: string): Grant[] {
  const known = new Map<bigint, Grant>();
  const listed = history.byLock("list").get(lock) ?? [];
  // The servers change the times of claims after the clock was set back.
  const lastStepMs = Math.max(...history.of("step").map(({ endMs }) => endMs));
  const listedUs = new Map(listed.map(({ token, grantedUs = null }) => [BigInt(token), grantedUs]));
  for (const { token, mode, permits, grantedUs = null, startMs } of listed)
    known.set(BigInt(token), {
      token: BigInt(token),
      permits: mode === "permit" ? permits : 1,
      grantedUs: lastStepMs === Number.NEGATIVE_INFINITY ? grantedUs : null,
      fromMs: Number.NEGATIVE_INFINITY,
      untilMs: startMs,
    });
  const told = [
    ...history.of("acquire").filter((call) => call.lock === lock && call.outcome === "granted"),
    ...history
      .of("take")
      .flatMap(({ taken, startMs, endMs }) =>
        taken
          .filter(({ task }) => task === lock)
          .map(({ token }) => ({ token, mode: "permit", permits: 1, startMs, endMs, grantedUs: undefined })),
      ),
  ];
  for (const { token: text, mode, permits, grantedUs, startMs, endMs } of told) {
    const token = BigInt(text as string);
    known.set(token, {
      token,
      permits: mode === "permit" ? permits : 1,
      grantedUs: grantedUs ?? (startMs > lastStepMs ? listedUs.get(token) : null) ?? null,
      fromMs: startMs,
      untilMs: endMs,
    });
  }
  return inTime([...known.values()].sort((a, b) => (a.token < b.token ? -1 : 1)));
}

/** No grant is before one with a lower token, and none after one with a higher token. */
function inTime(grants: readonly Grant[]): Grant[] {
  let fromMs = Number.NEGATIVE_INFINITY;
  const forth = grants.map((grant) => {
    fromMs = Math.max(fromMs, grant.fromMs);
    return { ...grant, fromMs };
  });
  let untilMs = Number.POSITIVE_INFINITY;
  return forth
    .toReversed()
    .map((grant) => {
      untilMs = Math.min(untilMs, grant.untilMs);
      return { ...grant, untilMs };
    })
    .toReversed();
}

/** The first span in which more was granted than a burst and what comes back meanwhile. */
function tooFast(
  lock: string,
  grants: readonly Grant[],
  { rate, ...spell }: Spell,
  faults: readonly Fault[],
): Breach[] {
  const within = grants.filter(({ fromMs, untilMs }) => fromMs >= spell.fromMs && untilMs <= spell.untilMs);
  for (const [index, first] of within.entries()) {
    let permits = 0;
    for (const last of within.slice(index)) {
      permits += last.permits;
      const spanMs = longestMs(first, last) + unsureMs(first, faults);
      const allowed = rate.burst + (rate.permits * spanMs) / rate.perMs;
      if (permits <= allowed) continue;
      const what = `${lock}: ${permits} permits, of tokens ${first.token} to ${last.token}, in ${spanMs.toFixed(0)} ms, which allow ${allowed.toFixed(2)}`;
      return [{ rule: "never granted faster than allowed", what }];
    }
  }
  return [];
}

/** The same for grants of several locks, of which nobody knows the order: in the worst one, and by the database's clock. */
function tooFastTogether(
  pool: string,
  grants: readonly Grant[],
  { rate, ...spell }: Spell,
  faults: readonly Fault[],
): Breach[] {
  const within = grants
    .filter(({ fromMs, untilMs }) => fromMs >= spell.fromMs && untilMs <= spell.untilMs)
    .map((grant) => ({ ...grant, unsureMs: unsureMs(grant, faults) }));
  const heard = within.map((grant) => ({ ...grant, untilMs: grant.untilMs * (1 + DRIFT) }));
  const dated = within.flatMap(({ grantedUs, ...grant }) =>
    grantedUs === null ? [] : { ...grant, fromMs: grantedUs / 1e3, untilMs: grantedUs / 1e3 },
  );
  for (const all of [heard, dated]) {
    const byEnd = all.toSorted((a, b) => a.untilMs - b.untilMs);
    for (const { fromMs, unsureMs } of all) {
      let permits = 0;
      for (const last of byEnd) {
        if (last.fromMs < fromMs) continue;
        permits += last.permits;
        const spanMs = last.untilMs - fromMs + unsureMs;
        const allowed = rate.burst + (rate.permits * spanMs) / rate.perMs;
        if (permits <= allowed) continue;
        const what = `${pool}: ${permits} permits in ${spanMs.toFixed(0)} ms, which allow ${allowed.toFixed(2)}`;
        return [{ rule: "never granted faster than allowed", what }];
      }
    }
  }
  return [];
}

/** How much earlier than it says the grant may have been. */
function unsureMs({ fromMs, untilMs }: Span, faults: readonly Fault[]): number {
  const meanwhile = faults.filter((fault) => fault.fromMs <= untilMs && fault.untilMs >= fromMs);
  if (meanwhile.length === 0) return UNSURE_MS;
  const frozenMs = totalMs(union(meanwhile.filter(({ name }) => FREEZES.test(name))));
  return UNSURE_MS + DELAYED_MS + frozenMs;
}

/** The time from one grant to the other, by the database's clock and by that of the history. */
function longestMs(first: Grant, last: Grant): number {
  const heardMs = (last.untilMs - first.fromMs) * (1 + DRIFT);
  if (first.grantedUs === null || last.grantedUs === null) return heardMs;
  return Math.min(heardMs, (last.grantedUs - first.grantedUs) / 1e3);
}

/** Tries that were refused for longer than what was granted before explains. */
function tooSlow(
  lock: string,
  grants: readonly Grant[],
  { rate, fullMs, fromMs, untilMs }: Spell,
  refused: readonly Acquired[],
): Breach[] {
  const burstMs = backInMs(rate, rate.burst);
  const breaches: Breach[] = [];
  const inOrder = grants.toSorted((a, b) => a.untilMs - b.untilMs);
  for (const { who, permits, startMs, endMs, retryAfterMs = 0 } of refused) {
    if (startMs < fromMs || endMs > untilMs) continue;
    let backMs = fullMs;
    for (const grant of inOrder)
      if (grant.untilMs >= fromMs && grant.fromMs <= endMs)
        backMs = Math.max(backMs, grant.untilMs) + backInMs(rate, grant.permits);
    const allowedMs = backMs + backInMs(rate, permits) - burstMs;
    const lateMs = startMs + retryAfterMs - allowedMs - UNSURE_MS;
    if (lateMs <= 0) continue;
    const what = `${lock}: ${who} was refused ${permits} permits, ${lateMs.toFixed(0)} ms after the rate allows them`;
    breaches.push({ rule: "nobody is kept from what the rate allows", what });
  }
  return breaches;
}

/** The rate at the end is one that may have been set last. */
function keptRates(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const { lock, rate } of history.of("final")) {
    const settings = ratesOf(history, lock);
    if (rate === undefined || settings.length === 0) continue;
    const possible = settings.filter((each) => mayBeLast(each, settings)).map((each) => each.rate);
    if (settings.every(({ outcome }) => outcome === "unknown")) possible.push(null);
    if (possible.some((each) => sameRate(each, rate))) continue;
    const what = `${lock}: the rate is ${JSON.stringify(rate)}, and only ${JSON.stringify(possible)} may be in force`;
    breaches.push({ rule: "an acknowledged rate stays", what });
  }
  return breaches;
}

function mayBeLast({ outcome, endMs }: RateSet, all: readonly RateSet[]): boolean {
  if (outcome === "unknown") return true;
  return !all.some((other) => other.outcome === "done" && other.startMs > endMs);
}

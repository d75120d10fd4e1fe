// When nothing is wrong, and when all faults are over: a waiter is told of its grant, a new request is granted soon,
// nobody waits for what is free, nobody holds what was given back, and watches tell the true state.

import type { FaultMade, History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { forcesOf } from "./set-locks.ts";

/** Beside the longest time to live: for lost places, polls, and a server that comes back after the last fault. */
export const SOON_MS = 5_000;
/** Faults that delay decisions and no messages: a lease begins with the decision, so none is old when it is told. */
const DELAYS_DECISIONS = /^a foreign transaction holds/;

export function quiet(history: History, ttlMs: number): Breach[] {
  const breaches = [...untold(history, ttlMs)];
  for (const { startMs, endMs, outcome } of history.of("heal")) {
    if (outcome === "granted" && endMs - startMs <= ttlMs + SOON_MS) continue;
    const what = `a new request was ${outcome} after ${((endMs - startMs) / 1e3).toFixed(1)} s`;
    breaches.push({ rule: "grants flow again soon", what });
  }
  for (const { who, command } of history.of("nothing"))
    breaches.push({ rule: "each call ends", what: `${who}: ${command}` });
  for (const { lock, holders, waiting } of history.of("final")) {
    if (holders > 0)
      breaches.push({ rule: "nothing is held for nobody", what: `${lock}: ${holders} holders` });
    if (waiting > 0)
      breaches.push({ rule: "nobody waits for what is free", what: `${lock}: ${waiting} wait` });
  }
  const finals = new Map(history.of("final").map((final) => [final.lock, final]));
  for (const { who, lock, lastToken, holders } of history.of("watch")) {
    const final = finals.get(lock);
    // A watch does not tell of a lock that nobody has used.
    const isTrue = final?.lastToken === (lastToken ?? "0") && final.holders === (holders ?? 0);
    if (!final || isTrue) continue;
    const what = `${lock}: ${who} was told token ${lastToken} and ${holders} holders, and it is ${final.lastToken} and ${final.holders}`;
    breaches.push({ rule: "watches end at the true state", what });
  }
  return breaches;
}

/** A grant lapses if nobody fetches it, which must not happen to a waiter that is there. */
function untold(history: History, ttlMs: number): Breach[] {
  const faults = history.of("fault");
  const forced = history.byLock("force");
  const isQuiet = (fromMs: number, toMs: number, settlingMs: (fault: FaultMade) => number) =>
    faults.every((fault) => fault.endMs + settlingMs(fault) < fromMs || fault.startMs > toMs);
  return history
    .of("acquire")
    .filter((call) => {
      const { reason, startMs, endMs, toldMs } = call;
      const isForced = forcesOf(call, forced).some((force) => force.endMs > startMs && force.startMs < endMs);
      if (toldMs !== undefined && !isForced)
        return isQuiet(toldMs, endMs, ({ name }) => (DELAYS_DECISIONS.test(name) ? 0 : ttlMs + SOON_MS));
      return reason === "LAPSED" && isQuiet(startMs, endMs, () => ttlMs + SOON_MS);
    })
    .map(({ lock, who }) => ({
      rule: "a waiter is told of its grant",
      what: `${lock}: ${who}'s lease lapsed`,
    }));
}

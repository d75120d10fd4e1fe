// A run with servers that break a rule: it must end with a broken promise that the planted fault explains, and the same run
// with right servers must not. The run ends as soon as such a promise is seen broken.

import type { Breach } from "./checker/breach.ts";
import { check } from "./checker/check.ts";
import { monotonicMs } from "./history/clock.ts";
import { History } from "./history/history.ts";
import { SMALL_CREW } from "./house/house.ts";
import { type Planted, plant } from "./planted.ts";
import type { Play, Played } from "./play.ts";
import { TTL_MS } from "./work/run.ts";

/** What ended later may overlap with what is still under way, and is not in the history yet. */
const SETTLED_MS = 3_000;

/** Plays a run, and checks its history. */
export type PlayAndCheck = (
  what: string,
  play: Pick<Play, "house" | "only" | "isEnough">,
  seconds: number | undefined,
) => Promise<Pick<Played, "enoughMs"> & { readonly breaches: readonly Breach[] }>;

/** Whether the checker sees what was planted. */
export async function mustBreak(planted: Planted, database: string, run: PlayAndCheck): Promise<boolean> {
  await using stops = new AsyncDisposableStack();
  const { fault, faults: only, databaseFlags, serverFlags, seconds } = planted;
  const program = await plant(planted, stops);
  const house = { database, program, databaseFlags, serverFlags, crew: SMALL_CREW };
  const isEnough = (history: History) => caughtBy(planted, brokenSoFar(history)).length > 0;
  const { breaches, enoughMs } = await run(`a server that ${fault}`, { house, only, isEnough }, seconds);
  const by = caughtBy(planted, breaches);
  const when = enoughMs === undefined ? "at the end" : `after ${(enoughMs / 1e3).toFixed(0)} s of load`;
  const verdict = by.length > 0 ? `caught ${when} by: ${by.join("; ")}` : "NOT CAUGHT";
  const others = [...rulesOf(breaches).keys()].filter((rule) => !by.includes(rule));
  const beside = others.length > 0 ? ` (broken as well: ${others.join("; ")})` : "";
  console.log(`a server that ${fault}: ${verdict}${beside}`);
  return by.length > 0;
}

/** Right servers in the runs of these planted ones, each kind of run once. Whether none of them looks like a planted one. */
export async function mustNotBreak(
  all: readonly Planted[],
  database: string,
  run: PlayAndCheck,
): Promise<boolean> {
  let isRight = true;
  const kinds = Map.groupBy(all, ({ faults, serverFlags = [] }) => [faults, ...serverFlags].join(" "));
  for (const [kind, alike] of kinds) {
    const [{ faults: only, serverFlags, seconds }] = alike as [Planted];
    const house = { database, serverFlags, crew: SMALL_CREW };
    const { breaches } = await run(`right servers, ${kind}`, { house, only }, seconds);
    const taken = alike.filter((planted) => caughtBy(planted, breaches).length > 0);
    for (const { fault } of taken) console.log(`right servers, ${kind}: TAKEN for a server that ${fault}`);
    const broken = [...rulesOf(breaches).keys()];
    console.log(
      `right servers, ${kind}: ${broken.length > 0 ? `broken: ${broken.join("; ")}` : "kept all promises"}`,
    );
    isRight &&= taken.length === 0;
  }
  return isRight;
}

/** The rules that show what was planted. */
function caughtBy({ caughtBy: rules, times = 1 }: Planted, breaches: readonly Breach[]): string[] {
  const broken = rulesOf(breaches);
  return rules.filter((rule) => (broken.get(rule)?.length ?? 0) >= times);
}

export function rulesOf(breaches: readonly Breach[]): ReadonlyMap<string, readonly Breach[]> {
  return Map.groupBy(breaches, ({ rule }) => rule);
}

function brokenSoFar({ entries }: History): Breach[] {
  const settledMs = monotonicMs() - SETTLED_MS;
  const settled = new History();
  for (const entry of entries) if (entry.endMs < settledMs) settled.add(entry);
  return check(settled, TTL_MS);
}

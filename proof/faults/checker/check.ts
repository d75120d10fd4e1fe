// All promises that a history must keep. Knows nothing of servers, databases or faults.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { exclusion } from "./exclusion.ts";
import { identity } from "./identity.ts";
import { kept } from "./kept.ts";
import { withLostTails } from "./lost-tail.ts";
import { order } from "./order.ts";
import { pools } from "./pools.ts";
import { progress } from "./progress.ts";
import { quiet } from "./quiet.ts";
import { rates } from "./rates.ts";
import { rests } from "./rests.ts";
import { sets } from "./sets.ts";
import { shares } from "./shares.ts";
import { tasks } from "./tasks.ts";
import { tokens } from "./tokens.ts";
import { toldHistory } from "./told-history.ts";
import { writes } from "./writes.ts";

/**
 * Of a history with lost tails, what was acknowledged within one need not be kept: see lost-tail.ts.
 * @param ttlMs the longest time to live of the run.
 */
export function check(history: History, ttlMs: number): Breach[] {
  const told = withLostTails(history);
  return [
    ...exclusion(told),
    ...tokens(history),
    ...order(history),
    ...kept(told),
    ...rates(told),
    ...pools(told),
    ...tasks(told),
    ...rests(told),
    ...sets(told),
    ...shares(told),
    ...writes(history),
    ...toldHistory(told),
    ...identity(history),
    ...progress(history, ttlMs),
    ...quiet(history, ttlMs),
  ];
}

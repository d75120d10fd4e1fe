// All promises that a history must keep. Knows nothing of servers, databases or faults.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { exclusion } from "./exclusion.ts";
import { kept } from "./kept.ts";
import { order } from "./order.ts";
import { quiet } from "./quiet.ts";
import { tasks } from "./tasks.ts";
import { tokens } from "./tokens.ts";
import { writes } from "./writes.ts";

/** @param ttlMs the longest time to live of the run. */
export function check(history: History, ttlMs: number): Breach[] {
  return [
    ...exclusion(history),
    ...tokens(history),
    ...order(history),
    ...kept(history),
    ...tasks(history),
    ...writes(history),
    ...quiet(history, ttlMs),
  ];
}

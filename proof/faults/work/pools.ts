// Pools: the clients hold locks under a wide pool and a narrow one within it. The wide one stays, so that it is in force through
// all faults; an operator changes the narrow one, removes it and makes it again.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Rate } from "../history/history.ts";
import { oneOf, type Run } from "./run.ts";

const WIDE = "pooled/*";
const WIDE_LIMIT = 4;
const NARROW = "pooled/acme/*";
export const POOLED = ["pooled/acme/0", "pooled/acme/1", "pooled/acme/2", "pooled/0", "pooled/1", "pooled/2"];

/** Over some of those that are taken together. As others are always full, it is a pool by itself. */
const SETS = "set/pooled/*";
const SETS_LIMIT = 2;
export const POOLED_SETS = ["set/pooled/0", "set/pooled/1", "set/pooled/2"];

interface Setting {
  readonly limit: number | null;
  readonly rate: Rate | null;
}
const USUAL: Setting = { limit: 2, rate: null };
const REMOVED: Setting = { limit: null, rate: null };
const SETTINGS: readonly Setting[] = [
  USUAL,
  USUAL,
  { limit: 1, rate: null },
  { limit: 0, rate: null },
  { limit: 2, rate: { permits: 4, perMs: 2_000, burst: 3 } },
  REMOVED,
];
/** A pause that lasts would leave too little to be seen. */
const PAUSE_MS_MAX = 1_500;
const SET_TRIES_MAX = 20;
const SET_AGAIN_MS = 500;
/** How long and how often somebody looks whether all holders are counted. */
const COUNTED_MS = 8_000;
const LOOK_MS = 300;
const WHOLE_MS_MAX = 40_000;

/** Before anybody holds. */
export async function setSteadyPool(run: Run): Promise<void> {
  await setSurely(run, WIDE, { limit: WIDE_LIMIT, rate: null });
  await setSurely(run, NARROW, USUAL);
  await setSurely(run, SETS, { limit: SETS_LIMIT, rate: null });
}

/** As an operator does it. */
export async function changePool(run: Run): Promise<void> {
  const setting = oneOf(SETTINGS, run.chance);
  await setPool(run, NARROW, setting);
  if (setting.limit !== 0) return;
  await sleep(run.chance() * PAUSE_MS_MAX);
  await setSurely(run, NARROW, USUAL);
}

async function setSurely(run: Run, target: string, setting: Setting): Promise<void> {
  for (let tries = 0; tries < SET_TRIES_MAX; tries++) {
    if (await setPool(run, target, setting)) return;
    await sleep(SET_AGAIN_MS);
  }
}

/** Whether it was surely set. Looks at a new pool in the background until all holders are counted. */
async function setPool(run: Run, target: string, { limit, rate }: Setting): Promise<boolean> {
  const { history } = run;
  const client = bareOne(run);
  const call = { did: "pool", who: client.name, target, limit, rate, startMs: monotonicMs() } as const;
  try {
    const { serversBehind, counting } = await client.ask({ do: "setPool", pool: target, limit, rate });
    const isWhole = counting !== true && (limit !== null || rate !== null);
    const isEverywhere = serversBehind === 0;
    history.add({ ...call, endMs: monotonicMs(), outcome: "done", isEverywhere, isWhole });
    if (counting === true) void untilWhole(run, target);
    return true;
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    history.add({ ...call, endMs: monotonicMs(), outcome: "unknown" });
    return false;
  }
}

async function untilWhole(run: Run, target: string): Promise<void> {
  for (const untilMs = monotonicMs() + COUNTED_MS; monotonicMs() < untilMs && !run.isOver(); ) {
    await sleep(LOOK_MS);
    const client = bareOne(run);
    const startMs = monotonicMs();
    const pools = await poolsOf(client);
    const pool = pools?.find((each) => each.target === target);
    if (pools && !pool) return;
    if (!pool?.isWhole) continue;
    run.history.add({ did: "whole", who: client.name, target, startMs, endMs: monotonicMs() });
    return;
  }
}

interface ShownPool extends Setting {
  readonly target: string;
  readonly permits: number;
  readonly waiting: number;
  readonly isWhole: boolean;
}

/** undefined: there was no answer. */
async function poolsOf(client: Client): Promise<readonly ShownPool[] | undefined> {
  try {
    const { pools } = await client.ask({ do: "listPools" });
    return pools as readonly ShownPool[];
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return undefined;
  }
}

/** Nobody waits at a pool that is paused, from now on. */
export async function resumePools(run: Run): Promise<void> {
  await setSurely(run, NARROW, USUAL);
}

/** Waits until all holders are counted, and writes down what is left of each pool, and how it was changed. */
export async function lookAtPools(run: Run): Promise<void> {
  const { history } = run;
  const client = bareOne(run);
  let pools = await poolsOf(client);
  for (const untilMs = monotonicMs() + WHOLE_MS_MAX; monotonicMs() < untilMs; pools = await poolsOf(client)) {
    if (pools?.every(({ isWhole }) => isWhole)) break;
    await sleep(LOOK_MS);
  }
  const call = { who: client.name, startMs: monotonicMs(), endMs: monotonicMs() } as const;
  for (const pool of pools ?? []) history.add({ did: "final pool", ...call, ...pool });
  const { changes } = (await client.ask({ do: "listPoolChanges" })) as { changes: readonly ShownChange[] };
  for (const change of changes.toReversed()) history.add({ did: "note", ...call, kind: "pool", ...change });
}

interface ShownChange {
  readonly target: string;
  readonly before: string;
  readonly after: string;
}

function bareOne({ clients, chance }: Run): Client {
  return oneOf(
    clients.filter(({ isBare }) => isBare),
    chance,
  );
}

// Plays one run: work and faults side by side, then a quiet time, then what is there at the end.

import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../support/faulty-store.ts";
import type { Fault } from "./faults/fault.ts";
import { faultsIn } from "./faults/table.ts";
import { monotonicMs } from "./history/clock.ts";
import type { History } from "./history/history.ts";
import { type House, type HouseOptions, openHouse } from "./house/house.ts";
import { COUNTERS, count } from "./work/counters.ts";
import { FencedStore } from "./work/fenced-store.ts";
import { finals } from "./work/finals.ts";
import { turnLimits } from "./work/limits.ts";
import { LOCKS, useLocks } from "./work/locks.ts";
import type { Run } from "./work/run.ts";
import { makeTasks, work } from "./work/tasks.ts";

const FAULT_EVERY_MS = 5_000;
const HANDS = 4;

export interface Play {
  readonly house: Omit<HouseOptions, "history">;
  readonly seed: number;
  readonly forMs: number;
  /** Only faults whose names contain this; `none`: no faults. */
  readonly only: string;
  readonly tell: (what: string) => void;
}

export interface Played {
  readonly label: string;
  readonly missing: readonly string[];
}

export async function play(
  { house: options, seed, forMs, only, tell }: Play,
  history: History,
): Promise<Played> {
  await using stops = new AsyncDisposableStack();
  const house = await openHouse({ ...options, history }, stops);
  const { clients } = house;
  const chance = chanceFrom(seed);
  const overMs = monotonicMs() + forMs;
  const run: Run = { history, clients, chance, isOver: () => monotonicMs() >= overMs };
  const store = new FencedStore();
  const all = clients.flatMap((client, index) => [
    ...Array.from({ length: HANDS }, () => useLocks(run, client, store)),
    count(run, client),
    work(run, client),
    ...(index % 3 === 0 ? [makeTasks(run, client)] : []),
  ]);
  const operator = turnLimits(run, clients[0] as (typeof clients)[number]);
  const faults = only === "none" ? [] : faultsIn(house).filter(({ name }) => name.includes(only));
  if (faults.length === 0 && only !== "none") throw new Error(`No fault has "${only}" in its name.`);
  await Promise.all([...all, operator, strikeAll(house, faults, run, tell)]);
  tell("quiet");
  await finals(run, [...LOCKS, ...COUNTERS]);
  return { label: house.database.label, missing: house.missing };
}

/** One fault after the other until the time is over, all of them before any comes again. */
async function strikeAll(
  house: House,
  faults: readonly Fault[],
  { history, chance, isOver }: Run,
  tell: (what: string) => void,
): Promise<void> {
  while (faults.length > 0) {
    for (const fault of [...faults].sort(() => chance() - 0.5)) {
      const startMs = monotonicMs();
      await sleep(FAULT_EVERY_MS / 2);
      if (isOver()) return;
      tell(fault.name);
      const struckMs = monotonicMs();
      await fault.strike(house, chance);
      history.add({ did: "fault", who: "", name: fault.name, startMs: struckMs, endMs: monotonicMs() });
      await sleep(Math.max(0, FAULT_EVERY_MS - (monotonicMs() - startMs)));
    }
  }
}

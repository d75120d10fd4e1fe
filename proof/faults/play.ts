// Plays one run: work and faults side by side, then a quiet time, then what is there at the end.

import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../../test/support/faulty-store.ts";
import type { Fault } from "./faults/fault.ts";
import { faultsIn } from "./faults/table.ts";
import { monotonicMs } from "./history/clock.ts";
import type { History } from "./history/history.ts";
import { type House, type HouseOptions, openHouse } from "./house/house.ts";
import { COUNTERS, count } from "./work/counters.ts";
import { FencedStore } from "./work/fenced-store.ts";
import { finals } from "./work/finals.ts";
import { LOCKS, useLocks, useSets } from "./work/locks.ts";
import { operate } from "./work/operate.ts";
import { setSteadyPool } from "./work/pools.ts";
import { setQueueRules } from "./work/queue-rules.ts";
import { setSteadyRate, spend } from "./work/rates.ts";
import type { Run } from "./work/run.ts";
import { makeTasks, work } from "./work/tasks.ts";

const FAULT_EVERY_MS = 5_000;
const LOOK_MS = 2_000;
const HANDS = 4;

export interface Play {
  readonly house: Omit<HouseOptions, "history">;
  readonly seed: number;
  readonly forMs: number;
  /** Only faults whose names contain this; `none`: no faults. */
  readonly only: string;
  readonly tell: (what: string) => void;
  /** Looks at the growing history every few seconds. Once it is true, the run ends at once, without its quiet end. */
  readonly isEnough?: ((history: History) => boolean) | undefined;
}

export interface Played {
  readonly label: string;
  readonly missing: readonly string[];
  /** For how long there was work and faults before it was enough; undefined: it never was. */
  readonly enoughMs: number | undefined;
}

export async function play(
  { house: options, seed, forMs, only, tell, isEnough }: Play,
  history: History,
): Promise<Played> {
  await using stops = new AsyncDisposableStack();
  const house = await openHouse({ ...options, history }, stops);
  const { clients } = house;
  const chance = chanceFrom(seed);
  const before = { history, clients, chance, isOver: () => false };
  await setSteadyRate(before);
  await setQueueRules(before);
  await setSteadyPool(before);
  const startMs = monotonicMs();
  let enoughMs: number | undefined;
  const isOver = () => enoughMs !== undefined || monotonicMs() - startMs >= forMs;
  const run: Run = { history, clients, chance, isOver };
  const look = async () => {
    while (isEnough && !isOver()) {
      await sleep(LOOK_MS);
      if (isEnough(history)) enoughMs ??= monotonicMs() - startMs;
    }
  };
  const store = new FencedStore();
  const all = clients.flatMap((client, index) => [
    ...Array.from({ length: HANDS }, () => useLocks(run, client, store)),
    count(run, client),
    work(run, client),
    ...(client.isBare ? [spend(run, client), spend(run, client), useSets(run, client, store)] : []),
    ...(index % 3 === 0 ? [makeTasks(run, client)] : []),
  ]);
  const faults = only === "none" ? [] : faultsIn(house, only);
  if (faults.length === 0 && only !== "none") throw new Error(`No fault has "${only}" in its name.`);
  await Promise.all([...all, operate(run), strikeAll(house, faults, run, tell), look()]);
  if (enoughMs === undefined) {
    tell("quiet");
    // Faults may have used more names.
    const used = history.of("acquire").map(({ lock }) => lock);
    await finals(run, [...new Set([...LOCKS, ...COUNTERS, ...used])]);
  }
  return { label: house.database.label, missing: house.missing, enoughMs };
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
      await fault.strike(house, chance, history);
      history.add({ did: "fault", who: "", name: fault.name, startMs: struckMs, endMs: monotonicMs() });
      await sleep(Math.max(0, FAULT_EVERY_MS - (monotonicMs() - startMs)));
    }
  }
}

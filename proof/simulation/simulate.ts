// One run: from a seed and its steps to the history, and to the promises that it shows broken.

import type { Breach } from "../faults/checker/breach.ts";
import { check } from "../faults/checker/check.ts";
import { History } from "../faults/history/history.ts";
import { type SimClient, sleep } from "./clients/client.ts";
import { STRIKES } from "./faults.ts";
import { FORGOTTEN, finals, heal, observer, watch } from "./finals.ts";
import { House } from "./house.ts";
import { CLOCK_SET, type ClientStep, type Fault, PROMOTED, type Step } from "./step.ts";
import { HANDS, isWatched, PATTERNED, stepsOf, TTL_MS } from "./steps.ts";
import type { Rows } from "./store/database.ts";
import type { Planted } from "./store/sim-store.ts";
import { World } from "./world/world.ts";

export interface Run {
  readonly seed: number;
  readonly history: History;
  readonly breaches: readonly Breach[];
  readonly events: number;
  /** Simulated. */
  readonly ms: number;
}

export interface Options {
  readonly planted?: Planted;
  readonly steps?: readonly Step[];
  /** Another number means other delays and chances with the same steps. */
  readonly luck?: number;
  /** Gets a line for each thing that happens inside. */
  readonly trace?: string[];
}

/** For all that clients have begun, from the last step on: longer than all their bounds together, one after the other. */
const ENDS_MS = 200_000;
/** What a database that loses commits cannot keep. */
const LOSABLE = [
  "an acknowledged limit stays",
  "an acknowledged rate stays",
  "a spend is paid once",
  "never granted faster than allowed",
  "nobody is kept from what the rate allows",
  "a compare-and-set is won once",
  "versions never repeat",
  "no replaced value comes back",
  "no acknowledged change is lost",
  "the history has each grant",
  "an acknowledged release stays",
  "never more attempts than allowed",
  "no task is lost",
  "no attempt is given to nobody",
  "one request id is one claim",
  "first come, first served",
  "a waiter is told of its grant",
  "watches end at the true state",
  "one call is one claim",
  "history tells what happened",
  "nothing is granted before its time",
  "an acknowledged status stays",
  "no used attempt comes back",
  "nobody waits for ever for what is free",
  "versions never fall",
  "versions rise",
];

export async function simulate(rows: Rows, seed: number, options: Options = {}): Promise<Run> {
  const { planted = {}, steps = stepsOf(seed), luck = 0, trace } = options;
  const world = new World(seed + luck * 2 ** 31, trace);
  const history = new History();
  const { house, findings } = await world.run(async () => {
    const house = new House(world, rows, history, planted);
    const watches = (isWatched(seed) ? [0, 1] : []).map((index) =>
      watch(house, observer(house, `watch${index}`, index)),
    );
    const looker = observer(house, "looker", 0);
    const asLooker = <Answer>(work: () => Promise<Answer>): Promise<Answer> =>
      new Promise((resolve, reject) => world.at(looker.process, 0, () => void work().then(resolve, reject)));
    await play(house, steps, () => asLooker(() => heal(house, looker)));
    const findings = await asLooker(() => finals(house, looker, watches)).catch((error: unknown) => {
      // A server that cannot tell what its rows say reports it as a bug.
      if (house.bugs.length === 0) throw error;
      return [];
    });
    return { house, findings };
  });
  const isLossy = steps.some((step) => step.do === "fault" && step.fault === PROMOTED);
  const limited = steps.flatMap((step) => (step.do === "limit" ? step.lock : []));
  const breaches = [
    ...check(history, TTL_MS),
    ...house.bugs.map((what) => ({ rule: "no server reports a bug", what })),
    ...house.database.misdated.map((what) => ({ rule: "no decision is older than its locks", what })),
    ...house.database.stuck.map((what) => ({ rule: "nobody waits for a narrow pool with a wide one", what })),
    ...house.database.torn.map((what) => ({ rule: "a set waits, holds and ends as one", what })),
    ...findings.map((what) => ({ rule: "the rows fit together", what })),
  ].filter((breach) => !(isLossy && isLosable(breach, limited)));
  return { seed, history, breaches, events: world.eventCount, ms: world.nowMs };
}

/** `limited`: locks whose limits were set. One that was lost lets in more than the one that clients know. */
function isLosable({ rule, what }: Breach, limited: readonly string[]): boolean {
  return (
    LOSABLE.includes(rule) ||
    what.startsWith("pool ") ||
    what.startsWith(FORGOTTEN) ||
    [PATTERNED, ...limited].some((lock) => what.startsWith(`${lock}: permit`))
  );
}

const hop = ({ world }: House, ms: number) => world.hop(world.director, ms);

/** Resolves when all clients have done their steps and all faults are mended. */
async function play(house: House, steps: readonly Step[], onHealed: () => Promise<void>): Promise<void> {
  const { world, history } = house;
  const faults = steps.filter((step): step is Fault => step.do === "fault");
  const mended = faults.map(async (fault) => {
    await hop(house, fault.atMs);
    const startMs = world.nowMs;
    const mend = STRIKES[fault.fault](house, fault);
    world.note(() => `${fault.fault} (${JSON.stringify(fault)})`);
    await hop(house, fault.forMs);
    mend?.();
    const call = { who: "", startMs, endMs: world.nowMs } as const;
    history.add({ did: "fault", name: fault.fault, ...call });
    if (fault.fault === CLOCK_SET) history.add({ did: "step", ...call });
  });
  const todo = house.clients.map((_, client) =>
    Array.from({ length: HANDS }, (_, index) =>
      steps.filter((step): step is ClientStep => step.do !== "fault" && step.hand === client * HANDS + index),
    ),
  );
  const underWay = new Set<object>();
  const done = Promise.withResolvers<void>();
  const begin = (index: number) => {
    const client = house.clients[index] as SimClient;
    for (const hand of todo[index] ?? []) {
      const own = { index };
      underWay.add(own);
      const over = () => {
        underWay.delete(own);
        if (underWay.size === 0) world.at(world.director, 0, done.resolve);
      };
      world.at(client.process, 0, () => void perform(house, client, hand).then(over));
    }
  };
  house.onReplaced = (index) => {
    // Those of the one that was killed never end.
    for (const own of [...underWay] as { index: number }[]) if (own.index === index) underWay.delete(own);
    begin(index);
  };
  for (const index of house.clients.keys()) begin(index);
  await Promise.all(mended);
  const healed = onHealed();
  const isDone = await Promise.race([done.promise.then(() => true), hop(house, ENDS_MS).then(() => false)]);
  await healed;
  if (isDone) return;
  const call = { did: "nothing", who: "", startMs: world.nowMs, endMs: world.nowMs } as const;
  history.add({ ...call, command: `${underWay.size} hands go on` });
}

async function perform({ world }: House, client: SimClient, steps: ClientStep[]): Promise<void> {
  for (let step = steps.shift(); step; step = steps.shift()) {
    if (step.atMs > world.nowMs) await sleep(step.atMs - world.nowMs);
    await client.perform(step);
  }
}

// Spending: bare clients take permits of rates, by a try or by waiting, and sometimes ask for the same once more. The rates of
// some names an operator changes now and then; that of a pattern stays, so that it is in force through all faults.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Rate } from "../history/history.ts";
import { oneOf, type Run } from "./run.ts";

const SPENT = ["spent/0", "spent/1"];
const STEADY = ["steady/0", "steady/1"];
const STEADY_PATTERN = "steady/*";
/** A permit takes longer to come back than what servers do not know of the clock. */
const USUAL: Rate = { permits: 2, perMs: 2_000, burst: 3 };
const RATES: readonly (Rate | null)[] = [
  USUAL,
  USUAL,
  USUAL,
  { permits: 1, perMs: 1_000, burst: 4 },
  { permits: 3, perMs: 3_000, burst: 2 },
  null,
];

const TRIES_SHARE = 0.5;
const WAIT_MS_MAX = 4_000;
const STREAMED_SHARE = 0.5;
const AGAIN_SHARE = 0.4;
const REST_MS_MAX = 300;
const SET_TRIES_MAX = 20;

export async function spend(run: Run, client: Client): Promise<void> {
  const { chance, isOver } = run;
  while (!isOver()) {
    const lock = oneOf([...SPENT, ...STEADY], chance);
    const permits = 1 + Math.floor(chance() * 2);
    const waitMs = chance() < TRIES_SHARE ? 0 : 100 + Math.floor(chance() * WAIT_MS_MAX);
    const again = await client.spend({ lock, permits, waitMs, isStreamed: chance() < STREAMED_SHARE });
    await sleep(chance() * REST_MS_MAX);
    if (again && chance() < AGAIN_SHARE) await again();
  }
}

/** Before anybody spends. */
export async function setSteadyRate(run: Run): Promise<void> {
  for (let tries = 0; tries < SET_TRIES_MAX; tries++)
    if ((await setRate(run, STEADY_PATTERN, USUAL)) === "done") return;
}

/** As an operator does it. */
export async function changeRate(run: Run): Promise<void> {
  await setRate(run, oneOf(SPENT, run.chance), oneOf(RATES, run.chance));
}

async function setRate(run: Run, target: string, rate: Rate | null): Promise<"done" | "unknown"> {
  const { history, chance, clients } = run;
  const client = oneOf(
    clients.filter(({ isBare }) => isBare),
    chance,
  );
  const named = target.endsWith("*") ? { pattern: target } : { name: target };
  const startMs = monotonicMs();
  const outcome = await client
    .ask(rate ? { do: "setRate", ...named, rate } : { do: "unsetRate", ...named })
    .then(
      ({ serversBehind }) => (serversBehind === 0 ? ("done" as const) : ("unknown" as const)),
      (error: unknown) => {
        if (!(error instanceof Failed)) throw error;
        return "unknown" as const;
      },
    );
  history.add({ did: "rate", who: client.name, target, rate, startMs, endMs: monotonicMs(), outcome });
  return outcome;
}

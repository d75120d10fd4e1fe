// Turning: an operator changes the limit of the semaphore while it is used.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, outcomeOf } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { SEMAPHORE } from "./locks.ts";
import type { Run } from "./run.ts";

const LIMIT_MAX = 4;
const REST_MS_MAX = 2_000;

export async function turnLimits({ history, chance, isOver }: Run, client: Client): Promise<void> {
  while (!isOver()) {
    const limit = 1 + Math.floor(chance() * LIMIT_MAX);
    const call = { did: "limit", who: client.name, lock: SEMAPHORE, limit, startMs: monotonicMs() } as const;
    const outcome = await outcomeOf(client.ask({ do: "setLimit", name: SEMAPHORE, limit }));
    history.add({ ...call, endMs: monotonicMs(), outcome });
    await sleep(chance() * REST_MS_MAX);
  }
}

// Turning: an operator changes the limit of the semaphore while it is used.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { SEMAPHORE } from "./locks.ts";
import type { Run } from "./run.ts";

const LIMIT_MAX = 4;
const REST_MS_MAX = 2_000;

export async function turnLimits({ history, chance, isOver }: Run, client: Client): Promise<void> {
  while (!isOver()) {
    const limit = 1 + Math.floor(chance() * LIMIT_MAX);
    const call = { did: "limit", who: client.name, lock: SEMAPHORE, limit, startMs: monotonicMs() } as const;
    const outcome = await client.ask({ do: "setLimit", name: SEMAPHORE, limit }).then(
      () => "done" as const,
      (error: unknown) => {
        if (!(error instanceof Failed)) throw error;
        return "unknown" as const;
      },
    );
    history.add({ ...call, endMs: monotonicMs(), outcome });
    await sleep(chance() * REST_MS_MAX);
  }
}

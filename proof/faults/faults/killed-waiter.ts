// A client that dies with many places in a queue: whoever comes later must not wait for each of them.

import { setTimeout as sleep } from "node:timers/promises";
import { SOON_MS } from "../checker/quiet.ts";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { TTL_MS } from "../work/run.ts";
import type { Fault } from "./fault.ts";

/** If each were granted a lease, they would keep the lock for longer than a new request may take. */
const PLACES = 12;
const WAIT_MS = 60_000;
const GATHERING_MS_MAX = 20_000;
const LOOK_MS = 200;
/** How long a client that got nothing asks again: within this, the next one must have been granted. */
const AGAIN_MS = TTL_MS + SOON_MS;
/** Until the places of a dead client are gone. */
const GONE_MS = 5_000;

export const killedWaiter: Fault = {
  name: "a client that waits for a held lock is killed",
  needs: "nothing",
  async strike({ clients }, chance, history) {
    const [holder, victim, other] = [...clients].sort(() => chance() - 0.5) as [Client, Client, Client];
    const lock = `queue-of-the-dead/${holder.id()}`;
    const wanted = { lock, mode: "permit", permits: 1, ttlMs: TTL_MS, waitMs: WAIT_MS } as const;
    const holding = await holder.acquire(wanted);
    if (!holding) return;
    const waits = Array.from({ length: PLACES }, () => victim.acquire(wanted));
    await gathered(other, lock);
    await victim.replace();
    await Promise.all(waits);
    await sleep(GONE_MS);
    await holder.release(holding);
    const startMs = monotonicMs();
    // Where an answer takes longer than its lease lasts, its client asks again.
    let next = await other.acquire(wanted);
    while (!next && monotonicMs() < startMs + AGAIN_MS) next = await other.acquire(wanted);
    const outcome = next ? "granted" : "unknown";
    history.add({ did: "heal", who: other.name, startMs, endMs: monotonicMs(), outcome });
    if (next) await other.release(next);
  },
};

/** Returns when all wait, or many do on a slow machine. */
async function gathered(client: Client, lock: string): Promise<void> {
  const untilMs = monotonicMs() + GATHERING_MS_MAX;
  for (let waiting = 0; waiting < PLACES && monotonicMs() < untilMs; await sleep(LOOK_MS)) {
    try {
      waiting = Number((await client.ask({ do: "getLock", name: lock })).waiting);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
    }
  }
}

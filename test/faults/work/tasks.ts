// Tasks: some clients make them, all take them by captures and finish them; one that is lost is new again.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed, outcomeOf } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { type Run, TTL_MS } from "./run.ts";

/** For bare clients, which tell of each lease that they were given, so that attempts can be counted. */
export const COUNTED = "task/counted/";
export const OTHERS = "task/other/";
const ATTEMPTS = 20;
const WAIT_MS = 1_000;
const WORK_MS_MAX = 100;
const REST_MS_MAX = 400;

export async function makeTasks({ history, chance, isOver }: Run, client: Client): Promise<void> {
  for (let made = 0; !isOver(); made++) {
    const isCounted = client.isBare;
    const task = `${isCounted ? COUNTED : OTHERS}${client.name}-${made}`;
    const call = {
      did: "make",
      who: client.name,
      task,
      attempts: ATTEMPTS,
      isCounted,
      startMs: monotonicMs(),
    } as const;
    const outcome = await outcomeOf(
      client.ask({ do: "updateLock", name: task, status: "new", attemptsLeft: ATTEMPTS, ifVersion: "0" }),
    );
    history.add({ ...call, endMs: monotonicMs(), outcome });
    await sleep(chance() * REST_MS_MAX);
  }
}

interface Captured {
  readonly lock: string;
  readonly name: string;
  readonly token: string;
  readonly isLost?: boolean;
}

export async function work({ history, chance, isOver }: Run, client: Client): Promise<void> {
  const who = client.name;
  const prefix = client.isBare ? COUNTED : OTHERS;
  while (!isOver()) {
    const handle = client.id();
    const call = { did: "take", who, startMs: monotonicMs() } as const;
    const asked = {
      do: "capture",
      lock: handle,
      prefix,
      count: 1,
      requestId: handle,
      ttlMs: TTL_MS,
      waitMs: WAIT_MS,
    };
    let captured: readonly Captured[];
    let isRepeated = false;
    try {
      const terms = { statusIfLost: "new", ifStatus: ["new"] };
      const answer = await client.ask({ ...asked, ...terms });
      captured = answer.captured as readonly Captured[];
      isRepeated = answer.isRepeated === true;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      history.add({ ...call, endMs: monotonicMs(), taken: [], outcome: "unknown" });
      await sleep(chance() * REST_MS_MAX);
      continue;
    }
    const taken = captured.map(({ name, token }) => ({ task: name, token }));
    history.add({ ...call, endMs: monotonicMs(), taken, outcome: isRepeated ? "unknown" : "taken" });
    for (const { lock, name, token, isLost } of captured) {
      if (isLost) continue;
      const belief = { did: "hold", who, lock: name, mode: "permit", permits: 1, token } as const;
      const holding = client.hold({ ...belief, askedMs: call.startMs }, lock, TTL_MS);
      await sleep(chance() * WORK_MS_MAX);
      const startMs = monotonicMs();
      const outcome = await client.release(holding, { status: "done" });
      history.add({ did: "finish", who, task: name, token, startMs, endMs: monotonicMs(), outcome });
    }
  }
}

// Tasks: some clients make them, all take them by captures and finish them. Some are put off, at first or by whoever has
// taken them, and must rest for a while; one that is lost is new again.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed, outcomeOf } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { NO_RECORD } from "./counters.ts";
import { type Run, TTL_MS } from "./run.ts";

export const TASKS = "task/";
/** For bare clients, which tell of each lease that they were given, so that attempts can be counted. */
const COUNTED = `${TASKS}counted/`;
const OTHERS = `${TASKS}other/`;
const ATTEMPTS = 20;
const WAIT_MS = 1_000;
const WORK_MS_MAX = 100;
const REST_MS_MAX = 400;
/** How many are put off at a time, and for how long. */
const PUT_OFF_SHARE = 0.25;
const PUT_OFF_MS_MAX = 1_500;

export async function makeTasks({ history, chance, isOver }: Run, client: Client): Promise<void> {
  for (let made = 0; !isOver(); made++) {
    const isCounted = client.isBare;
    const task = `${isCounted ? COUNTED : OTHERS}${client.name}-${made}`;
    const restMs = putOffMs(chance);
    const call = {
      did: "make",
      who: client.name,
      task,
      attempts: ATTEMPTS,
      restMs,
      isCounted,
      startMs: monotonicMs(),
    } as const;
    const record = { status: "new", attemptsLeft: ATTEMPTS, ...(restMs > 0 && { notBeforeInMs: restMs }) };
    const outcome = await outcomeOf(
      client.ask({ do: "updateRecord", name: task, ...record, ifVersion: NO_RECORD }),
    );
    history.add({ ...call, endMs: monotonicMs(), outcome });
    await sleep(chance() * REST_MS_MAX);
  }
}

function putOffMs(chance: () => number): number {
  return chance() < PUT_OFF_SHARE ? 100 + Math.floor(chance() * PUT_OFF_MS_MAX) : 0;
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
      const terms = { statusIfLost: "new", ifStatus: ["new", "again"] };
      const answer = await client.ask({ ...asked, ...terms });
      captured = answer.captured as readonly Captured[];
      isRepeated = answer.isRepeated === true;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      history.add({ ...call, endMs: monotonicMs(), taken: [], outcome: "unknown" });
      await sleep(chance() * REST_MS_MAX);
      continue;
    }
    const taken = captured.map(({ name, token, isLost = false }) => ({ task: name, token, isLost }));
    history.add({ ...call, endMs: monotonicMs(), taken, outcome: isRepeated ? "unknown" : "taken" });
    for (const { lock, name, token, isLost } of captured) {
      if (isLost) continue;
      const belief = { did: "hold", who, lock: name, mode: "permit", permits: 1, token } as const;
      const holding = client.hold([{ ...belief, askedMs: call.startMs }], lock, TTL_MS);
      await sleep(chance() * WORK_MS_MAX);
      const startMs = monotonicMs();
      const restMs = putOffMs(chance);
      const status = restMs > 0 ? "again" : "done";
      const outcome = await client.release(holding, { status, ...(restMs > 0 && { coolDownMs: restMs }) });
      const release = { who, task: name, token, startMs, endMs: monotonicMs() };
      history.add({ did: "finish", ...release, status, restMs, outcome });
    }
  }
}

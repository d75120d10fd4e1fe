// Many clients compete for few locks with short leases while operators change limits. Each step compares what clients
// believe with what Rowlock promises; see beliefs.ts.

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Terms } from "../../../server/core/claim.ts";
import { Fault } from "../../../server/engine/faults.ts";
import * as asks from "../../support/asks.ts";
import { chanceFrom } from "../../support/faulty-store.ts";
import type { Replica } from "../../support/replicas.ts";
import { Beliefs } from "./beliefs.ts";
import { TASKS_PREFIX, Tasks, TaskWorker } from "./task-worker.ts";
import { type Target, UnluckyClient } from "./unlucky-client.ts";

export const CLIENTS = 24;
const WORKERS = 4;
/** Longer than clients hold the lock, so that somebody always waits for this time to pass. */
const SPACED: Terms = { minIntervalUs: 25_000, lockDelayUs: 100_000, statusIfLost: "lost", ifStatus: [] };
/** The grace period of the replicas in a contention: short, because each dead waiter delays everybody by as much. */
export const GRACE_US = 1_200_000;
/** A forgotten lease, then a dead waiter's grace period, then a sweep; many times that, for a busy machine. */
const QUIET_MS_MAX = 40_000;

export interface Contention {
  readonly replicas: readonly Replica[];
  readonly seed: number;
  readonly runMs: number;
  /** Called when the locks exist: faults may begin. */
  readonly onStart?: () => void;
  /** Called when the time is over: faults must stop. */
  readonly onOver?: () => void;
}

/** Runs to the end and checks all promises. Returns how many leases clients were given. */
export async function contend({ replicas, seed, runMs, onStart, onOver }: Contention): Promise<number> {
  const beliefs = new Beliefs();
  const chance = chanceFrom(seed);
  const untilMs = performance.now() + runMs;
  const names = ["mutex", "named", "under/pattern", "modes", "spaced"].map((name) => `contended/${name}`);
  const ids = await (replicas[0] as Replica).store.resolve(names);
  onStart?.();
  const targets = names.map((name): Target => {
    const modes = name.endsWith("modes") ? (["shared", "exclusive", "permit"] as const) : ["permit" as const];
    const permitsMax = name.endsWith("named") || name.endsWith("pattern") ? 3 : 1;
    const spaced = name.endsWith("spaced") && { terms: SPACED, deaths: 0.05 };
    return { name, id: ids.get(name) as bigint, modes, permitsMax, deaths: 0.005, ...spaced };
  });
  const [, named, underPattern] = targets as [Target, Target, Target];
  for (const { id } of [named, underPattern]) beliefs.limiting(id, 1);

  // A slow machine takes longer until every client has had its turn.
  const isOver = () => performance.now() >= untilMs && beliefs.grants > CLIENTS;
  const calling = (index: number) => ({
    replicas,
    beliefs,
    chance: chanceFrom(seed + index),
    untilMs,
    isOver,
  });
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    new UnluckyClient({ name: `client ${index}`, targets, ...calling(index) }).run(),
  );
  const tasks = new Tasks(beliefs.breaches);
  const workers = Array.from(
    { length: WORKERS },
    (_, index) => new TaskWorker(`worker ${index}`, tasks, calling(CLIENTS + index)),
  );

  /** Changes the limit of a lock, by its name or by a pattern, until the time is over. */
  async function operate(target: Target, prefix: string | null): Promise<void> {
    for (let limit = 1; ; limit = 1 + Math.floor(chance() * 3)) {
      const last = isOver();
      if (last) limit = 2;
      const inForce = beliefs.limiting(target.id, limit);
      const { engine } = replicas[Math.floor(chance() * replicas.length)] as Replica;
      const set =
        prefix === null
          ? engine.ask(asks.setLimit(target.name, limit, undefined, ""))
          : engine.setLimitRule(prefix, { limit: limit }, undefined, "");
      const known = await set.then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Fault)) throw error;
          return false;
        },
      );
      if (known) inForce();
      if (last && known) return;
      await sleep(chance() * 150);
    }
  }

  // Each client finishes its last round, which it can only do if no waiter was lost.
  await Promise.all([
    ...clients,
    ...workers.map((worker) => worker.run()),
    operate(named, null),
    operate(underPattern, "contended/under/"),
    sleep(runMs).then(onOver),
  ]);
  expect(beliefs.breaches).toEqual([]);

  const { engine, store } = replicas[0] as Replica;
  const quietByMs = performance.now() + QUIET_MS_MAX;
  // Tasks whose worker died become new again, and no task is lost.
  await (workers[0] as TaskWorker).finish(quietByMs);
  expect(tasks.made).toBeGreaterThan(WORKERS);
  for (let task = 1; task <= tasks.made; task++) {
    const { lock } = await engine.view(`${TASKS_PREFIX}${task}`);
    expect(lock).toMatchObject({ holders: 0, record: { status: "done" } });
  }
  expect(beliefs.breaches).toEqual([]);
  for (const { name } of targets) {
    for (;;) {
      const lock = (await engine.view(name))?.lock;
      if (lock?.holders === 0 && lock.waiting === 0) break;
      if (performance.now() > quietByMs) expect(lock).toMatchObject({ holders: 0, waiting: 0 });
      await sleep(20);
    }
  }
  expect(await store.checkInvariants(10)).toEqual([]);
  return beliefs.grants;
}

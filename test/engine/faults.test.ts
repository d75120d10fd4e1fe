// Promises under faults: several replicas over a database whose transactions fail before, during and after the commit,
// many clients that fight for few locks with short leases, operators that turn limits meanwhile. What clients believe is
// held against what is promised, at every step; see beliefs.ts.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../server/engine/faults.ts";
import { testDatabases } from "../database.ts";
import { seed } from "../seed.ts";
import { Beliefs } from "./beliefs.ts";
import { chanceFrom, type Faults, faultyStore } from "./faulty-store.ts";
import { type Replica, type Replicas, startReplicas } from "./replicas.ts";
import { type Target, UnluckyClient } from "./unlucky-client.ts";

const REPLICAS = 3;
const CLIENTS = 24;
const RUN_MS = Number(process.env.ROWLOCK_TEST_FAULTS_MS ?? 2_500);
const GRACE_US = 600_000;
/** A lease that was forgotten, the grace period of a dead waiter behind it, and a sweep. */
const QUIET_MS_MAX = 10_000;

describe.each(testDatabases())("under faults on $label", (database) => {
  const faults: Faults = { on: false, made: new Map() };
  const chance = chanceFrom(seed);
  const beliefs = new Beliefs();
  let replicas: Replicas;

  beforeAll(async () => {
    const rules = { graceUs: GRACE_US, attachedForUs: 1.25 * GRACE_US };
    replicas = await startReplicas(database, REPLICAS, rules, (store) => faultyStore(store, chance, faults));
  });
  afterAll(() => replicas?.stop());

  const someReplica = () => replicas.all[Math.floor(chance() * REPLICAS)] as Replica;

  /** Turns the limit of a lock, by its name or by a pattern, until the time is over. */
  async function operate(target: Target, prefix: string | null, untilMs: number): Promise<void> {
    for (let limit = 1; ; limit = 1 + Math.floor(chance() * 3)) {
      const last = performance.now() >= untilMs;
      if (last) limit = 2;
      const inForce = beliefs.limiting(target.id, limit);
      const { engine } = someReplica();
      const set =
        prefix === null
          ? engine.setLimit(target.name, limit, undefined, "")
          : engine.setLimitRule(prefix, limit, undefined, "");
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

  test(`${CLIENTS} clients of ${REPLICAS} replicas are never promised more than there is`, async () => {
    const names = ["faults/mutex", "faults/named", "faults/under/pattern", "faults/modes"];
    const ids = await (replicas.all[0] as Replica).store.resolve(names);
    const targets = names.map((name): Target => {
      const modes = name.endsWith("modes")
        ? (["shared", "exclusive", "permit"] as const)
        : ["permit" as const];
      const permitsMax = name.endsWith("named") || name.endsWith("pattern") ? 3 : 1;
      return { name, id: ids.get(name) as bigint, modes, permitsMax };
    });
    const [, named, underPattern] = targets as [Target, Target, Target];
    for (const { id } of [named, underPattern]) beliefs.limiting(id, 1);

    faults.on = true;
    const untilMs = performance.now() + RUN_MS;
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      new UnluckyClient({
        name: `client ${index}`,
        replicas: replicas.all,
        targets,
        beliefs,
        chance: chanceFrom(seed + index),
        untilMs,
      }).run(),
    );
    const operators = [operate(named, null, untilMs), operate(underPattern, "faults/under/", untilMs)];
    const faultsEnd = sleep(RUN_MS).then(() => {
      faults.on = false;
    });
    // Each client ends its last round, which it can only if no waiter was lost.
    await Promise.all([...clients, ...operators, faultsEnd]);
    console.error(`${database.label}: ${beliefs.grants} grants, faults: ${[...faults.made].join("; ")}`);
    expect(beliefs.breaches).toEqual([]);
    expect(beliefs.grants).toBeGreaterThan(CLIENTS);

    const { engine, store } = replicas.all[0] as Replica;
    const quietByMs = performance.now() + QUIET_MS_MAX;
    for (const { name } of targets) {
      for (;;) {
        const lock = (await engine.show(name))?.lock;
        if (lock?.holders === 0 && lock.waiting === 0) break;
        if (performance.now() > quietByMs) expect(lock).toMatchObject({ holders: 0, waiting: 0 });
        await sleep(20);
      }
    }
    expect(await store.checkInvariants(10)).toEqual([]);
  });
});

// Many callers capture at two replicas, over a database with injected faults and beside locks that others hold: no
// two callers get the same lock, no lock is left out, and no capture waits for one lock when it may take another.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { Captured, CaptureInput } from "../../server/engine/answers.ts";
import type { Engine } from "../../server/engine/engine.ts";
import { Fault } from "../../server/engine/faults.ts";
import type { Store } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { type TestDatabase, testDatabases } from "../support/database.ts";
import { chanceFrom, type Faults, faultyStore } from "../support/faulty-store.ts";
import { openPlainConnection } from "../support/mysql-stage.ts";
import { type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { seed } from "../support/seed.ts";
import { until } from "../support/until.ts";
import { wrapped } from "../support/wrapped-store.ts";

const WORKERS = 12;
/** Tasks in the test of short waits; 2,000 take a minute. */
const SHORT_WAITS = Number(process.env.ROWLOCK_TEST_SHORT_WAITS ?? 60);

function wanting(prefix: string, overrides: Partial<CaptureInput> = {}): CaptureInput {
  return {
    target: { kind: "prefix", prefix },
    max: 3,
    ttlUs: 60_000_000,
    owner: "",
    labels: {},
    requestId: "",
    terms: null,
    ...overrides,
  };
}

const namesOf = ({ leases }: Captured) => leases.map(({ lockName }) => lockName);

describe.each(testDatabases())("captures on $label", (database: TestDatabase) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;
  const faults: Faults = { on: false, made: new Map() };
  /** Replacements for the next transactions of `here`, one each. */
  const script: ((transact: Store["transact"]) => Store["transact"])[] = [];
  /** Locks whose rows a transaction of `here` would have waited for. */
  const waitedFor = new Set<bigint>();

  beforeAll(async () => {
    const chance = chanceFrom(seed);
    let stores = 0;
    replicas = await startReplicas(database, 2, {}, (store) => {
      const unlucky = faultyStore(store, chance, faults);
      return ++stores === 1 ? scripted(unlucky) : unlucky;
    });
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    expect((await here.store.checkInvariants(10)).filter(({ severity }) => severity === "error")).toEqual([]);
    await replicas?.stop();
  });

  function scripted(store: Store): Store {
    return wrapped(store, {
      transact(plan, decide) {
        const run: Store["transact"] = store.transact.bind(store);
        if (!plan.impatient) for (const { id } of plan.locks) waitedFor.add(id);
        return (script.shift()?.(run) ?? run)(plan, decide);
      },
    });
  }

  async function put(engine: Engine, ...names: string[]): Promise<void> {
    await Promise.all(names.map((name) => putWith(undefined, engine, name)));
  }

  async function putWith(attemptsLeft: number | undefined, engine: Engine, name: string): Promise<void> {
    await engine.ask(asks.updateRecord({ name, attemptsLeft, status: "new" }));
  }

  async function holders(prefix: string): Promise<Claim[]> {
    const found: Claim[] = [];
    const query = { prefix, afterName: null, max: 1_000, busyOnly: true, order: "name" as const };
    for await (const view of there.engine.views(query)) found.push(...view.holders);
    return found;
  }

  test(`that are repeated over an unreliable database take what one of them would (seed ${seed})`, async () => {
    const all = Array.from({ length: 60 }, (_, index) => `unlucky/${1_000 + index}`);
    await put(there.engine, ...all);
    const taken = new Map<string, string>();
    faults.on = true;
    const work = async (worker: number) => {
      for (let empty = 0; empty < 3; ) {
        const requestId = randomUUID();
        const input = wanting("unlucky/", { requestId, owner: requestId });
        const captured = await untilAnswered((attempt) =>
          ((worker + attempt) % 2 ? here : there).engine.capture(input),
        );
        empty = captured.leases.length === 0 ? empty + 1 : 0;
        for (const { lockName, claim } of captured.leases) {
          expect(taken.get(lockName) ?? claim.owner).toBe(claim.owner);
          taken.set(lockName, claim.owner);
        }
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
    faults.on = false;
    // Every lock is held by a caller that was told so, or by nobody.
    for (const { owner, lockId } of await holders("unlucky/")) {
      const name = [...taken].find(([, worker]) => worker === owner)?.[0];
      expect(name, `lock ${lockId}`).toBeDefined();
    }
    expect([...taken.keys()].toSorted()).toEqual(all);
  });

  test("with an unknown outcome leave nothing behind, or can be repeated", async () => {
    await put(there.engine, "unknown/1", "unknown/2");
    const commitsThenFails: (typeof script)[number] = (transact) => async (plan, decide) => {
      await transact(plan, decide);
      throw new StoreError("unknown_outcome", "injected", "A fault made by a test.");
    };
    const isAway: (typeof script)[number] = () => async () => {
      throw new StoreError("unavailable", "injected", "A fault made by a test.");
    };
    script.push(commitsThenFails, isAway);
    await expect(here.engine.capture(wanting("unknown/"))).rejects.toMatchObject({ outcomeUnknown: true });
    await until(async () => (await holders("unknown/")).length === 0);

    const input = wanting("unknown/", { requestId: "unknown" });
    script.push(commitsThenFails, isAway);
    await expect(here.engine.capture(input)).rejects.toMatchObject({ outcomeUnknown: true });
    expect(namesOf(await there.engine.capture(input))).toEqual(["unknown/1", "unknown/2"]);
  });

  test("that wait get what another replica creates, releases, or loses", async () => {
    const waitFor = (max: number) =>
      here.engine.captureWhenFree(wanting("wait/", { max }), new AbortController().signal);
    const first = waitFor(1);
    await until(() => here.engine.waitingCaptures === 1);
    await put(there.engine, "wait/1");
    const [lease] = (await first).leases;
    expect(lease).toMatchObject({ lockName: "wait/1", claim: { provisional: true } });
    const second = waitFor(1);
    await until(() => here.engine.waitingCaptures === 1);
    await there.engine.ask(asks.release(lease?.claim as Claim));
    expect(namesOf(await second)).toEqual(["wait/1"]);
    const lost = waitFor(1);
    await until(() => here.engine.waitingCaptures === 1);
    await there.engine.ask(asks.forceRelease("wait/1", null, "it hangs"));
    expect(namesOf(await lost)).toEqual(["wait/1"]);
  });

  test("that end during an attempt return what it takes", async () => {
    const gone = new AbortController();
    const waiting = here.engine.captureWhenFree(wanting("end/", { requestId: "end" }), gone.signal);
    await until(() => here.engine.waitingCaptures === 1);
    script.push((transact) => async (plan, decide) => {
      gone.abort(new Error("its time is over"));
      await transact(plan, decide);
    });
    await putWith(1, there.engine, "end/1");
    expect(namesOf(await waiting)).toEqual(["end/1"]);
  });

  test(`with short waits lose no task: each attempt reaches a caller (seed ${seed})`, async () => {
    const all = Array.from({ length: SHORT_WAITS }, (_, index) => `short/${1_000 + index}`);
    const chance = chanceFrom(seed);
    const told: string[] = [];
    let isOver = false;
    const work = async (engine: Engine) => {
      while (!isOver) {
        const signal = AbortSignal.timeout(1 + Math.floor(chance() * 12));
        const input = wanting("short/", { max: 1, requestId: chance() < 0.5 ? randomUUID() : "" });
        const captured = await engine.captureWhenFree(input, signal).catch((error: unknown) => {
          if (error !== signal.reason) throw error;
          return { leases: [], retryAfterUs: null };
        });
        told.push(...namesOf(captured));
      }
    };
    const workers = Array.from({ length: WORKERS }, (_, index) =>
      work(index % 2 ? here.engine : there.engine),
    );
    for (const name of all) await putWith(1, there.engine, name);
    await until(() => told.length >= SHORT_WAITS);
    isOver = true;
    await Promise.all(workers);
    expect(told.toSorted()).toEqual(all);
  });

  test("that are repeated after their leases have ended are answered at once, and delay no others", async () => {
    await put(there.engine, "late/0");
    const late = wanting("late/", { requestId: "late" });
    const [lease] = (await here.engine.capture(late)).leases;
    await here.engine.ask(asks.release(lease?.claim as Claim, { coolDownUs: 3_600_000_000 }));
    const never = new AbortController().signal;
    const ask = () => here.engine.captureWhenFree(late, never);
    expect(await ask()).toMatchObject({ leases: [], isRepeated: true });
    const waits = Array.from({ length: 10 }, () =>
      here.engine.captureWhenFree(wanting("late/", { max: 1 }), never),
    );
    const repeated = Array.from({ length: 5 }, ask);
    const all = Array.from({ length: 10 }, (_, index) => `late/${1 + index}`);
    await put(there.engine, ...all);
    expect((await Promise.all(waits)).flatMap(namesOf).toSorted()).toEqual(all.toSorted());
    expect((await Promise.all(repeated)).flatMap(namesOf)).toEqual([]);
  });

  test.runIf(database.server)("skip locks that another transaction holds, and take others", async () => {
    await put(there.engine, "held/1", "held/2", "held/3", "held/4");
    const ids = await here.store.find(["held/1", "held/3"]);
    const connection = await openPlainConnection(replicas.url);
    await connection.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    await connection.run("START TRANSACTION");
    for (const id of ids.values())
      await connection.run("SELECT 1 FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE", [id]);
    expect(namesOf(await here.engine.capture(wanting("held/")))).toEqual(["held/2", "held/4"]);
    expect(namesOf(await here.engine.capture(wanting("held/")))).toEqual([]);
    expect([...ids.values()].filter((id) => waitedFor.has(id))).toEqual([]);
    await connection.run("COMMIT");
    connection.close();
    await until(async () => namesOf(await here.engine.capture(wanting("held/"))).includes("held/3"));
  });
});

/** Repeats the call until it is answered, as a client does. */
async function untilAnswered(ask: (attempt: number) => Promise<Captured>): Promise<Captured> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask(attempt);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // An engine that has stopped refuses at once, and the test must be able to end.
      await sleep(1);
    }
  }
}

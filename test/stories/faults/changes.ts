// Operators and schedulers change the same limits and records through several servers while transactions have unknown
// outcomes. Afterwards: counters count each acknowledged increment once, each version is told to one caller and
// versions never fall, and no change is written twice or comes back.

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { CapturedLease, CaptureInput } from "../../../server/engine/answers.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { StoreError } from "../../../server/storage/store.ts";
import * as asks from "../../support/asks.ts";
import { type Chance, chanceFrom } from "../../support/faulty-store.ts";
import { ask, type Replica } from "../../support/replicas.ts";
import type { WrittenChanges } from "./written-changes.ts";

const WORKERS_EACH = 3;

export interface ChangesRun {
  readonly replicas: readonly Replica[];
  readonly written: WrittenChanges;
  /** The same array that `written` fills. */
  readonly breaches: string[];
  readonly seed: number;
  readonly runMs: number;
}

/** A counter that is set by compare-and-set. */
interface Counter {
  readonly what: string;
  readonly read: (replica: Replica) => Promise<{ readonly value: number; readonly version: bigint }>;
  /** Returns the new version, or null if the expected version did not match. */
  readonly set: (
    replica: Replica,
    value: number,
    expected: bigint | undefined,
    name: string,
  ) => Promise<bigint | null>;
}

const RECORD: Counter = {
  what: "record",
  read: async ({ engine }) => {
    const { record } = (await engine.view("counted/record")).lock;
    return { value: record?.attemptsLeft ?? 0, version: record?.version ?? 0n };
  },
  set: async ({ engine }, value, expectedVersion, status) => {
    const set = { name: "counted/record", attemptsLeft: value, status, expectedVersion };
    const { outcome } = await engine.ask(asks.updateRecord(set));
    return outcome.kind === "record" ? outcome.setVersion : null;
  },
};
const LIMIT: Counter = {
  what: "limit",
  read: async ({ engine }) => {
    const { limit, limitVersion } = (await engine.view("counted/limit")).lock;
    return { value: limit ?? 0, version: limitVersion };
  },
  set: async ({ engine }, value, expected, reason) => {
    const { outcome } = await engine.ask(asks.setLimit("counted/limit", value, expected, reason));
    return outcome.kind === "limit" ? outcome.version : null;
  },
};
const RULE: Counter = {
  what: "rule",
  read: async ({ store }) => {
    const rule = (await untilRead(() => store.limitRules())).find(
      ({ prefix }) => prefix === "counted/under/",
    );
    return { value: rule?.limit ?? 0, version: rule?.version ?? 0n };
  },
  set: async ({ engine }, value, expected, reason) => {
    const answer = await engine.setLimitRule("counted/under/", { limit: value }, expected, reason);
    return answer.kind === "limit_rule" ? answer.version : null;
  },
};

/** Reads the store as an engine does: repeats the read if the database rolled it back. */
async function untilRead<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StoreError && error.kind === "transient")) throw error;
    }
  }
}

type Result<Answer> = { readonly answer: Answer } | "not done" | "unknown";

class Run {
  readonly breaches: string[];
  readonly #run: ChangesRun;
  readonly #untilMs: number;
  #calls = 0;
  /** Number of calls by how they ended. */
  readonly ended = new Map<string, number>();

  constructor(run: ChangesRun) {
    this.#run = run;
    this.breaches = run.breaches;
    this.#untilMs = performance.now() + run.runMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#untilMs;
  }

  any(chance: Chance): Replica {
    const { replicas } = this.#run;
    return replicas[Math.floor(chance() * replicas.length)] as Replica;
  }

  /** Makes a change under a unique name, and compares what the caller is told with what was written. */
  async call<Answer>(what: string, change: (name: string) => Promise<Answer>): Promise<Result<Answer>> {
    const name = `${what} ${++this.#calls}`;
    const result = await this.#made(change(name));
    const kind = typeof result === "string" ? result : "answered";
    this.ended.set(kind, (this.ended.get(kind) ?? 0) + 1);
    const isThere = this.#run.written.has(name) || this.#run.written.endedBy(name).length > 0;
    if (isThere && (result === "not done" || (typeof result === "object" && result.answer === null)))
      this.breaches.push(`${name} was told that nothing was done, and it was`);
    return result;
  }

  /** Repeats a call until it is answered. Use it only for calls that are safe to repeat. */
  async untilAnswered<Answer>(
    what: string,
    chance: Chance,
    ask: (replica: Replica) => Promise<Answer>,
  ): Promise<{ readonly answer: Answer; readonly by: Replica }> {
    for (;;) {
      const by = this.any(chance);
      const result = await this.call(what, () => ask(by));
      if (typeof result === "object") return { ...result, by };
      // An engine that has stopped refuses at once, and the run must be able to end.
      await sleep(1);
    }
  }

  async #made<Answer>(change: Promise<Answer>): Promise<Result<Answer>> {
    try {
      return { answer: await change };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error.outcomeUnknown ? "unknown" : "not done";
    }
  }
}

/** Increments the counter repeatedly by compare-and-set. */
class Count {
  readonly #run: Run;
  readonly #counter: Counter;
  readonly #told = new Map<bigint, string>();
  acknowledged = 0;
  unknown = 0;

  constructor(run: Run, counter: Counter) {
    this.#run = run;
    this.#counter = counter;
  }

  async work(chance: Chance): Promise<void> {
    const { what, read, set } = this.#counter;
    // A cluster node may lag behind another node, but its own reads never go back.
    const lastVersions = new Map<Replica, bigint>();
    while (!this.#run.isOver) {
      const replica = this.#run.any(chance);
      const { value, version } = await read(replica);
      const lastVersion = lastVersions.get(replica) ?? 0n;
      if (version < lastVersion)
        this.#run.breaches.push(`${what} went back from ${lastVersion} to ${version}`);
      lastVersions.set(replica, version);
      const result = await this.#run.call(what, (name) => set(replica, value + 1, version, name));
      if (result === "unknown") this.unknown += 1;
      if (typeof result === "string" || result.answer === null) continue;
      this.acknowledged += 1;
      const toldBefore = this.#told.get(result.answer);
      if (toldBefore) this.#run.breaches.push(`version ${result.answer} of ${what} was told twice`);
      this.#told.set(result.answer, what);
    }
  }

  /** Compares the counter with the acknowledged increments. The most advanced node has the value. */
  async check(replicas: readonly Replica[]): Promise<void> {
    const { what, read } = this.#counter;
    const reads = await Promise.all(replicas.map(read));
    const value = Math.max(...reads.map((each) => each.value));
    if (value < this.acknowledged || value > this.acknowledged + this.unknown)
      this.#run.breaches.push(
        `${what} is ${value} after ${this.acknowledged} increments and ${this.unknown} that are unknown`,
      );
  }
}

/** Sets the same things without comparing versions: each written change must be written once. */
async function dictate(run: Run, chance: Chance): Promise<void> {
  const name = "dictated/record";
  while (!run.isOver) {
    const replica = run.any(chance);
    const kind = Math.floor(chance() * 3);
    if (kind === 0)
      await run.call("status", (status) => replica.engine.ask(asks.updateRecord({ name, status })));
    if (kind === 1)
      await run.call("own limit", (reason) => replica.engine.ask(asks.setLimit(name, 5, undefined, reason)));
    if (kind === 2)
      await run.call("pattern", (reason) =>
        replica.engine.setLimitRule("dictated/", { limit: 5 }, undefined, reason),
      );
  }
}

/** Makes and deletes a record: each deletion is told to one caller, and no version comes again. */
async function makeAndDelete(
  run: Run,
  chance: Chance,
  deleted: Set<bigint>,
  made: Set<bigint>,
): Promise<void> {
  const name = "deleted/record";
  while (!run.isOver) {
    const { engine } = run.any(chance);
    const making = await run.call("made", async (status) => {
      const { outcome } = await engine.ask(asks.updateRecord({ name, status, expectedVersion: 0n }));
      return outcome.kind === "record" ? outcome.setVersion : null;
    });
    if (typeof making === "object" && making.answer !== null) {
      if (made.has(making.answer)) run.breaches.push(`version ${making.answer} was made twice`);
      made.add(making.answer);
    }
    const deleting = await run.call(
      "deletion",
      async () => (await engine.ask(asks.deleteRecord(name, undefined))).outcome,
    );
    if (typeof deleting === "string" || deleting.answer?.kind !== "deleted" || !deleting.answer.byThisCall)
      continue;
    const { version } = deleting.answer;
    if (deleted.has(version)) run.breaches.push(`the deletion of version ${version} was told twice`);
    deleted.add(version);
  }
}

/** Takes the lock and releases it with a result, repeatedly. */
async function hold(run: Run, chance: Chance): Promise<void> {
  while (!run.isOver) {
    const { engine } = run.any(chance);
    const requestId = `holder ${chance()}`;
    const wanted = ask("forced", { requestId, mayWait: false, ttlUs: 1_000_000 });
    const taking = await run.call("taking", async () => (await engine.acquire(wanted, null)).outcome);
    if (typeof taking === "string" || taking.answer.kind !== "held") continue;
    const { claim } = taking.answer;
    await sleep(chance() * 10);
    await run.call("result", (status) => engine.ask(asks.release(claim, { status })));
  }
}

/** Ends all holders: the holders that a call lists are those that it ended, in one transaction. */
async function force(run: Run, chance: Chance, written: WrittenChanges): Promise<void> {
  while (!run.isOver) {
    const { engine } = run.any(chance);
    let by = "";
    const forcing = await run.call("force", async (reason) => {
      by = reason;
      const { outcome } = await engine.ask(asks.forceRelease("forced", null, reason));
      return outcome.kind === "forced" ? outcome : undefined;
    });
    if (typeof forcing === "object" && forcing.answer) {
      const told = forcing.answer.ended.map(({ lockId, ticketNumber }) => `${lockId}.${ticketNumber}`);
      const really = written.endedBy(by);
      if (told.join() !== really.join()) run.breaches.push(`${by} has ended ${really} and was told ${told}`);
    }
    await sleep(chance() * 20);
  }
}

/**
 * Puts a task, captures it and releases it with a result, repeating each call until it is answered: each must take
 * effect once.
 */
async function capture(run: Run, chance: Chance, worker: number): Promise<void> {
  for (let task = 1; !run.isOver; task++) {
    const name = `tasks/${worker}/${task}`;
    const putting = await run.call("task", (status) =>
      run.any(chance).engine.ask(asks.updateRecord({ name, attemptsLeft: 3, status })),
    );
    if (typeof putting === "string") continue;
    // Empty if another transaction held the row, or if the node does not know the task yet.
    let lease: CapturedLease | undefined;
    for (let tries = 1; !lease; tries++) {
      const input: CaptureInput = {
        target: { kind: "names", names: [name] },
        max: 1,
        ttlUs: 60_000_000,
        owner: "",
        labels: {},
        requestId: `${name}/${tries}`,
        terms: null,
      };
      const { answer, by } = await run.untilAnswered("capture", chance, ({ engine }) =>
        engine.capture(input),
      );
      lease = answer.leases[0];
      const left = lease && (await by.engine.view(name)).lock.record?.attemptsLeft;
      if (lease && left !== 2) run.breaches.push(`${name} has ${left} of 3 attempts after a capture`);
    }
    const { claim } = lease;
    const done = `${name} done`;
    const result = { status: done, attemptsLeft: 7, coolDownUs: 3_600_000_000 };
    const { by } = await run.untilAnswered("done", chance, ({ engine }) =>
      engine.ask(asks.release(claim, result)),
    );
    const { record } = (await by.engine.view(name)).lock;
    if (record?.status !== done || record.attemptsLeft !== 7)
      run.breaches.push(`${name} was released, and is ${record?.status} with ${record?.attemptsLeft}`);
  }
}

/** Runs to the end and checks all promises. Returns the number of calls by how they ended. */
export async function change(given: ChangesRun): Promise<ReadonlyMap<string, number>> {
  const { seed, replicas, breaches, written } = given;
  const run = new Run(given);
  const counts = [RECORD, LIMIT, RULE].map((counter) => new Count(run, counter));
  const deleted = new Set<bigint>();
  const made = new Set<bigint>();
  let capturers = 0;
  const workers: ((chance: Chance) => Promise<void>)[] = [
    ...counts.map((count) => (chance: Chance) => count.work(chance)),
    (chance) => dictate(run, chance),
    (chance) => makeAndDelete(run, chance, deleted, made),
    (chance) => hold(run, chance),
    (chance) => force(run, chance, written),
    (chance) => capture(run, chance, ++capturers),
  ];
  const all = Array.from({ length: WORKERS_EACH }, () => workers).flat();
  await Promise.all(all.map((work, index) => work(chanceFrom(seed + index))));
  for (const count of counts) await count.check(replicas);
  expect(breaches).toEqual([]);
  return run.ended;
}

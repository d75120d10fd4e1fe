// What the clients of a soak do, as a process of its own:
//
//   node bench/overload/soak-work.ts ADDRESS SECONDS PAIRS_A_SECOND SEED
//
// For 20 pairs: 10 of names that nobody uses again, 10 of 1,000 names; two waits for one of ten busy locks; one task that
// is made, captured, finished and deleted; one counter that counts by compare-and-set; and a tenth of a client that comes, holds
// locks and goes, every second one without giving them back. Beside that, watches that begin anew, listings, a
// semaphore whose limit is turned, and pauses in which nothing happens.

import { setTimeout as sleep } from "node:timers/promises";
import { connect, type RowlockClient, RowlockError } from "../../clients/typescript/src/index.ts";
import { acquire } from "../../test/support/session-client.ts";
import { TestCalls } from "../../test/support/test-calls.ts";
import { LeanSession } from "../lean-session.ts";

const TICK_MS = 20;
const WORK_EVERY_MS = 110_000;
const PAUSE_MS = 10_000;
const NAMES = 1_000;
const BUSY = 10;
const COUNTERS = 20;
const OPEN_MAX = 2_000;
const CLIENTS = 4;
const WATCH_MS = 20_000;
const LIST_MS = 5_000;
const LIMIT_MS = 30_000;
const SHORT_TTL_MS = 3_000;

const [address, secondsText, rateText, seedText] = process.argv.slice(2) as [string, string, string, string];
const endMs = performance.now() + Number(secondsText) * 1_000;
const pairsPerMs = Number(rateText) / 1_000;
const random = seeded(Number(seedText));
const done = new Map<string, number>();
const failed = new Map<string, number>();
const clients: RowlockClient[] = Array.from({ length: CLIENTS }, () =>
  connect({ addresses: [address], log: () => {} }),
);
const stop = new AbortController();
let numbers = 0;

const client = () => clients[Math.floor(random() * CLIENTS)] as RowlockClient;

const WORKS: readonly {
  readonly name: string;
  readonly perPair: number;
  readonly run: () => Promise<unknown>;
}[] = [
  { name: "pairs of new names", perPair: 1 / 2, run: () => pair(`job/${++numbers}`) },
  { name: "pairs of known names", perPair: 1 / 2, run: () => pair(`known/${Math.floor(random() * NAMES)}`) },
  { name: "waits", perPair: 1 / 10, run: busy },
  { name: "permits of a semaphore", perPair: 1 / 20, run: permit },
  { name: "tasks made", perPair: 1 / 20, run: makeTask },
  { name: "counts", perPair: 1 / 20, run: count },
  { name: "clients that came and went", perPair: 1 / 200, run: visit },
];

const running = new Set<Promise<void>>();
const loops = [
  every(WATCH_MS, watchForAWhile),
  every(LIST_MS, list),
  every(LIMIT_MS, () => client().setLimit({ name: "semaphore" }, 3 + Math.floor(random() * 5))),
  client().work("task/", finish, {
    concurrency: 64,
    ifStatus: ["new"],
    statusIfLost: "new",
    signal: stop.signal,
  }),
];
await work();
stop.abort();
await Promise.all([...running, ...loops]);
await Promise.all(clients.map((each) => each.close()));
console.log(`done: ${text(done)}`);
console.log(`failed: ${text(failed)}`);

async function work(): Promise<void> {
  const owed = WORKS.map(() => 0);
  let lastMs = performance.now();
  let pauseMs = lastMs + WORK_EVERY_MS;
  while (performance.now() < endMs) {
    await sleep(TICK_MS);
    const nowMs = performance.now();
    WORKS.forEach(({ name, perPair, run }, index) => {
      owed[index] = (owed[index] as number) + (nowMs - lastMs) * pairsPerMs * perPair;
      for (; (owed[index] as number) >= 1; owed[index] = (owed[index] as number) - 1) begin(name, run);
    });
    lastMs = nowMs;
    if (nowMs > pauseMs) {
      await sleep(PAUSE_MS);
      lastMs = performance.now();
      pauseMs = lastMs + WORK_EVERY_MS;
    }
  }
}

function begin(name: string, run: () => Promise<unknown>): void {
  if (running.size >= OPEN_MAX) {
    add(failed, "not begun");
    return;
  }
  const one = tried(name, run).then(() => void running.delete(one));
  running.add(one);
}

/** Counts it. A failure that a busy server may cause is counted, too; any other one ends the soak. */
async function tried(name: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
    add(done, name);
  } catch (error) {
    if (!(error instanceof RowlockError)) throw error;
    add(failed, `${name}: ${error.reason}`);
  }
}

async function pair(name: string): Promise<void> {
  const lock = await client().lock(name, { wait: 10_000 });
  await lock.release();
}

async function busy(): Promise<void> {
  const lock = await client().lock(`busy/${Math.floor(random() * BUSY)}`, { wait: 2_000 });
  await sleep(random() * 10);
  await lock.release();
}

async function permit(): Promise<void> {
  const lock = await client().lock("semaphore", { wait: 2_000 });
  await sleep(random() * 30);
  await lock.release();
}

async function makeTask(): Promise<void> {
  const notBefore = new Date(Date.now() + random() * 2_000);
  await client().updateRecord(`task/${++numbers}`, { status: "new", attemptsLeft: 3, notBefore });
}

/** One in eight is not finished at its first attempt. */
async function finish(lock: {
  readonly name: string;
  release(options: object): Promise<unknown>;
}): Promise<void> {
  if (random() < 1 / 8) throw new Error("not this time");
  await lock.release({ status: "done" });
  await tried("tasks finished", () => client().deleteRecord(lock.name));
}

async function count(): Promise<void> {
  const name = `counter/${Math.floor(random() * COUNTERS)}`;
  const before = await client()
    .getLock(name)
    .catch((error: unknown) => {
      if (error instanceof RowlockError && error.reason === "UNKNOWN_LOCK") return undefined;
      throw error;
    });
  const status = String(Number(before?.record?.status || 0) + 1);
  await client().updateRecord(name, { status, ifVersion: before?.record?.version ?? 0n });
}

/** A client that closes, or one that is gone without a word. */
async function visit(): Promise<void> {
  const name = `visit/${++numbers}`;
  if (random() < 0.5) {
    const visitor = connect({ addresses: [address], log: () => {} });
    try {
      for (const part of ["a", "b", "c"])
        await visitor.lock(`${name}/${part}`, { ttl: SHORT_TTL_MS, wait: 5_000 });
      await sleep(2_000 * random());
    } finally {
      await visitor.close();
    }
    return;
  }
  const calls = new TestCalls(address);
  const session = new LeanSession(calls);
  const ttl = { seconds: BigInt(SHORT_TTL_MS / 1_000), nanos: 0 };
  await session.ask(acquire({ name, terms: { lasting: { case: "ttl" as const, value: ttl } } })).first;
  session.close();
  calls.close();
}

async function watchForAWhile(): Promise<void> {
  const signal = AbortSignal.any([AbortSignal.timeout(WATCH_MS), stop.signal]);
  try {
    for await (const _ of client().watchLocks({ prefix: "task/", signal }));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function list(): Promise<void> {
  let listed = 0;
  for await (const _ of client().listLocks({ prefix: "task/" })) if (++listed > 500) break;
}

async function every(ms: number, run: () => Promise<unknown>): Promise<void> {
  while (!stop.signal.aborted) {
    const began = performance.now();
    await tried(run.name || "limits turned", run);
    await sleep(Math.max(0, began + ms - performance.now()), undefined, { signal: stop.signal }).catch(
      () => {},
    );
  }
}

function add(to: Map<string, number>, what: string): void {
  to.set(what, (to.get(what) ?? 0) + 1);
}

function text(of: ReadonlyMap<string, number>): string {
  return [...of].map(([what, times]) => `${times} ${what}`).join(", ") || "nothing";
}

/** mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Everybody on a server who has to hear of changes, over a database that the test changes and cuts off: waiters, watches
// and waiting captures, what each of them hears from which source, and that none of them holds up another.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { LimitRule } from "../../../server/core/limit.ts";
import type { Lock } from "../../../server/core/lock.ts";
import type { Captured, CaptureInput, ViewedLock } from "../../../server/engine/answers.ts";
import { KNOWN_CHECKED_MS, POLL_REST_MS_MAX } from "../../../server/engine/engine-bounds.ts";
import { Subscribers } from "../../../server/engine/subscribers/subscribers.ts";
import type { Attempt } from "../../../server/engine/transaction/transaction.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";

// Pauses are on the fake clock, too.
vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<typeof import("node:timers/promises")>()),
  setTimeout: (ms: number, _value: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise<void>((resolve, reject) => {
      signal.throwIfAborted();
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
}));

const TICK_MS = 100;
const LOCK = 7n;
const NOTHING: Captured = { leases: [], retryAfterUs: null };

/** Ends the reads that hang, and stops. */
const stops: (() => Promise<void>)[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** Resolves after everything that waits for no time has gone on. */
const settled = () => pass(0);

async function scene() {
  const rows = new Map<bigint, Lock>();
  const claims: Claim[] = [];
  const database = {
    rules: [] as LimitRule[],
    rulesRevision: 1n,
    isAway: false,
    /** Reads of this name do not end during the test. */
    hangs: "",
  };
  const statements: string[] = [];
  const advanced: bigint[] = [];
  const failures: string[] = [];
  const over = Promise.withResolvers<void>();
  const read = async <Answer>(name: string, answer: () => Answer): Promise<Answer> => {
    statements.push(name);
    if (database.hangs === name) await over.promise;
    if (database.isAway) throw new StoreError("unavailable", "connection_lost", "A cut made by a test.");
    return answer();
  };
  const nowUs = () => Math.round(performance.now() * 1_000);
  const clock = new DatabaseClock();
  const polled = (ids: readonly bigint[]) => ({
    revisions: new Map(ids.flatMap((id) => (rows.has(id) ? [[id, (rows.get(id) as Lock).revision]] : []))),
    due: [],
    dueSoon: new Map<bigint, number>(),
    rulesRevision: database.rulesRevision,
  });
  const viewOf = (lock: Lock) => ({ lock: { ...lock }, holders: [], waiters: [] }) as unknown as ViewedLock;
  const subscribers = new Subscribers({
    store: {
      poll: (ids) => read("poll", () => polled(ids)),
      claims: (keys) =>
        read("claims", () => ({
          nowUs: nowUs(),
          claims: claims.filter(({ ticketNumber }) => keys.some((key) => key.ticketNumber === ticketNumber)),
        })),
      limitRules: () => read("limitRules", () => database.rules),
      clock,
    },
    reads: {
      queue: () => read("queue", () => ({ nowUs: 0, lock: null, places: [] })),
      poolQueue: () => read("queue", () => ({ nowUs: 0, lock: null, places: [] })),
      inTurn: {
        poll: (ids) => read("check", () => polled(ids)),
        decidedSince: () =>
          read("sweep", () => ({ nowUs: nowUs(), epoch: 0n, locks: [...rows.values()], next: null })),
      },
    },
    looks: { at() {} },
    views: {
      async *views() {
        yield* await read("snapshot", () => [...rows.values()].map(viewOf));
      },
      async *viewsOf(locks) {
        const ids = new Set(locks.map(({ id }) => id));
        yield* await read("views", () => [...rows.values()].filter(({ id }) => ids.has(id)).map(viewOf));
      },
    },
    advances: { start: async (lockId) => void advanced.push(lockId), async owe() {} },
    replica: 1n,
    poke() {},
    rulesInForce: { saw() {} },
    pollIntervalMs: TICK_MS,
    observer() {},
    onFailure: (loop) => void failures.push(loop),
  });
  await subscribers.start();
  stops.push(async () => {
    over.resolve();
    await subscribers.stop(new Error("stopping"));
  });
  statements.length = 0;

  /** Writes the lock as another server does. */
  const write = (id = LOCK, claim?: Claim): Lock => {
    const revision = (rows.get(id)?.revision ?? 0n) + 1n;
    const lock = { id, name: `t/${id}`, revision, holders: 0, waiting: 0 } as Lock;
    rows.set(id, lock);
    if (claim) claims.splice(0, claims.length, claim);
    return lock;
  };
  /** Writes the lock as this server does. */
  const commit = (claim?: Claim, id = LOCK) => {
    const revisionBefore = rows.get(id)?.revision ?? 0n;
    const lock = write(id, claim);
    const event = { kind: "granted", claim, queued: true, waitedUs: 0 };
    subscribers.wake({
      locks: new Map([[id, { lock, revisionBefore }]]),
      ...{ pools: new Map(), mayGoOn: [] },
      events: claim ? [{ event, lockName: lock.name, nowUs: 1 }] : [],
      limitRules: database.rules,
      leftOver: [],
    } as unknown as Attempt);
  };
  return { subscribers, rows, database, statements, advanced, failures, write, commit };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const waiting = (ticketNumber: bigint): Claim => ({ ...CLAIM, lockId: LOCK, ticketNumber, state: "waiting" });
const granted = (ticketNumber: bigint): Claim => ({ ...waiting(ticketNumber), state: "held" });

/** A waiter with this ticket number at the lock. */
function follow({ subscribers, write, rows }: Scene, ticketNumber = 1n) {
  const heard: string[] = [];
  const follower = { settled: ({ state }: Claim) => void heard.push(state) };
  if (!rows.has(LOCK)) write();
  subscribers.followers.add(waiting(ticketNumber), follower, rows.get(LOCK)?.revision ?? 0n);
  return { heard, leave: () => subscribers.followers.remove(waiting(ticketNumber), follower) };
}

/** A watch that has sent its snapshot. Collects the names in each further update. */
async function watch({ subscribers }: Scene) {
  const sent: string[][] = [];
  const watch = subscribers.watches.open("t/");
  while (!(await watch.next()).complete);
  const goOn = async (): Promise<void> => {
    const { locks, deleted } = await watch.next();
    sent.push([...locks.map(({ lock }) => lock.name), ...deleted.map((name) => `no ${name}`)]);
    await goOn();
  };
  const ended = goOn().catch((error: Error) => error.message);
  return { sent, ended, leave: () => watch.close(new Error("left")) };
}

/** A capture that waits, and takes nothing until the test says so. */
function capture({ subscribers }: Scene) {
  const wanted: CaptureInput = {
    ...{ target: { kind: "prefix", prefix: "t/" }, max: 1, ttlUs: 1 },
    ...{ owner: "", labels: {}, requestId: "", terms: null },
  };
  const state = { attempts: 0, finds: NOTHING };
  const gone = new AbortController();
  const answer = subscribers.waitingCaptures
    .wait(wanted, null, gone.signal, async () => {
      state.attempts += 1;
      return state.finds;
    })
    .catch((error: Error) => error.message);
  return { state, answer, leave: () => gone.abort(new Error("left")) };
}

/** One of each. */
async function all(stage: Scene) {
  const follower = follow(stage);
  const watching = await watch(stage);
  const capturing = capture(stage);
  await settled();
  stage.statements.length = 0;
  return { follower, watching, capturing };
}

test("a commit of this server reaches everybody without a read of the poll or a sweep", async () => {
  const stage = await scene();
  const { follower, watching, capturing } = await all(stage);
  stage.commit(granted(1n));
  expect(follower.heard).toEqual(["held"]);
  expect(capturing.state.attempts).toBe(1);
  await settled();
  expect(watching.sent).toEqual([["t/7"]]);
  expect(stage.statements).toEqual(["views"]);
});

test("a commit of another server reaches everybody within a tick", async () => {
  const stage = await scene();
  const { follower, watching, capturing } = await all(stage);
  stage.write(LOCK, granted(1n));
  await pass(TICK_MS);
  expect(follower.heard).toEqual(["held"]);
  expect(capturing.state.attempts).toBe(1);
  expect(watching.sent).toEqual([["t/7"]]);
});

test("a changed limit rule reaches everybody within a tick", async () => {
  const stage = await scene();
  const { watching, capturing } = await all(stage);
  stage.commit();
  await pass(3 * TICK_MS);
  const { attempts } = capturing.state;
  watching.sent.length = 0;
  stage.database.rules = [
    { prefix: "t/", limit: 2, rate: null, queueRules: null, version: 1n, reason: "", changeMark: 0n },
  ];
  stage.database.rulesRevision = 2n;
  await pass(TICK_MS);
  expect(stage.advanced).toEqual([LOCK]);
  expect(watching.sent).toEqual([["t/7"]]);
  expect(capturing.state.attempts).toBe(attempts + 1);
});

test.each([
  ["watches", "views"],
  ["the check of known locks", "check"],
  ["the snapshot of another watch", "snapshot"],
])("a read for %s that hangs keeps nobody else from hearing", async (_, name) => {
  const stage = await scene();
  const { follower, capturing } = await all(stage);
  stage.database.hangs = name;
  // It ends with the test.
  if (name === "snapshot")
    stage.subscribers.watches
      .open("")
      .next()
      .catch(() => {});
  stage.commit();
  await pass(2 * KNOWN_CHECKED_MS);
  expect(stage.statements).toContain(name);
  const { attempts } = capturing.state;
  stage.write(LOCK, granted(1n));
  await pass(TICK_MS);
  expect(follower.heard).toEqual(["held"]);
  expect(capturing.state.attempts).toBe(attempts + 1);
});

test("a sweep that hangs keeps no waiter from hearing, nor watches from what this server commits", async () => {
  const stage = await scene();
  const { follower, watching } = await all(stage);
  stage.database.hangs = "sweep";
  await pass(TICK_MS);
  stage.write(LOCK, granted(1n));
  await pass(TICK_MS);
  expect(follower.heard).toEqual(["held"]);
  stage.commit(undefined, 8n);
  await settled();
  expect(watching.sent).toEqual([["t/8"]]);
});

test("a cut is made up for, and whoever has left during it is not called any more", async () => {
  const stage = await scene();
  const { follower, watching, capturing } = await all(stage);
  const gone = { follower: follow(stage, 2n), watching: await watch(stage), capturing: capture(stage) };
  stage.database.isAway = true;
  await pass(TICK_MS);
  // Attempts fail as well while the database is away; here they find nothing.
  stage.write(LOCK, granted(1n));
  stage.rows.delete(8n);
  stage.write(9n);
  await pass(10 * TICK_MS);
  for (const each of Object.values(gone)) each.leave();
  expect(follower.heard).toEqual([]);
  expect(watching.sent).toEqual([]);
  expect(stage.failures).toContain("poll");
  expect(stage.failures).toContain("watches");
  const lease = { claim: CLAIM, lockName: "t/7", nowUs: 0 };
  capturing.state.finds = { leases: [lease], retryAfterUs: null };
  gone.capturing.state.finds = capturing.state.finds;
  const { attempts } = gone.capturing.state;
  stage.database.isAway = false;
  await pass(POLL_REST_MS_MAX);
  expect(follower.heard).toEqual(["held"]);
  expect(await capturing.answer).toBe(capturing.state.finds);
  await pass(KNOWN_CHECKED_MS);
  expect(watching.sent.flat().sort()).toEqual(["t/7", "t/9"]);
  expect([gone.follower.heard, gone.watching.sent, gone.capturing.state.attempts]).toEqual([
    [],
    [],
    attempts,
  ]);
  expect([await gone.watching.ended, await gone.capturing.answer]).toEqual(["left", "left"]);
});

test("a lock whose row is gone is reported to watches, and its waiters have ended", async () => {
  const stage = await scene();
  const { follower, watching } = await all(stage);
  stage.rows.delete(LOCK);
  await pass(TICK_MS);
  expect(follower.heard).toEqual(["ended"]);
  await pass(2 * KNOWN_CHECKED_MS);
  expect(watching.sent).toEqual([["no t/7"]]);
});

test("at rest each tick makes one statement; with watches and captures, one more, and two each second", async () => {
  const stage = await scene();
  const count = () =>
    Object.fromEntries(
      Map.groupBy(stage.statements.splice(0), (name) => name)
        .entries()
        .map(([name, all]) => [name, all.length]),
    );
  await pass(10 * TICK_MS);
  expect(count()).toEqual({ poll: 10 });
  const { follower, watching, capturing } = await all(stage);
  await pass(10 * KNOWN_CHECKED_MS);
  const { check, ...others } = count();
  // Each tick looks for what was decided lately, and once a second one also for what lies ahead of the clock.
  expect(others).toEqual({ poll: 100, sweep: 100 + 10 });
  expect(check).toBeGreaterThanOrEqual(9);
  expect(check).toBeLessThanOrEqual(11);
  follower.leave();
  watching.leave();
  capturing.leave();
  await settled();
  stage.statements.length = 0;
  await pass(10 * TICK_MS);
  expect(count()).toEqual({ poll: 10 });
});

test("everything ends with the stop, which can be repeated", async () => {
  const stage = await scene();
  const { watching, capturing } = await all(stage);
  await pass(TICK_MS);
  await stage.subscribers.stop(new Error("stopping"));
  await stage.subscribers.stop(new Error("stopping again"));
  expect(await watching.ended).toBe("stopping");
  expect(await capturing.answer).toBe("stopping");
  stage.statements.length = 0;
  stage.commit();
  stage.subscribers.poked([waiting(1n)]);
  await pass(10 * KNOWN_CHECKED_MS);
  expect(stage.statements).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

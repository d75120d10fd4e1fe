// The engine over an in-memory database: what each verb answers, what observers see, and how an engine ends. Tests
// await answers and events; nothing waits for time.

import { afterEach, describe, expect, test, vi } from "vitest";
import type { Command } from "../../server/core/command.ts";
import { isOwnName } from "../../server/core/lock.ts";
import type { CaptureInput } from "../../server/engine/answers.ts";
import type { Engine } from "../../server/engine/engine.ts";
import { STALE_ID_TRIES_MAX } from "../../server/engine/engine-bounds.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { ask, claimOf, follower } from "../support/replicas.ts";
import { away, turn, unknownOutcome } from "../support/scripted-transactions.ts";
import { startEngine } from "../support/test-engine.ts";
import { until } from "../support/until.ts";
import { wrapped } from "../support/wrapped-store.ts";

const SECOND_US = 1_000_000;
const ours: { engine: Engine; store: Store }[] = [];
afterEach(async () => {
  const all = ours.splice(0);
  await Promise.all(all.map(({ engine }) => engine.stop()));
  for (const store of new Set(all.map((each) => each.store))) await store.close();
});

/** How the next deciding transactions end. */
type Ending = (transact: () => Promise<void>) => Promise<void>;

/** The engine never polls. */
async function start(base?: Store, overrides: Partial<Store> = {}) {
  const store = base ?? (await openStore("sqlite::memory:"));
  const endings: Ending[] = [];
  const scripted = wrapped(store, {
    transact: (plan, decide) => {
      const transact = () => store.transact(plan, decide);
      const ending = plan.locks.length > 0 ? endings.shift() : undefined;
      return ending ? ending(transact) : transact();
    },
    ...overrides,
  });
  const { engine, seen, poked, report } = await startEngine(scripted, {}, null, false, 86_400_000);
  ours.push({ engine, store });
  const answeredAs = (verb: Command["verb"]) =>
    report((next) => next.kind === "answered" && next.command.verb === verb);
  const count = (verb: Command["verb"]) =>
    seen.filter((next) => next.kind === "answered" && next.command.verb === verb).length;
  const hold = async (name: string, input: Parameters<typeof ask>[1] = {}) =>
    claimOf(await engine.acquire(ask(name, input), null), "held");
  const wait = async (name: string, who: ReturnType<typeof follower> | null = null) =>
    claimOf(await engine.acquire(ask(name), who), "waiting");
  return { engine, store, seen, endings, poked, report, answeredAs, count, hold, wait };
}

const wanting = (overrides: Partial<CaptureInput> = {}): CaptureInput => ({
  target: { kind: "prefix", prefix: "task/" },
  ...{ max: 3, ttlUs: 60 * SECOND_US, owner: "", labels: {}, requestId: "", terms: null },
  ...overrides,
});

describe("a lease", () => {
  test("of a missing lock is unknown", async () => {
    const { engine, hold } = await start();
    const claim = await hold("a");
    const answer = await engine.ask(asks.renew({ ...claim, lockId: 77n }, undefined));
    expect(answer).toEqual({ outcome: { kind: "unknown_claim" }, nowUs: 0, lockId: 77n, lockName: "" });
  });

  test("ended by an operator is reported once to each listener, and to none that has left", async () => {
    const { engine, hold } = await start();
    await engine.ask(asks.setLimit("a", 2, undefined, ""));
    const [one, other] = [await hold("a"), await hold("a")];
    const lost = vi.fn();
    const notLost = vi.fn();
    engine.onLost(one, lost);
    engine.onLost(other, notLost)();
    const forced = await engine.ask(asks.forceRelease("a", null, "Because of a test."));
    expect(forced?.outcome).toMatchObject({ kind: "forced", holdersLeft: 0 });
    expect(lost).toHaveBeenCalledTimes(1);
    expect(lost.mock.calls[0]?.[0]).toMatchObject({
      endReason: "force_released",
      endNote: "Because of a test.",
    });
    expect(notLost).not.toHaveBeenCalled();
  });
});

test("a place in a queue that another server grants is poked from there, its follower is notified at the poke, and can fetch the lease", async () => {
  const here = await start();
  const there = await start(here.store);
  const first = await there.hold("a");
  const waiter = follower();
  const claim = await here.wait("a", waiter);
  await there.engine.ask(asks.release(first));
  expect(there.poked).toEqual([
    { replica: here.engine.replica, lockId: claim.lockId, ticketNumber: claim.ticketNumber },
  ]);
  here.engine.poked(there.poked);
  expect((await waiter.toldClaim).claim).toMatchObject({ state: "held", provisional: true });
  expect(here.poked).toEqual([]);
  expect(claimOf(await here.engine.confirm(claim), "held").provisional).toBe(false);
});

test("an operator's command about many names is observed with its caller, and a refused one is not", async () => {
  const { engine, seen } = await start();
  const caller = { getPeer: () => "a test" };
  const set = await engine.setLimitRule("a/", { limit: 3 }, undefined, "Because.", caller);
  expect(set).toMatchObject({ kind: "limit_rule", limit: 3, version: 1n, serversBehind: 0 });
  expect((await engine.setLimitRule("a/", { limit: 4 }, 0n, "", caller)).kind).toBe("version_mismatch");
  expect(seen.filter(({ kind }) => kind === "limit_rule_set")).toEqual([
    {
      ...{
        kind: "limit_rule_set",
        prefix: "a/",
        isPool: false,
        set: { limit: 3 },
        version: 1n,
        reason: "Because.",
      },
      ...{ serversBehind: 0, caller },
    },
  ]);
});

describe("a command whose row was deleted", () => {
  test("uses the row that its name has now", async () => {
    const { engine, store, hold } = await start();
    // Creates the guard row without leaving anything in it.
    await engine.ask(asks.setLimit("a", 1, 5n, ""));
    const before = (await store.find(["a"])).get("a");
    expect(await store.purgeLocks(-3_600 * SECOND_US, 10)).toBe(1);
    expect((await hold("a")).lockId).not.toBe(before);
  });

  test("fails if this happens repeatedly", async () => {
    let looks = 0;
    const { engine } = await start(undefined, {
      resolve: async (names) => {
        looks += 1;
        return new Map(names.map((name) => [name, 77n]));
      },
    });
    await expect(engine.acquire(ask("a"), null)).rejects.toMatchObject({
      ...{ kind: "unavailable", reason: "lock_row_vanishes" },
    });
    expect(looks).toBe(STALE_ID_TRIES_MAX);
  });
});

describe("a call with an unknown outcome", () => {
  const lost: Ending = async (transact) => {
    await transact();
    throw unknownOutcome();
  };
  const fails: Ending = async () => {
    throw away();
  };

  test("is withdrawn if its caller cannot repeat it", async () => {
    const { engine, endings, answeredAs, hold } = await start();
    endings.push(lost, fails);
    await expect(engine.acquire(ask("a"), null)).rejects.toMatchObject({ outcomeUnknown: true });
    await answeredAs("withdraw");
    await hold("a", { mayWait: false });
  });

  test("is left to a caller that can repeat it, and no other command is withdrawn", async () => {
    const { engine, endings, hold, count } = await start();
    endings.push(lost, fails);
    await expect(engine.acquire(ask("a", { requestId: "mine" }), null)).rejects.toMatchObject({
      outcomeUnknown: true,
    });
    endings.push(lost, fails);
    await expect(engine.ask(asks.setLimit("b", 3, undefined, ""))).rejects.toMatchObject({
      outcomeUnknown: true,
    });
    await turn();
    await hold("a", { requestId: "mine", mayWait: false });
    expect(count("withdraw")).toBe(0);
  });

  test("is not withdrawn if it is known to have failed", async () => {
    const { engine, endings, count, hold } = await start();
    endings.push(fails);
    await expect(engine.acquire(ask("a"), null)).rejects.toMatchObject({ outcomeUnknown: false });
    await turn();
    await hold("a");
    expect(count("withdraw")).toBe(0);
  });
});

describe("what decisions say about the database", () => {
  test("counts clients' decisions only; the probe appears nowhere", async () => {
    const { engine, seen, hold, endings } = await start();
    for (let times = 0; times < 3; times++) await engine.probe();
    endings.push(async () => {
      throw away();
    });
    await expect(engine.probe()).rejects.toMatchObject({ kind: "unavailable" });
    expect(engine.recent.failure).toBeNull();
    expect(seen.some((event) => "lockName" in event && isOwnName(event.lockName))).toBe(false);
    expect(seen.filter(({ kind }) => kind === "answered")).toEqual([]);
    await hold("a");
    expect(engine.recent).toMatchObject({ committed: true, failure: null, isSuspect: false });
    expect(seen.filter(({ kind }) => kind === "answered")).toHaveLength(1);
  });

  test("reports trouble if a decision or the search for a name fails", async () => {
    let isAway = true;
    const { engine, store, endings, hold } = await start(undefined, {
      resolve: async (names) => {
        if (isAway) throw away();
        return await store.resolve(names);
      },
    });
    const trouble = vi.fn();
    engine.onTrouble = trouble;
    await expect(engine.acquire(ask("a"), null)).rejects.toMatchObject({ kind: "unavailable" });
    expect(engine.recent).toMatchObject({ committed: false, failure: { reason: "connection_lost" } });
    expect(trouble).toHaveBeenCalledTimes(1);
    isAway = false;
    endings.push(async () => {
      throw away();
    });
    await expect(engine.acquire(ask("a"), null)).rejects.toMatchObject({ kind: "unavailable" });
    expect(trouble).toHaveBeenCalledTimes(2);
    await hold("a");
    expect(engine.recent).toMatchObject({ committed: true, isSuspect: true });
  });

  test("comes from a failing probe if the database cannot be written", async () => {
    let isAway = false;
    const { engine } = await start(undefined, {
      register: async () => {
        if (isAway) throw away();
      },
    });
    await engine.register();
    isAway = true;
    await expect(engine.probe()).rejects.toMatchObject({ kind: "unavailable", reason: "connection_lost" });
    await expect(engine.register()).rejects.toMatchObject({ kind: "unavailable" });
  });

  test("includes the latest time that the clock may show", async () => {
    const { engine, hold } = await start();
    const claim = await hold("a");
    expect(engine.nowUs()).toBeGreaterThanOrEqual(claim.grantedAtUs as number);
  });
});

describe("an engine that stops", () => {
  test("finishes submitted commands, refuses the rest, and leaves the register last", async () => {
    const order: string[] = [];
    const { engine, endings, store } = await start(undefined, {
      retire: async () => void order.push("retired"),
    });
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    endings.push(async (transact) => {
      begun.resolve();
      await held.promise;
      await transact();
      order.push("committed");
    });
    const acquiring = engine.acquire(ask("a"), null);
    await begun.promise;
    const stopping = engine.stop();
    expect(engine.stop()).toBe(stopping);
    const shutting = { kind: "shutting_down", reason: "shutting_down", retryAfterMs: 1_000 };
    await until(() => {
      try {
        engine.watchLocks("").close(new Error("A test has closed it."));
        return false;
      } catch {
        return true;
      }
    });
    const refused = [
      () => engine.acquire(ask("b"), null),
      async () => engine.ask(asks.renew({ lockId: 1n, ticketNumber: 1n, secret: "" }, undefined)),
      () => engine.capture({} as CaptureInput),
      () => engine.captureWhenFree({} as CaptureInput, new AbortController().signal),
      () => engine.setLimitRule("a", { limit: 1 }, undefined, ""),
      async () => engine.watchLocks(""),
    ];
    for (const call of refused) await expect(call()).rejects.toMatchObject(shutting);
    expect(order).toEqual([]);
    held.resolve();
    claimOf(await acquiring, "held");
    await stopping;
    expect(order).toEqual(["committed", "retired"]);
    await store.retire(engine.replica);
  });

  test("ends the watches of locks and the captures that wait with the same error", async () => {
    const { engine } = await start();
    const watch = engine.watchLocks("");
    expect((await watch.next()).complete).toBe(true);
    const ends = [watch.next(), engine.captureWhenFree(wanting(), new AbortController().signal)];
    const ended = ends.map((end) => expect(end).rejects.toMatchObject({ kind: "shutting_down" }));
    await until(() => engine.waitingCaptures === 1);
    await engine.stop();
    await Promise.all(ended);
  });

  test("does not start if it cannot register", async () => {
    await expect(
      start(undefined, {
        register: async () => {
          throw away();
        },
      }),
    ).rejects.toMatchObject({ reason: "connection_lost" });
  });
});

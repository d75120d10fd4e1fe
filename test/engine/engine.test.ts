// The engine over an in-memory database: what each verb answers, what observers see, and how an engine ends. Tests
// await answers and events; nothing waits for time.

import { afterEach, describe, expect, test, vi } from "vitest";
import { SERVER_MADE_PREFIX } from "../../server/core/claim.ts";
import type { Command } from "../../server/core/command.ts";
import { isOwnName } from "../../server/core/lock.ts";
import type { GrantedElsewhere } from "../../server/engine/after-commit.ts";
import type { CaptureInput, EngineEvent } from "../../server/engine/answers.ts";
import { Engine } from "../../server/engine/engine.ts";
import { STALE_ID_TRIES_MAX } from "../../server/engine/engine-bounds.ts";
import type { EngineOptions } from "../../server/engine/parts.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { ask, claimOf, follower } from "../support/replicas.ts";
import { away, turn, unknownOutcome } from "../support/scripted-transactions.ts";
import { CLEANING } from "../support/test-engine.ts";
import { until } from "../support/until.ts";
import { withOwn } from "../support/with-own.ts";

const SECOND_US = 1_000_000;
const ours: { engine: Engine; store: Store }[] = [];
afterEach(async () => {
  const all = ours.splice(0);
  await Promise.all(all.map(({ engine }) => engine.stop()));
  for (const store of new Set(all.map((each) => each.store))) await store.close();
});

/** How the next deciding transactions end. */
type Ending = (transact: () => Promise<void>) => Promise<void>;

let replicas = 0n;

/** The engine never polls. */
async function start(base?: Store, overrides: Partial<Store> = {}) {
  const store = base ?? (await openStore("sqlite::memory:"));
  const seen: EngineEvent[] = [];
  const listeners = new Set<(event: EngineEvent) => void>();
  const endings: Ending[] = [];
  const scripted = withOwn(store, {
    transact: (plan, decide) => {
      const transact = () => store.transact(plan, decide);
      const ending = plan.locks.length > 0 ? endings.shift() : undefined;
      return ending ? ending(transact) : transact();
    },
    ...overrides,
  });
  const poked: GrantedElsewhere[] = [];
  const options: EngineOptions = {
    store: scripted,
    pollIntervalMs: 86_400_000,
    poke: (granted) => void poked.push(granted),
    observer: (event) => {
      seen.push(event);
      for (const listener of listeners) listener(event);
    },
    policy: {
      graceUs: 10 * SECOND_US,
      attachedForUs: 12 * SECOND_US,
      keptForUs: () => 3_600 * SECOND_US,
      queueMax: 100,
    },
    replica: { id: ++replicas, address: "test:1", version: "test", secret: "" },
    lanes: store.lanes,
    commandsQueuedMax: 1_000,
    cleaning: CLEANING,
    failOverPauseUs: null,
  };
  const engine = new Engine(options);
  await engine.start();
  ours.push({ engine, store });
  /** Resolves with the next event that fits, or with an earlier one. */
  const event = (fits: (event: EngineEvent) => boolean) => {
    const before = seen.find(fits);
    if (before) return Promise.resolve(before);
    return new Promise<EngineEvent>((resolve) => {
      listeners.add((next) => {
        if (fits(next)) resolve(next);
      });
    });
  };
  const answeredAs = (verb: Command["verb"]) =>
    event((next) => next.kind === "answered" && next.command.verb === verb);
  const count = (verb: Command["verb"]) =>
    seen.filter((next) => next.kind === "answered" && next.command.verb === verb).length;
  const hold = async (name: string, input: Parameters<typeof ask>[1] = {}) =>
    claimOf(await engine.acquire(ask(name, input), null), "held");
  const wait = async (name: string, who: ReturnType<typeof follower> | null = null) =>
    claimOf(await engine.acquire(ask(name), who), "waiting");
  return {
    ...{ engine, store, seen, endings, poked, event, answeredAs, count, hold, wait },
  };
}

const wanting = (overrides: Partial<CaptureInput> = {}): CaptureInput => ({
  target: { kind: "prefix", prefix: "task/" },
  ...{ max: 3, ttlUs: 60 * SECOND_US, owner: "", labels: {}, requestId: "", terms: null },
  ...overrides,
});

describe("a lease", () => {
  test("is granted, renewed for the requested time, and released by its id", async () => {
    const { engine, hold } = await start();
    const claim = await hold("a");
    const renewed = await engine.ask(asks.renew(claim, 90 * SECOND_US));
    expect(renewed).toMatchObject({
      outcome: { kind: "held", claim: { ttlUs: 90 * SECOND_US } },
      lockName: "a",
    });
    expect(claimOf(await engine.ask(asks.renew(claim, undefined)), "held").ttlUs).toBe(90 * SECOND_US);
    expect((await engine.ask(asks.release(claim))).outcome).toEqual({ kind: "released", byThisCall: true });
    expect((await engine.ask(asks.release(claim))).outcome).toMatchObject({
      kind: "released",
      byThisCall: false,
    });
  });

  test("of a missing lock is unknown", async () => {
    const { engine, hold } = await start();
    const claim = await hold("a");
    const answer = await engine.ask(asks.renew({ ...claim, lockId: 77n }, undefined));
    expect(answer).toEqual({ outcome: { kind: "unknown_claim" }, nowUs: 0, lockId: 77n, lockName: "" });
  });

  test("without a request id is different each time, and with one it is the same", async () => {
    const { engine, hold } = await start();
    await engine.ask(asks.setLimit("a", 9, undefined, ""));
    const [one, other] = [await hold("a"), await hold("a")];
    expect(one.requestId.startsWith(SERVER_MADE_PREFIX)).toBe(true);
    expect(one.requestId).not.toBe(other.requestId);
    expect(one.secret).not.toBe(other.secret);
    const mine = await hold("a", { requestId: "mine" });
    expect(mine.requestId).toBe("mine");
    expect((await hold("a", { requestId: "mine" })).ticketNumber).toBe(mine.ticketNumber);
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

describe("a place in a queue", () => {
  test("belongs to the replica whose call waits, or to none if no call waits", async () => {
    const { engine, hold, wait } = await start();
    await hold("a");
    const kept = await wait("a", follower());
    expect(kept.replica).toBe(engine.replica);
    expect(engine.waiterCount).toBe(1);
    expect((await wait("a")).replica).toBeNull();
    expect(engine.waiterCount).toBe(1);
    expect(await engine.place(kept)).toEqual({ ahead: 0, permitsAhead: 0, queueLength: 2 });
  });

  test("is given up when the last call ends and its caller cannot come back", async () => {
    const { engine, hold, wait, event, count } = await start();
    await hold("a");
    const [one, other] = [follower(), follower()];
    const claim = await wait("a", one);
    await engine.attach(claim, other);
    engine.detach(claim, one, false);
    expect(engine.waiterCount).toBe(1);
    engine.detach(claim, other, false);
    await event((next) => next.kind === "event" && next.event.kind === "ended");
    expect(engine.waiterCount).toBe(0);
    expect([count("withdraw"), count("detach")]).toEqual([1, 0]);
  });

  test("is kept for the grace period when a call ends whose caller can come back", async () => {
    const { engine, hold, wait, answeredAs, store } = await start();
    await hold("a");
    const one = follower();
    const claim = await wait("a", one);
    engine.detach(claim, one, true);
    await answeredAs("detach");
    const { claims } = await store.claims([claim]);
    expect(claims[0]?.state).toBe("waiting");
    expect(claims[0]?.deadlineUs).toBeLessThan(claim.deadlineUs as number);
    expect((await engine.attach(claim, follower())).outcome).toMatchObject({
      kind: "waiting",
      claim: { replica: engine.replica },
    });
  });

  test("of a call whose answer was lost is given up, too", async () => {
    const { engine, hold, wait, answeredAs } = await start();
    await hold("a");
    engine.detach(await wait("a"), null, false);
    await answeredAs("withdraw");
    expect((await engine.view("a")).waiters).toEqual([]);
  });

  test("that another server grants is poked from there, its follower is notified at the poke, and can fetch the lease", async () => {
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
});

describe("an operator's command", () => {
  test("about an unused name creates no row", async () => {
    const { engine, store } = await start();
    const outcome = { kind: "unknown_lock" };
    expect(await engine.ask(asks.forceRelease("a", null, ""))).toMatchObject({ outcome });
    expect(await engine.ask(asks.deleteRecord("a", undefined))).toMatchObject({ outcome });
    expect((await store.find(["a"])).size).toBe(0);
  });

  test("sets limits, of which the name's is in force before the pattern's, and lists them", async () => {
    const { engine } = await start();
    await engine.ask(asks.setLimit("a/1", 5, 0n, "Own."));
    await engine.setLimitRule("a/", 3, undefined, "All.");
    expect(await engine.limit("a/1")).toMatchObject({ limit: 5, source: "name", reason: "Own." });
    expect(await engine.limit("a/2")).toMatchObject({ limit: 3, source: "pattern", pattern: "a/*" });
    expect(await engine.limit("b")).toMatchObject({ limit: 1, source: "default" });
    const limits = await Array.fromAsync(engine.limits({ prefix: "", after: null, max: 10 }));
    expect(limits.map(({ target }) => target)).toEqual(["a/*", "a/1"]);
  });

  test("about many names is observed with its caller, and a refused one is not", async () => {
    const { engine, seen } = await start();
    const caller = { getPeer: () => "a test" };
    const set = await engine.setLimitRule("a/", 3, undefined, "Because.", caller);
    expect(set).toMatchObject({ kind: "limit_rule", limit: 3, version: 1n, serversBehind: 0 });
    expect((await engine.setLimitRule("a/", 4, 0n, "", caller)).kind).toBe("version_mismatch");
    expect(seen.filter(({ kind }) => kind === "limit_rule_set")).toEqual([
      {
        ...{ kind: "limit_rule_set", prefix: "a/", limit: 3, version: 1n, reason: "Because." },
        ...{ serversBehind: 0, caller },
      },
    ]);
  });

  test("shows the state after the commit", async () => {
    const { engine, hold, wait } = await start();
    const held = await hold("a", { owner: "me" });
    await wait("a");
    const { nowUs, claims } = await engine.holders(held.lockId);
    expect(claims.map(({ owner }) => owner)).toEqual(["me"]);
    expect(nowUs).toBeGreaterThan(0);
    expect((await engine.view("a")).waiters).toHaveLength(1);
    expect(await engine.place(held)).toBeNull();
  });
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

describe("a capture", () => {
  const anything = { notBefore: undefined, attemptsLeft: undefined, expectedVersion: undefined };
  const remember = (engine: Engine, ...names: string[]) =>
    Promise.all(names.map((name) => engine.ask(asks.updateRecord({ ...anything, name, status: "new" }))));
  const namesOf = (leases: readonly { lockName: string }[]) => leases.map(({ lockName }) => lockName).sort();

  test("takes what is free, and nothing if nothing is free or its caller has left", async () => {
    const { engine, hold } = await start();
    await remember(engine, "task/1", "task/2", "task/3");
    await hold("task/2");
    const gone = { getPeer: () => "a test", signal: AbortSignal.abort() };
    expect((await engine.capture(wanting(), gone)).leases).toEqual([]);
    expect(namesOf((await engine.capture(wanting())).leases)).toEqual(["task/1", "task/3"]);
    expect((await engine.capture(wanting())).leases).toEqual([]);
  });

  test("takes unused names, and gets the same leases when it is repeated", async () => {
    const { engine } = await start();
    const input = wanting({ target: { kind: "names", names: ["x", "y"] }, requestId: "mine" });
    const first = await engine.capture(input);
    expect(namesOf(first.leases)).toEqual(["x", "y"]);
    const again = await engine.capture(input);
    expect(again.isRepeated).toBe(true);
    expect(again.leases.map(({ claim }) => claim.lockId)).toEqual(
      first.leases.map(({ claim }) => claim.lockId),
    );
    expect((await engine.captureWhenFree(input, new AbortController().signal)).isRepeated).toBe(true);
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
      () => engine.setLimitRule("a", 1, undefined, ""),
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

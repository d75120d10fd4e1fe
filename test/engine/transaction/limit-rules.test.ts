// A limit by pattern is changed once, whatever happens to the answer, and grants what it makes room for, whoever holds
// some of the locks.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EngineEvent } from "../../../server/engine/answers.ts";
import {
  changeLimitRule,
  type LimitRulesOptions,
  type RuleChange,
} from "../../../server/engine/transaction/limit-rules.ts";
import type { Attempt } from "../../../server/engine/transaction/transaction.ts";
import { LOCKS_PER_RULE_MAX, StoreError } from "../../../server/storage/store.ts";
import { away, held, lockRow, ScriptedTransactions, turn } from "../../support/scripted-transactions.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const PREFIX = "lock ";
const theirs = (limit: number, version: bigint) => ({
  ...{ prefix: PREFIX, limit, rate: null, queueRules: null, version, reason: "Theirs.", changeMark: 77n },
});

function scene() {
  const store = new ScriptedTransactions();
  const owed: bigint[] = [];
  const granted: bigint[] = [];
  const everywhere: bigint[] = [];
  const retried: string[] = [];
  const fault = { ofReads: null as Error | null, ofServers: null as Error | null };
  let behind = 0;
  const options = {
    policy: { graceUs: 1_000, attachedForUs: 1_000, keptForUs: () => 1_000, queueMax: 10 },
    store: {
      async list({ prefix }: { prefix: string }) {
        const busy = [...store.locks.values()].filter(
          ({ name, holders, waiting }) => name.startsWith(prefix) && holders + waiting > 0,
        );
        return { locks: busy.map((lock) => ({ ...lock, hasRecord: false })), next: null };
      },
      async limitRules() {
        const { ofReads } = fault;
        if (ofReads) throw ofReads;
        return store.limitRules;
      },
    },
    subscribers: {
      wake({ events }: Attempt) {
        for (const { event } of events) if (event.kind === "granted") granted.push(event.claim.lockId);
      },
    },
    advances: { owe: async (lockId: bigint) => void owed.push(lockId) },
    observer: (event: EngineEvent) => void (event.kind === "retried" && retried.push(event.cause)),
    checked: store,
    rulesInForce: {
      async everywhereAfter(revision: bigint) {
        everywhere.push(revision);
        const { ofServers } = fault;
        fault.ofServers = null;
        if (ofServers) throw ofServers;
        return behind;
      },
    },
  };
  /** The test decides how each transaction ends. */
  const begin = async (overrides: Partial<RuleChange> = {}) => {
    const usual = {
      prefix: PREFIX,
      set: { limit: 3 },
      expectedVersion: undefined,
      reason: "Ours.",
      caller: undefined,
    };
    const answer = changeLimitRule({ ...usual, ...overrides }, options as unknown as LimitRulesOptions);
    answer.catch(() => {});
    await turn();
    return { answer };
  };
  return {
    ...{ store, owed, granted, everywhere, retried, fault, begin },
    setBehind(servers: number) {
      behind = servers;
    },
  };
}

describe("a change of a limit for many names", () => {
  test("is one transaction that grants what it makes room for, and is answered when all servers use it", async () => {
    const { store, begin, granted, everywhere, setBehind } = scene();
    store.limitRules = [{ ...theirs(9, 4n), prefix: "other " }, theirs(1, 6n)];
    store.addWaited(1n, { heldPermits: 1 });
    store.addWaited(2n);
    store.locks.set(3n, lockRow(3n, { holders: 1, heldPermits: 1 }));
    setBehind(2);
    const { answer } = await begin();
    expect(store.at(0).plan).toMatchObject({ impatient: true, rule: { prefix: PREFIX, afterLockId: 0n } });
    await store.at(0).commit();
    expect(await answer).toEqual({
      ...{
        kind: "limit_rule",
        limit: 3,
        rate: null,
        queueRules: null,
        version: 7n,
        heldPermits: 4,
        waiting: 0,
        draining: false,
      },
      serversBehind: 2,
    });
    expect(granted).toEqual([1n, 2n]);
    // The change waits for servers that decide by the rules' revision before it, or by an older one.
    expect(everywhere).toEqual([2n]);
    expect(store.limitRules).toMatchObject([
      { prefix: "other ", limit: 9, version: 4n },
      { prefix: PREFIX, limit: 3, version: 7n, reason: "Ours." },
    ]);
    expect(store.begun).toHaveLength(1);
  });

  test.each([
    ["that hold more than it", null, true],
    ["that do not, by limits of their own", 9, false],
  ])("reports whether there are draining locks, beside some %s", async (_, limit, draining) => {
    const { store, begin } = scene();
    store.locks.set(1n, lockRow(1n, { holders: 4, heldPermits: 4, limit }));
    store.locks.set(2n, lockRow(2n, { holders: 3, heldPermits: 3 }));
    store.addWaited(3n, { holders: 1, exclusiveHolders: 1 });
    const { answer } = await begin();
    await store.at(0).commit();
    expect(await answer).toMatchObject({ heldPermits: 8, draining });
  });

  test("goes on with the next transaction if there are more locks than one should decide about", async () => {
    const { store, begin, granted, everywhere } = scene();
    const count = LOCKS_PER_RULE_MAX + 2;
    for (let id = 1n; id <= count; id++) store.addWaited(id);
    const { answer } = await begin();
    await store.at(0).commit();
    expect(granted).toHaveLength(LOCKS_PER_RULE_MAX);
    expect(store.at(1).plan.rule).toEqual({ prefix: PREFIX, afterLockId: BigInt(LOCKS_PER_RULE_MAX) });
    expect(everywhere).toEqual([]);
    await store.at(1).commit();
    expect(await answer).toMatchObject({ version: 1n, waiting: 0 });
    expect(granted).toHaveLength(count);
    expect(store.begun).toHaveLength(2);
  });
});

describe("a change that fails", () => {
  test("after the commit, even in the reads for the answer, has an unknown outcome", async () => {
    for (const where of ["ofReads", "ofServers"] as const) {
      const { store, begin, fault } = scene();
      fault[where] = away();
      const { answer } = await begin();
      const failing = expect(answer).rejects.toMatchObject({ kind: "outcome_unknown" });
      await store.at(0).commit();
      await failing;
    }
  });

  test("transiently while it asks the servers is retried", async () => {
    const { store, begin, fault, everywhere, retried } = scene();
    fault.ofServers = new StoreError("transient", "deadlock", "A test's.");
    const { answer } = await begin();
    await store.at(0).commit();
    await vi.runAllTimersAsync();
    expect(await answer).toMatchObject({ version: 1n });
    expect(everywhere).toHaveLength(2);
    expect(retried).toEqual(["deadlock"]);
  });
});

describe("beside locks that another transaction holds", () => {
  test("further locks are brought up to date alone if they are held, and the rule is not changed again", async () => {
    const { store, begin, owed } = scene();
    for (let id = 1n; id <= LOCKS_PER_RULE_MAX + 1; id++) store.addWaited(id);
    const { answer } = await begin();
    await store.at(0).commit();
    await store.at(1).fail(held());
    expect(await answer).toMatchObject({ version: 1n });
    expect(owed).toEqual([BigInt(LOCKS_PER_RULE_MAX + 1)]);
    expect(store.begun).toHaveLength(2);
  });

  test("an unexpected version is refused all the same, and no lock is brought up to date", async () => {
    const { store, begin, owed } = scene();
    store.addWaited(1n);
    const { answer } = await begin({ expectedVersion: 5n });
    await store.at(0).fail(held());
    await store.at(1).commit();
    expect(await answer).toEqual({ kind: "version_mismatch", version: 0n });
    expect(owed).toEqual([]);
  });

  test("rules that stay held are given up", async () => {
    const { store, begin } = scene();
    const { answer } = await begin();
    await store.at(0).fail(held());
    const failing = expect(answer).rejects.toMatchObject({ kind: "unavailable", outcomeUnknown: false });
    for (let tries = 1; tries <= 7; tries++) {
      await store.at(tries).fail(held());
      await vi.runAllTimersAsync();
    }
    await failing;
    expect(store.begun).toHaveLength(8);
  });
});

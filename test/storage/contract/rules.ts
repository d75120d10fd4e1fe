// Contract: limits by pattern, and the transactions that change one and continue with the locks under it.

import { describe, expect, test } from "vitest";
import { QUEUE_HEAD_MAX } from "../../../server/core/bounds.ts";
import type { LimitRule } from "../../../server/core/limit.ts";
import type { Loaded } from "../../../server/storage/store.ts";
import { LOCKS_PER_RULE_MAX } from "../../../server/storage/store.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import {
  addClaims,
  addClaimsTo,
  BIG,
  load,
  lockId,
  NO_CHANGES,
  planned,
  raised,
  transact,
} from "../../support/store-fixture.ts";

const RATE = { permits: 500, perUs: 60_000_000, burst: 20 };
const LIMIT_FOR_ETL: LimitRule = {
  prefix: "etl/",
  limit: 3,
  rate: null,
  queueRules: null,
  version: 1n,
  reason: "nightly",
  changeMark: 0n,
};

export function contractOfRules(fresh: () => FreshStore): void {
  const write = (rule: LimitRule) =>
    transact(fresh().store, { rule: { prefix: rule.prefix, afterLockId: 0n } }, (loaded) => ({
      ...NO_CHANGES,
      locks: raised(loaded),
      rule,
    }));

  const under = (prefix: string, afterLockId = 0n) => load(fresh().store, { rule: { prefix, afterLockId } });

  describe("limits by pattern", () => {
    test.for<LimitRule>([
      LIMIT_FOR_ETL,
      { prefix: "", limit: 0, rate: null, queueRules: null, version: BIG, reason: "", changeMark: BIG },
      {
        prefix: "taken away",
        limit: null,
        rate: null,
        queueRules: null,
        version: 2n,
        reason: "é".repeat(127),
        changeMark: 1n,
      },
      {
        prefix: `${"🔒".repeat(63)}abc`,
        limit: 1_000_000,
        rate: null,
        queueRules: {
          waitingMax: 1_000_000,
          whenFull: "end_longest_waiting",
          shareBy: null,
          headStartMaxUs: 0,
        },
        version: 3n,
        reason: "r",
        changeMark: 0n,
      },
      { ...LIMIT_FOR_ETL, limit: null, rate: RATE },
      {
        ...LIMIT_FOR_ETL,
        limit: null,
        queueRules: { waitingMax: 1, whenFull: "refuse" as const, shareBy: null, headStartMaxUs: 0 },
      },
      {
        ...LIMIT_FOR_ETL,
        queueRules: {
          waitingMax: null,
          whenFull: "refuse" as const,
          shareBy: `label:${"k/".repeat(31)}`,
          headStartMaxUs: 0,
        },
      },
      { ...LIMIT_FOR_ETL, rate: { permits: 1_000_000, perUs: Number.MAX_SAFE_INTEGER, burst: 1_000_000 } },
    ])("a rule is read as it was written, by everybody: $limit and $rate for $prefix", async (rule) => {
      const { store, other } = fresh();
      await write(rule);
      expect(await store.limitRules()).toEqual([rule]);
      expect((await load(store, {})).limitRules).toEqual([rule]);
      if (other) {
        expect(await other.limitRules()).toEqual([rule]);
        expect((await load(other, {})).limitRules).toEqual([rule]);
      }
    });

    test("have a revision that rises with each change, and that every poll and decision sees", async () => {
      const { store, other } = fresh();
      for (const version of [1n, 2n]) {
        const before = (await load(store, {})).rulesRevision;
        await write({ ...LIMIT_FOR_ETL, version });
        const after = (await load(store, {})).rulesRevision;
        expect(after).toBeGreaterThan(before);
        expect((await store.poll([], 0)).rulesRevision).toBe(after);
        expect((await store.poll([await lockId(store, "etl/a")], 0)).rulesRevision).toBe(after);
        if (other) expect((await load(other, {})).rulesRevision).toBe(after);
      }
    });

    test("are changed in place, and other prefixes are other rules", async () => {
      const { store, other } = fresh();
      const again = {
        ...LIMIT_FOR_ETL,
        limit: null,
        rate: null,
        version: 2n,
        reason: "over",
        changeMark: 0n,
      };
      const others = ["ETL/", "etl", "etl/ "].map((prefix) => ({ ...LIMIT_FOR_ETL, prefix }));
      await write(LIMIT_FOR_ETL);
      // Stores that cache the rules must notice the change below.
      for (const each of [store, other]) if (each) expect((await load(each, {})).limitRules.length).toBe(1);
      await write({ ...LIMIT_FOR_ETL, rate: RATE, version: 2n });
      for (const rule of [again, ...others]) await write(rule);
      for (const each of [store, other]) {
        if (!each) continue;
        const { limitRules } = await load(each, {});
        expect(limitRules.toSorted(byPrefix)).toEqual([again, ...others].toSorted(byPrefix));
      }
    });

    test("leave no trace if their transaction is rolled back", async () => {
      const { store } = fresh();
      const bug = new Error("a bug");
      let round = 0;
      const id = await lockId(store, "etl/a");
      await addClaims(store, id, {});
      const failing = transact(store, { rule: { prefix: "etl/", afterLockId: 0n } }, (loaded) => {
        round += 1;
        if (round === 2) throw bug;
        return { ...NO_CHANGES, locks: raised(loaded), rule: { ...LIMIT_FOR_ETL, limit: 99 }, again: [id] };
      });
      await expect(failing).rejects.toBe(bug);
      expect((await load(store, {})).limitRules).toEqual([]);
      // The next rule may get the same revision that the lost one had.
      await write(LIMIT_FOR_ETL);
      expect((await load(store, {})).limitRules).toEqual([LIMIT_FOR_ETL]);
    });

    test("make their transaction read the locks with waiters under the prefix, as bytes, in ascending order", async () => {
      const { store } = fresh();
      const names = [
        "etl/b",
        "etl/",
        "etl/a/x",
        "etl/é",
        "etl",
        "ETL/a",
        "etl0",
        "a",
        "etl/idle",
        "etl/held",
      ];
      const ids = await store.resolve(names);
      const id = (name: string) => ids.get(name) as bigint;
      for (const name of names) {
        const waits = name !== "etl/idle" && name !== "etl/held";
        await addClaims(store, id(name), { state: "held" }, ...(waits ? [{}, {}] : []));
      }
      const expected = ["etl/b", "etl/", "etl/a/x", "etl/é"].map(id).sort((a, b) => (a < b ? -1 : 1));
      const loaded = await under("etl/");
      expect([...loaded.locks.keys()]).toEqual(expected);
      for (const lock of expected) {
        expect(loaded.queues.get(lock)?.head.map((claim) => claim.ticketNumber)).toEqual([2n, 3n]);
        expect(loaded.queues.get(lock)?.complete).toBe(true);
      }
      expect([...(await under("etl/", expected[1])).locks.keys()]).toEqual(expected.slice(2));
      expect((await under("")).locks.size).toBe(8);
      const rulesOnly = { rule: { prefix: "", afterLockId: 0n, rulesOnly: true } };
      expect((await load(store, rulesOnly)).locks.size).toBe(0);
    });

    test("make their transaction read what is due there", async () => {
      const { store } = fresh();
      const id = await lockId(store, "etl/a");
      const [due] = await addClaims(store, id, { state: "held", dueInUs: -1 }, {});
      expect((await under("etl/")).claims).toEqual([due]);
    });

    test("let the rest of their transaction see the new rule, and more of the queue", async () => {
      const { store } = fresh();
      const id = await lockId(store, "etl/a");
      await addClaims(store, id, ...Array.from({ length: QUEUE_HEAD_MAX + 10 }, () => ({})));
      const rounds: Loaded[] = [];
      await transact(store, { rule: { prefix: "etl/", afterLockId: 0n } }, (loaded) => {
        rounds.push(structuredClone(loaded));
        const changes = { ...NO_CHANGES, locks: raised(loaded) };
        return rounds.length === 1 ? { ...changes, rule: LIMIT_FOR_ETL, again: [id] } : changes;
      });
      expect(rounds.map((round) => round.limitRules)).toEqual([[], [LIMIT_FOR_ETL]]);
      expect(rounds[0]?.queues.get(id)?.head.length).toBeGreaterThan(0);
      expect(rounds[1]?.queues.get(id)?.head.length).toBe(QUEUE_HEAD_MAX);
    });

    test("leave locks beyond one transaction's bound to the next ones", async () => {
      const { store } = fresh();
      const names = Array.from({ length: LOCKS_PER_RULE_MAX + 1 }, (_, i) => `etl/${i}`);
      const ids = [...(await store.resolve(names)).values()].sort((a, b) => (a < b ? -1 : 1));
      await addClaimsTo(store, ids, {});
      const first = [...(await under("etl/")).locks.keys()];
      expect(first).toEqual(ids.slice(0, LOCKS_PER_RULE_MAX));
      const second = [...(await under("etl/", first.at(-1))).locks.keys()];
      expect(second).toEqual(ids.slice(LOCKS_PER_RULE_MAX));
    });

    test("change one after the other, and other transactions see either", async () => {
      const { store, other } = fresh();
      const id = await lockId(store, "etl/a");
      await addClaims(store, id, {});
      const raise = (from: typeof store) =>
        transact(from, { rule: { prefix: "etl/", afterLockId: 0n } }, (loaded) => {
          const now = loaded.limitRules.find((rule) => rule.prefix === "etl/");
          const rule = { ...LIMIT_FOR_ETL, version: (now?.version ?? 0n) + 1n };
          return { ...NO_CHANGES, locks: raised(loaded), rule };
        });
      const versions: bigint[] = [];
      const look = async (from: typeof store) => {
        const { limitRules } = await load(from, { locks: planned(id) });
        versions.push(limitRules[0]?.version ?? 0n);
      };
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => {
          const from = other && i % 2 ? other : store;
          return Promise.all([raise(from), look(from)]);
        }),
      );
      expect(await store.limitRules()).toEqual([{ ...LIMIT_FOR_ETL, version: 20n }]);
      expect(versions.every((version) => version >= 0n && version <= 20n)).toBe(true);
    });
  });
}

function byPrefix(a: LimitRule, b: LimitRule): number {
  return a.prefix < b.prefix ? -1 : 1;
}

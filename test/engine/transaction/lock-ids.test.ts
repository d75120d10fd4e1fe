// From names to ids while the database is slow or away: the number of waiting names is bounded, and they are answered
// soon.

import { describe, expect, test } from "vitest";
import { LOCK_IDS_MAX, RESOLVE_NAMES_MAX, RESOLVE_QUEUED_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { LockIds } from "../../../server/engine/transaction/lock-ids.ts";
import { NewNames } from "../../../server/engine/transaction/new-names.ts";
import { turn } from "../../support/scripted-transactions.ts";

const away = () => new Fault("unavailable", "unreachable", "It is away.", { retryAfterMs: 1_000 });
const names = (count: number) => Array.from({ length: count }, (_, index) => `name ${index}`);

describe("the ids of locks", () => {
  test("are refused to all who ask once the database is known to be away", async () => {
    let looks = 0;
    const ids = new LockIds({
      resolve: async () => {
        looks += 1;
        throw away();
      },
    });
    const asked = await Promise.allSettled(names(3 * RESOLVE_NAMES_MAX).map((name) => ids.get(name)));
    expect(asked.every((each) => each.status === "rejected" && each.reason instanceof Fault)).toBe(true);
    expect(looks).toBe(1);
    // A later call makes it look again.
    await expect(ids.get("later")).rejects.toThrow(Fault);
    expect(looks).toBe(2);
  });

  test("of one part of names do not fail for a bug that another part met", async () => {
    const ids = new LockIds({
      resolve: async (part) => {
        if (part.includes("name 0")) throw new Error("A bug.");
        return new Map(part.map((name) => [name, 1n]));
      },
    });
    const asked = await Promise.allSettled(names(RESOLVE_NAMES_MAX + 1).map((name) => ids.get(name)));
    expect(asked.filter((each) => each.status === "fulfilled")).toHaveLength(1);
  });

  test("are refused early when too many new names wait", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ids = new LockIds({
      resolve: async (part) => {
        await promise;
        return new Map(part.map((name) => [name, 1n]));
      },
    });
    const asked = names(RESOLVE_QUEUED_MAX).map((name) => ids.get(name));
    expect(() => ids.get("one too many")).toThrow(Fault);
    resolve();
    await Promise.all(asked);
    expect(await ids.get("one too many")).toBe(1n);
  });

  test("of new names are refused beyond the bound a second, and those of names that exist are not", async () => {
    let nowMs = 0;
    const rows = new Map([["old", 1n]]);
    const ids = new LockIds({
      newNames: new NewNames(1, () => nowMs),
      resolve: async (part, roomFor) => {
        const missing = part.filter((name) => !rows.has(name));
        for (const name of missing.slice(0, roomFor(missing.length))) rows.set(name, BigInt(rows.size + 1));
        return new Map(part.flatMap((name) => (rows.has(name) ? [[name, rows.get(name) as bigint]] : [])));
      },
    });
    const asked = await Promise.allSettled([...names(12), "old"].map((name) => ids.get(name)));
    expect(asked.map(({ status }) => status)).toEqual([
      ...Array(10).fill("fulfilled"),
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    await expect(ids.get("name 11")).rejects.toMatchObject({
      kind: "overloaded",
      reason: "names_created",
      message: "This server creates at most 1 new names of locks a second.",
    });
    nowMs = 1_000;
    expect(await ids.get("name 11")).toBe(12n);
    await expect(ids.get("name 10")).rejects.toThrow(Fault);
  });

  /** A database that answers when the test says so. */
  function scene() {
    const looked: { part: readonly string[]; answer: (found?: readonly string[]) => Promise<void> }[] = [];
    const ids = new LockIds({
      resolve(part) {
        const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, bigint>>();
        const answer = async (found = part) => {
          resolve(new Map(found.map((name) => [name, BigInt(name.length)])));
          await turn();
        };
        looked.push({ part, answer });
        return promise;
      },
    });
    return { ids, looked, parts: () => looked.map(({ part }) => part) };
  }

  test("that are asked for in one turn are looked up together, each name once", async () => {
    const { ids, looked, parts } = scene();
    const asked = [ids.get("a"), ids.get("bb"), ids.get("a")];
    expect(parts()).toEqual([]);
    await turn();
    expect(parts()).toEqual([["a", "bb"]]);
    await looked[0]?.answer();
    expect(await Promise.all(asked)).toEqual([1n, 2n, 1n]);
  });

  test("that are asked for during a look-up go with the next one, so many at a time", async () => {
    const { ids, looked, parts } = scene();
    void ids.get("a");
    await turn();
    const asked = names(RESOLVE_NAMES_MAX + 1).map((name) => ids.get(name));
    await turn();
    expect(parts()).toHaveLength(1);
    await looked[0]?.answer();
    expect(parts()[1]).toEqual(names(RESOLVE_NAMES_MAX));
    await looked[1]?.answer();
    expect(parts()[2]).toHaveLength(1);
    await looked[2]?.answer();
    expect(await asked.at(-1)).toBe(BigInt(`name ${RESOLVE_NAMES_MAX}`.length));
  });

  test("are known from then on, at once, until they are forgotten", async () => {
    const { ids, looked } = scene();
    expect(ids.known("a")).toBeUndefined();
    const first = ids.get("a");
    await turn();
    await looked[0]?.answer();
    await first;
    expect(ids.get("a")).toBe(1n);
    expect(ids.known("a")).toBe(1n);
    ids.forget("a");
    expect(ids.known("a")).toBeUndefined();
    const again = ids.get("a");
    await turn();
    expect(looked).toHaveLength(2);
    await looked[1]?.answer();
    expect(await again).toBe(1n);
  });

  test("that were used last are kept where there are too many to remember", async () => {
    const all = names(LOCK_IDS_MAX);
    const ids = new LockIds({ resolve: async (part) => new Map(part.map((name) => [name, 1n])) });
    for (let from = 0; from < all.length; from += RESOLVE_QUEUED_MAX)
      await Promise.all(all.slice(from, from + RESOLVE_QUEUED_MAX).map((name) => ids.get(name)));
    expect(ids.get("name 0")).toBe(1n);
    await ids.get("one more");
    expect(ids.known("name 0")).toBe(1n);
    expect(ids.known("name 1")).toBeUndefined();
  });

  test("are not waited for for ever where a look-up leaves one out", async () => {
    const { ids, looked } = scene();
    const asked = Promise.allSettled([ids.get("a"), ids.get("left out")]);
    await turn();
    await looked[0]?.answer(["a"]);
    expect((await asked).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    const again = ids.get("left out");
    await turn();
    await looked[1]?.answer();
    expect(await again).toBe(8n);
  });

  test("that are refused as too many say what is full, and when to try again", async () => {
    const { ids } = scene();
    for (const name of names(RESOLVE_QUEUED_MAX)) void ids.get(name);
    expect(() => ids.get("one too many")).toThrow(
      expect.objectContaining({ kind: "overloaded", reason: "names_queued", retryAfterMs: 250 }),
    );
    // A caller that asks for a name already being looked up waits with the others.
    expect(ids.get("name 0")).toBeInstanceOf(Promise);
  });
});

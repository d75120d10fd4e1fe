// From names to ids while the database is slow or away: the number of waiting names is bounded, and they are answered
// soon.

import { afterEach, describe, expect, test, vi } from "vitest";
import type { Caller } from "../../../server/core/command.ts";
import {
  LOCKS_REMEMBERED_MAX,
  RESOLVE_NAMES_MAX,
  RESOLVE_QUEUED_MAX,
} from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { LockIds } from "../../../server/engine/transaction/lock-ids.ts";
import { Locks } from "../../../server/engine/transaction/locks.ts";
import type { Store } from "../../../server/storage/store.ts";
import { away, turn } from "../../support/scripted-transactions.ts";

/** As a command finds it. */
const idOf = (ids: LockIds & { readonly locks: Locks }, name: string, caller?: Caller) =>
  ids.locks.named(name)?.id ?? ids.lookUp(name, caller);

/** Ids that are looked up by `resolve`; `failures`: of look-ups. */
function idsBy(resolve: Store["resolve"], namesPerSecond?: number) {
  const failures: unknown[] = [];
  const health = { failed: (error: unknown) => void failures.push(error) };
  const locks = new Locks();
  const ids = new LockIds({
    locks,
    store: { resolve },
    health,
    observer: () => {},
    namesPerSecond,
  });
  return Object.assign(ids, { failures, locks });
}
const names = (count: number) => Array.from({ length: count }, (_, index) => `name ${index}`);

afterEach(() => void vi.useRealTimers());

describe("the ids of locks", () => {
  test("are refused to all callers once the database is known to be away", async () => {
    let looks = 0;
    const ids = idsBy(async () => {
      looks += 1;
      throw away();
    });
    const asked = await Promise.allSettled(names(3 * RESOLVE_NAMES_MAX).map((name) => idOf(ids, name)));
    expect(asked.every((each) => each.status === "rejected" && each.reason instanceof Fault)).toBe(true);
    expect(looks).toBe(1);
    // A later call makes it look again.
    await expect(idOf(ids, "later")).rejects.toThrow(Fault);
    expect(looks).toBe(2);
    expect(ids.failures).toMatchObject([{ kind: "unavailable" }, { kind: "unavailable" }]);
  });

  test("of one part of names do not fail with a bug of another part", async () => {
    const ids = idsBy(async (part) => {
      if (part.includes("name 0")) throw new Error("A bug.");
      return new Map(part.map((name) => [name, 1n]));
    });
    const asked = await Promise.allSettled(names(RESOLVE_NAMES_MAX + 1).map((name) => idOf(ids, name)));
    expect(asked.filter((each) => each.status === "fulfilled")).toHaveLength(1);
  });

  test("of a new name are refused only to callers that may make none, if another one asks meanwhile", async () => {
    const ids = idsBy(async (part, mayMake) => new Map(mayMake?.(part).map((name) => [name, 1n])));
    const by = (may: boolean): Caller => ({ getPeer: () => "", mayMakeName: () => may });
    const alone = idOf(ids, "x", by(false));
    await expect(alone).rejects.toThrow("no more new names");
    const asked = await Promise.all([idOf(ids, "x", by(false)), idOf(ids, "x", by(true))]);
    expect(asked).toEqual([1n, 1n]);
  });

  test("of new names are refused beyond the bound a second, and those of existing names are not", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const rows = new Map([["old", 1n]]);
    const resolve: Store["resolve"] = async (part, mayMake) => {
      const missing = part.filter((name) => !rows.has(name));
      for (const name of mayMake?.(missing) ?? missing) rows.set(name, BigInt(rows.size + 1));
      return new Map(part.flatMap((name) => (rows.has(name) ? [[name, rows.get(name) as bigint]] : [])));
    };
    const ids = idsBy(resolve, 1);
    const found = async (wanted: readonly string[], by = ids) => {
      const asked = await Promise.allSettled(wanted.map((name) => idOf(by, name)));
      return wanted.filter((_, index) => asked[index]?.status === "fulfilled");
    };
    expect(await found([...names(12), "old"])).toEqual([...names(10), "old"]);
    await expect(idOf(ids, "name 11")).rejects.toMatchObject({
      kind: "overloaded",
      reason: "names_created",
      message: "This server creates at most 1 new names of locks a second.",
    });
    vi.advanceTimersByTime(999);
    await expect(idOf(ids, "name 11")).rejects.toThrow(Fault);
    vi.advanceTimersByTime(1);
    expect(await idOf(ids, "name 11")).toBe(12n);
    await expect(idOf(ids, "name 10")).rejects.toThrow(Fault);
    // What is not used is kept for ten seconds.
    vi.advanceTimersByTime(3_600_000);
    expect(await found(names(23).slice(12))).toHaveLength(10);
    const unbounded = names(200).slice(100);
    expect(await found(unbounded, idsBy(resolve))).toEqual(unbounded);
  });

  /** A database that answers when the test says so. */
  function scene() {
    const looked: { part: readonly string[]; answer: (found?: readonly string[]) => Promise<void> }[] = [];
    const ids = idsBy((part) => {
      const { promise, resolve } = Promise.withResolvers<Map<string, bigint>>();
      const answer = async (found = part) => {
        resolve(new Map(found.map((name) => [name, BigInt(name.length)])));
        await turn();
      };
      looked.push({ part, answer });
      return promise;
    });
    return { ids, looked, parts: () => looked.map(({ part }) => part) };
  }

  test("that are requested during a read wait for the next one, up to a bound", async () => {
    const { ids, looked, parts } = scene();
    void idOf(ids, "a");
    await turn();
    const asked = names(RESOLVE_NAMES_MAX + 1).map((name) => idOf(ids, name));
    await turn();
    expect(parts()).toHaveLength(1);
    await looked[0]?.answer();
    expect(parts()[1]).toEqual(names(RESOLVE_NAMES_MAX));
    await looked[1]?.answer();
    expect(parts()[2]).toHaveLength(1);
    await looked[2]?.answer();
    expect(await asked.at(-1)).toBe(BigInt(`name ${RESOLVE_NAMES_MAX}`.length));
  });

  test("that were used last are kept if there are too many to remember", async () => {
    const all = names(LOCKS_REMEMBERED_MAX);
    let last = 0n;
    const ids = idsBy(async (part) => new Map(part.map((name) => [name, ++last])));
    for (let from = 0; from < all.length; from += RESOLVE_QUEUED_MAX)
      await Promise.all(all.slice(from, from + RESOLVE_QUEUED_MAX).map((name) => idOf(ids, name)));
    expect(idOf(ids, "name 0")).toBe(1n);
    await idOf(ids, "one more");
    expect(ids.locks.named("name 0")?.id).toBe(1n);
    expect(ids.locks.named("name 1")).toBeUndefined();
  });

  test("are not awaited for ever if a read leaves one out", async () => {
    const { ids, looked } = scene();
    const asked = Promise.allSettled([idOf(ids, "a"), idOf(ids, "left out")]);
    await turn();
    await looked[0]?.answer(["a"]);
    expect((await asked).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    const again = idOf(ids, "left out");
    await turn();
    await looked[1]?.answer();
    expect(await again).toBe(8n);
  });

  test("that are refused as too many come with the bound, and when to try again", async () => {
    const { ids } = scene();
    for (const name of names(RESOLVE_QUEUED_MAX)) void idOf(ids, name);
    expect(() => idOf(ids, "one too many")).toThrow(
      expect.objectContaining({ kind: "overloaded", reason: "names_queued", retryAfterMs: 250 }),
    );
    // A caller that asks for a name already being looked up waits with the others.
    expect(idOf(ids, "name 0")).toBeInstanceOf(Promise);
  });
});

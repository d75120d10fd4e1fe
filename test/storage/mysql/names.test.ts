// Guard rows by name: each is looked up and created once, whatever arrives twice, and none is deleted that may still be
// needed.

import { describe, expect, test } from "vitest";
import { NAME_BYTES_MAX } from "../../../server/core/bounds.ts";
import { names } from "../../../server/storage/mysql/names.ts";
import { NAMES_MAX } from "../../../server/storage/storage-bounds.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";

/** A database of names, which creates those that it is asked to, except those in `vanish`. */
function scene(known: Record<string, number> = {}, vanish: readonly string[] = []) {
  const ids = new Map(Object.entries(known));
  const quoted = (sql: string) => [...sql.matchAll(/'([^']*)'/g)].map(([, name = ""]) => name);
  const scripted = new ScriptedPool((sql) => {
    if (sql.startsWith("SELECT id, name"))
      return quoted(sql).flatMap((name) => (ids.has(name) ? [[`${ids.get(name)}`, Buffer.from(name)]] : []));
    if (!sql.startsWith("INSERT IGNORE")) return undefined;
    for (const name of quoted(sql)) if (!vanish.includes(name)) ids.set(name, 100 + ids.size);
    return written(1);
  });
  return { scripted, ids, quoted, ...names(scripted.pool) };
}

describe("names", () => {
  test("are found by one read for each part, and each is requested once", async () => {
    const { scripted, find } = scene({ a: 1, b: 2 });
    expect(await find(["a", "b", "a", "c"])).toEqual(
      new Map([
        ["a", 1n],
        ["b", 2n],
      ]),
    );
    expect(scripted.sql).toEqual(["SELECT id, name FROM rowlock_lock WHERE name IN ('a', 'b', 'c')"]);
    scripted.trips.length = 0;
    await find(Array.from({ length: NAMES_MAX + 1 }, (_, index) => `name ${index}`));
    expect(scripted.names).toEqual(["find", "find"]);
  });

  test("that all exist need no write", async () => {
    const { scripted, resolve } = scene({ a: 1 });
    expect(await resolve(["a", "a"])).toEqual(new Map([["a", 1n]]));
    expect(scripted.writes).toBe(0);
  });

  test("that are missing are created once each, in the order of their bytes", async () => {
    const { scripted, quoted, resolve } = scene({ b: 1 });
    const ids = await resolve(["é", "z", "b", "a", "z"]);
    expect([...ids.keys()].sort()).toEqual(["a", "b", "z", "é"]);
    const made = scripted.sql.filter((sql) => sql.startsWith("INSERT"));
    expect(made.map(quoted)).toEqual([["a", "z", "é"]]);
  });

  test("that are deleted during their creation are worth another try", async () => {
    const { resolve } = scene({}, ["a"]);
    await expect(resolve(["a", "b"])).rejects.toMatchObject({ kind: "transient", reason: "names_vanish" });
  });

  test("that are too long are a bug, and not cut off", async () => {
    const { scripted, resolve } = scene();
    await expect(resolve(["é".repeat(NAME_BYTES_MAX / 2 + 1)])).rejects.toThrow("bytes");
    expect(scripted.writes).toBe(0);
    const longest = "x".repeat(NAME_BYTES_MAX);
    expect((await resolve([longest])).has(longest)).toBe(true);
  });
});

describe("idle guard rows", () => {
  /**
   * Rows found without locking (id, whether idle), which of them are then locked, and which are still idle, with their
   * tokens.
   */
  function purging(
    old: readonly (readonly [id: string, isIdle: number])[],
    locked: readonly string[] = [],
    stillIdle: readonly (readonly [id: string, highest: string])[] = [],
  ) {
    const scripted = new ScriptedPool((sql) => {
      if (sql.startsWith("SELECT l.id, l.decided_at"))
        return old.map(([id, isIdle]) => [id, "40", isIdle, "1000"]);
      if (sql.startsWith("SELECT id FROM rowlock_lock")) return locked.map((id) => [id]);
      if (sql.startsWith("SELECT l.id, GREATEST")) return stillIdle;
      return sql.startsWith("DELETE") ? written(stillIdle.length) : undefined;
    });
    return { scripted, ...names(scripted.pool) };
  }

  test("are absent: nothing is locked", async () => {
    const { scripted, purgeLocks } = purging([["1", 0]]);
    expect(await purgeLocks(100, 10)).toBe(0);
    expect(scripted.names).toEqual(["idle_locks"]);
    expect(scripted.writes).toBe(0);
  });

  test("are deleted if still idle and not locked, after the floor has risen to their highest number", async () => {
    const { scripted, purgeLocks } = purging(
      [
        ["1", 1],
        ["2", 0],
        ["3", 1],
        ["4", 1],
        ["5", 1],
      ],
      ["1", "3", "5"],
      [
        ["1", "7"],
        ["3", "12"],
        ["4", "99"],
        ["5", "9"],
      ],
    );
    await purgeLocks(100, 10);
    const [begin, , guards, still] = scripted.trips[1]?.sql ?? [];
    expect(begin).toBe("START TRANSACTION");
    expect(guards).toContain("id IN (1, 3, 4, 5)");
    // A row that was decided about since it was found is not idle.
    expect(still).toContain("l.decided_at < 900");
    // Nor is one with a holder, with a waiter, or with a claim that has ended lately.
    for (const condition of ["l.holder_state = 0", "FROM rowlock_claim", "FROM rowlock_history"])
      expect(still).toContain(condition);
    const [raise, remove, commit] = scripted.trips[2]?.sql ?? [];
    expect(raise).toContain("GREATEST(token_floor, 12)");
    expect(remove).toContain("IN (1, 3, 5)");
    expect(commit).toBe("COMMIT");
    expect(scripted.connection.inTransaction).toBe(false);
  });

  test("that were all taken meanwhile stay, and the transaction ends", async () => {
    const { scripted, purgeLocks } = purging([["1", 1]], ["1"], []);
    expect(await purgeLocks(100, 10)).toBe(0);
    expect(scripted.trips.at(-1)?.sql).toEqual(["COMMIT"]);
  });

  test("that are locked are skipped, if the database can", async () => {
    for (const skipsLocked of [true, false]) {
      const { scripted, purgeLocks } = purging([["1", 1]], ["1"], [["1", "7"]]);
      scripted.connection.skipsLocked = skipsLocked;
      expect(await purgeLocks(100, 10)).toBe(1);
      expect(scripted.trips[1]?.sql[2]?.endsWith("SKIP LOCKED")).toBe(skipsLocked);
    }
  });
});

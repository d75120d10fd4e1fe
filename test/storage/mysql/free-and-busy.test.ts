// Reading free locks and busy locks in parts: the next part reads what a part leaves out, and nothing appears twice.

import { describe, expect, test } from "vitest";
import type { DatabaseClock } from "../../../server/core/database-clock.ts";
import { busyLocks } from "../../../server/storage/mysql/busy-locks.ts";
import type { Row } from "../../../server/storage/mysql/connection/connection.ts";
import { decided } from "../../../server/storage/mysql/decided.ts";
import { freeLocks } from "../../../server/storage/mysql/free-locks.ts";
import { NEVER_DUE_US } from "../../../server/storage/rows/columns.ts";
import {
  BRANCHES_MAX,
  BUSY_LOCKS_PAGE,
  NAMES_MAX,
  PAUSED_PATTERNS_MAX,
} from "../../../server/storage/storage-bounds.ts";
import {
  type BusyLock,
  FIRST_FREE,
  type FreePosition,
  type FreeSelector,
  type PausedNames,
  type RecordGroup,
} from "../../../server/storage/store.ts";
import { ScriptedPool } from "./scripted-pool.ts";
import { guardRow, LOCK } from "./transaction/lock-fixture.ts";

const bytes = (text: string) => Buffer.from(text);

describe("free locks", () => {
  const F = { folder: "f/", status: "new" };
  const G = { folder: "g/", status: "new" };
  const under = (prefix: string, paused: readonly PausedNames[] = []) =>
    ({ kind: "prefix", prefix, statuses: [], paused }) as const;
  const ALL = under("");
  const among = (names: readonly string[]) => ({ kind: "names", names, statuses: [] }) as const;
  /** From the first of these groups on. */
  const of = (...groups: RecordGroup[]): FreePosition => ({
    ...FIRST_FREE,
    groups: { groups, isLast: true },
  });
  /** Of a range: its number, then a lock's id (null: the last entry examined), name, time and limit. */
  const found = (
    range: number,
    id: string | null,
    name: string,
    freeSinceUs: number,
    limit: number | null = null,
  ): Row => [range, ...[id, bytes(name), freeSinceUs, limit]];

  function scene(
    rows: readonly Row[] | ((sql: string) => readonly Row[]),
    clock: Partial<Record<"earliestUs" | "latestUs", number | null>> = {},
  ) {
    const answer = typeof rows === "function" ? rows : () => rows;
    const scripted = new ScriptedPool((sql) => (sql.startsWith("SELECT CAST") ? [["500"]] : answer(sql)));
    const { earliestUs = null, latestUs = null } = clock;
    const told = { earliestUs: () => earliestUs, latestUs: () => latestUs } as unknown as DatabaseClock;
    return { scripted, ...freeLocks(scripted.pool, told) };
  }

  test("of several groups are in one order, and go on where the first full range ended", async () => {
    const { freeLocks } = scene([
      found(1, "3", "g/a", 5),
      found(0, "1", "f/a", 10),
      found(1, "4", "g/b", 20, 7),
      found(0, "2", "f/b", 30),
      found(0, "5", "f/c", 40),
    ]);
    const { locks, next } = await freeLocks(ALL, of(F, G), 3);
    // The first group may have more behind its third lock, and nothing else lies before that.
    expect(next).toMatchObject({ behind: null, after: { name: "f/c", freeSinceUs: 40 } });
    expect(locks).toEqual([
      { id: 3n, name: "g/a", freeSinceUs: 5, limit: null },
      { id: 1n, name: "f/a", freeSinceUs: 10, limit: null },
      { id: 4n, name: "g/b", freeSinceUs: 20, limit: 7 },
      { id: 2n, name: "f/b", freeSinceUs: 30, limit: null },
      { id: 5n, name: "f/c", freeSinceUs: 40, limit: null },
    ]);
  });

  test("are complete if no range is full", async () => {
    const { freeLocks } = scene([found(0, "1", "f/a", 10), found(0, "2", "f/b", 30)]);
    expect((await freeLocks(ALL, of(F), 3)).next).toBeNull();
  });

  test("that do not match make the search go on behind the last entry read, matching or not", async () => {
    const { scripted, freeLocks } = scene([found(0, "1", "f/a", 10), found(0, null, "f/z", 90)]);
    const wanted = under("f/a", [{ prefix: "f/b", except: ["f/bc"] }]);
    const { locks, next } = await freeLocks(wanted, of(F), 3);
    expect(locks.map(({ id }) => id)).toEqual([1n]);
    expect(next?.after).toEqual({ name: "f/z", freeSinceUs: 90 });
    const [sql = ""] = scripted.sql;
    expect(sql).toContain("(r.name >= 'f/a' AND r.name < 'f/b')");
    expect(sql).toContain(
      "(l.limit_value IS NOT NULL OR NOT ((r.name >= 'f/b' AND r.name < 'f/c') AND NOT (r.name >= 'f/bc' AND r.name < 'f/bd')))",
    );
    expect(sql).toContain("LIMIT 1 OFFSET 2");
  });

  test("after a place are searched among those due with it and those due later", async () => {
    const { scripted, freeLocks } = scene([]);
    await freeLocks(ALL, { ...of(F), after: { name: "f/m", freeSinceUs: 40 } }, 3);
    expect(scripted.sql[0]).toContain("r.due_at = 40 AND r.name > 'f/m'");
    expect(scripted.sql[0]).toContain("r.due_at > 40 AND");
    scripted.trips.length = 0;
    await freeLocks(ALL, of(F), 3);
    // Includes locks that are due at 0.
    expect(scripted.sql[0]).toContain("r.due_at > -1 AND");
    expect(scripted.sql[0]).not.toContain("r.due_at =");
  });

  test("of no group take no statement, and of very many take several", async () => {
    const { scripted, freeLocks } = scene([]);
    expect(await freeLocks(ALL, of(), 3)).toMatchObject({ locks: [], next: null, nextInUs: null });
    expect(scripted.trips).toEqual([]);
    const groups = Array.from({ length: BRANCHES_MAX + 1 }, (_, folder) => ({
      folder: `${folder}/`,
      status: "",
    }));
    await freeLocks(ALL, of(...groups), 3);
    expect(scripted.trips.map(({ name, sql }) => [name, sql.length])).toEqual([
      ["free_locks", 2],
      ["next_due", 2],
    ]);
  });

  test("are searched past a bounded number of patterns that pause names", async () => {
    const { scripted, freeLocks } = scene([]);
    const paused = Array.from({ length: PAUSED_PATTERNS_MAX + 1 }, (_, pattern) => ({
      prefix: `f/${pattern}`,
      except: [],
    }));
    await freeLocks(under("f/", paused), of(F), 3);
    expect(scripted.sql[0]?.match(/limit_value IS NOT NULL/g)).toHaveLength(PAUSED_PATTERNS_MAX);
  });

  test("are free next in the rest of the first's time, less what the clock may have advanced meanwhile", async () => {
    const nextInUs = async (
      rows: readonly Row[],
      clock?: { earliestUs: number | null; latestUs: number | null },
    ) => {
      const { scripted, freeLocks } = scene((sql) => (sql.includes("LIMIT 1)") ? rows : []), clock);
      return { inUs: (await freeLocks(ALL, of(F, G), 3)).nextInUs, sql: scripted.sql.at(-1) };
    };
    expect((await nextInUs([])).inUs).toBeNull();
    const { inUs, sql } = await nextInUs([["90"], ["40"]]);
    expect(inUs).toBe(40);
    expect(sql).toContain("r.folder = 'f/' AND r.status = 'new'");
    expect(sql).toContain("r.folder = 'g/' AND r.status = 'new'");
    expect((await nextInUs([["90"], ["40"]], { earliestUs: 100, latestUs: 115 })).inUs).toBe(25);
    expect((await nextInUs([["40"]], { earliestUs: 100, latestUs: 150 })).inUs).toBe(0);
    for (const unknown of [
      { earliestUs: null, latestUs: 115 },
      { earliestUs: 100, latestUs: null },
    ])
      expect((await nextInUs([["40"]], unknown)).inUs).toBe(40);
  });

  test("by name are free now if they have no record and no claims, or when their record says so", async () => {
    const named = (
      name: string,
      busy: readonly [holders: number, waiting: number],
      record: readonly [number | null, string] | null,
    ): Row => [
      ...["1", bytes(name), null, ...busy],
      ...(record ? [1, record[0], bytes(record[1])] : [0, null, null]),
    ];
    const rows = [
      named("idle", [0, 0], null),
      named("held", [1, 0], null),
      named("waited for", [0, 1], null),
      named("held and waited for", [1, 1], null),
      named("soon", [0, 0], [70, "new"]),
      named("later", [0, 0], [700, "new"]),
      named("never", [0, 0], [null, "done"]),
    ];
    const { scripted, freeLocks } = scene(rows);
    const { locks, nextInUs } = await freeLocks(among(rows.map((row) => String(row[1]))), FIRST_FREE, 1);
    expect(locks.map(({ name }) => name)).toEqual(["idle", "soon"]);
    // The clock is at 500.
    expect(nextInUs).toBe(200);
    scripted.trips.length = 0;
    await freeLocks(among(Array.from({ length: NAMES_MAX + 1 }, (_, name) => `${name}`)), FIRST_FREE, 1);
    expect(scripted.sql).toHaveLength(3);
  });

  test("by name use the latest time that the clock may show", async () => {
    const later: Row[] = [["1", bytes("a"), null, 0, 0, 1, 700, bytes("")]];
    const nextInUs = async (latestUs: number) =>
      (await scene(later, { latestUs }).freeLocks(among(["a"]), FIRST_FREE, 1)).nextInUs;
    expect([await nextInUs(600), await nextInUs(400)]).toEqual([100, 200]);
  });
});

describe("groups of locks with records", () => {
  const GROUPS = ["a/:new", "t/:", "t/:done", "t/:new", "t/a/:new", "t/b/:done", "t/b/:new", "u/:new"].map(
    (each) => {
      const [folder = "", status = ""] = each.split(":");
      return { folder, status };
    },
  );
  const inOrder = (a: string, b: string) => Buffer.compare(bytes(a), bytes(b));

  /** The index of records, with one entry in each group. */
  function index() {
    const scripted = new ScriptedPool((sql) => {
      if (!sql.startsWith("(SELECT r.folder")) return [];
      const max = Number(/LIMIT (\d+)/.exec(sql)?.[1]);
      const value = (part: RegExp) => part.exec(sql)?.[1];
      const [own, aboveStatus] = [value(/r\.folder = '([^']*)'/), value(/r\.status > '([^']*)'/)];
      const [from, above] = [value(/r\.folder >= '([^']*)'/), value(/r\.folder > '([^']*)'/)];
      const below = value(/r\.folder < '([^']*)'/);
      return GROUPS.filter(({ folder, status }) => {
        if (own !== undefined) return folder === own && (aboveStatus === undefined || status > aboveStatus);
        const isFrom = from === undefined ? inOrder(folder, above ?? "") > 0 : inOrder(folder, from) >= 0;
        return isFrom && inOrder(folder, below ?? "") < 0;
      })
        .slice(0, max)
        .map(({ folder, status }) => [bytes(folder), bytes(status)]);
    });
    return freeLocks(scripted.pool, {
      earliestUs: () => null,
      latestUs: () => null,
    } as unknown as DatabaseClock);
  }
  const groupsIn = async (prefix: string, behind: RecordGroup | null = null) => {
    const selector: FreeSelector = { kind: "prefix", prefix, statuses: [], paused: [] };
    const { at } = await index().freeLocks(selector, { behind, after: null }, 1);
    return (at.groups?.groups ?? []).map(({ folder, status }) => `${folder}:${status}`);
  };

  test("are those of the folder of a prefix, and of all folders that begin with it", async () => {
    expect(await groupsIn("t/")).toEqual(["t/:", "t/:done", "t/:new", "t/a/:new", "t/b/:done", "t/b/:new"]);
    expect(await groupsIn("t/b")).toEqual(["t/:", "t/:done", "t/:new", "t/b/:done", "t/b/:new"]);
    expect(await groupsIn("t/b/x")).toEqual(["t/b/:done", "t/b/:new"]);
    expect(await groupsIn("v/")).toEqual([]);
  });

  test("go on behind a group", async () => {
    expect(await groupsIn("t/", { folder: "t/", status: "done" })).toEqual([
      "t/:new",
      "t/a/:new",
      "t/b/:done",
      "t/b/:new",
    ]);
    expect(await groupsIn("t/", { folder: "t/b/", status: "new" })).toEqual([]);
  });
});

describe("busy locks", () => {
  /** The rows of each page of the index; and which locks have become free since they got their bounds. */
  async function census(pages: readonly (readonly Row[])[], free: readonly string[] = []) {
    const left = [...pages];
    const scripted = new ScriptedPool((sql) => {
      if (sql.startsWith("SELECT l.next_deadline")) return left.shift() ?? [];
      const ids = /l\.id IN \(([^)]*)\)/
        .exec(sql)?.[1]
        ?.split(", ")
        .filter((id) => !free.includes(id));
      return ids?.map((id) => [
        ...(guardRow({ ...LOCK, id: BigInt(id), name: `lock ${id}` }) as unknown as Row),
        "77",
      ]);
    });
    const parts: (readonly BusyLock[])[] = [];
    await busyLocks(scripted.pool).busyLocks((locks) => void parts.push(locks));
    const pagesRead = scripted.sql.filter((sql) => sql.startsWith("SELECT l.next_deadline"));
    return { scripted, parts, pagesRead, ids: parts.flat().map(({ lock }) => Number(lock.id)) };
  }
  /** A full page of locks with ids from this one on. */
  const full = (from: number, deadline: string) =>
    Array.from({ length: BUSY_LOCKS_PAGE }, (_, at): Row => [deadline, `${from + at}`]);

  test("are each seen once, with the time since which the oldest waiter waits, on one snapshot", async () => {
    const { scripted, ids, parts, pagesRead } = await census([
      [
        ["70", "4"],
        ["90", "2"],
        [`${NEVER_DUE_US}`, "3"],
      ],
    ]);
    expect(ids).toEqual([4, 2, 3]);
    expect(parts[0]?.[0]).toMatchObject({ lock: { name: "lock 4" }, oldestWaiterSinceUs: 77 });
    expect(pagesRead).toHaveLength(1);
    expect([scripted.names[0], scripted.names.at(-1)]).toEqual(["begin_snapshot", "end_snapshot"]);
  });

  test("are only those that have holders or waiters, of all that have a bound", async () => {
    const { ids, scripted } = await census(
      [
        [
          ["70", "4"],
          ["70", "5"],
        ],
      ],
      ["4"],
    );
    expect(ids).toEqual([5]);
    expect(scripted.sql.find((sql) => sql.includes("IN (4, 5)"))).toMatch(
      /AND \(l\.holders > 0 OR l\.waiting > 0\)$/,
    );
  });

  test("are none: no lock is read", async () => {
    const { parts, pagesRead } = await census([]);
    expect(parts).toEqual([]);
    expect(pagesRead).toHaveLength(1);
  });

  test("go on behind the last lock of a full page", async () => {
    const { ids, parts, pagesRead } = await census([full(1, "60"), full(5_000, "60"), [["61", "1000"]]]);
    expect(ids).toHaveLength(2 * BUSY_LOCKS_PAGE + 1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(parts.map((part) => part.length)).toEqual([BUSY_LOCKS_PAGE, BUSY_LOCKS_PAGE, 1]);
    const behind = (deadline: number, id: number) =>
      `l.next_deadline >= ${deadline} AND (l.next_deadline > ${deadline} OR l.id > ${id}) ` +
      `ORDER BY l.next_deadline, l.id LIMIT ${BUSY_LOCKS_PAGE}`;
    expect(pagesRead.map((sql) => sql.split(" WHERE ")[1])).toEqual([
      behind(0, 0),
      behind(60, BUSY_LOCKS_PAGE),
      behind(60, 4_999 + BUSY_LOCKS_PAGE),
    ]);
  });

  test("go on behind a full page of locks that are all free", async () => {
    const all = full(1, "60");
    const { ids } = await census(
      [all, [["61", "1000"]]],
      all.map(([, id]) => `${id}`),
    );
    expect(ids).toEqual([1_000]);
  });
});

describe("recent decisions", () => {
  const ROWS: Row[] = [
    ["4", bytes("b"), "3", 1, 0, "90"],
    ["2", bytes("a"), "9", 0, 2, "80"],
  ];
  const scene = (meta: readonly Row[] = [["1000", "5"]]) =>
    new ScriptedPool((sql) => {
      if (sql.endsWith("FROM rowlock_meta WHERE id = 1")) return meta;
      return sql.startsWith("(SELECT") ? ROWS : undefined;
    });
  const from = { atUs: 70, afterLockId: 3n };

  test("come in order of time, with rowlock_meta as of the same moment", async () => {
    const scripted = scene();
    expect(await decided(scripted.pool).decidedSince(from, null, 2)).toEqual({
      nowUs: 1_000,
      epoch: 5n,
      locks: [
        { id: 2n, name: "a", revision: 9n, holders: 0, waiting: 2 },
        { id: 4n, name: "b", revision: 3n, holders: 1, waiting: 0 },
      ],
      next: { atUs: 90, afterLockId: 4n },
    });
    expect(scripted.sql[1]).toContain("decided_at = 70 AND id > 3");
    expect(scripted.sql[1]).toMatch(/COALESCE\(null,/i);
    await decided(scripted.pool).decidedSince(from, 85, 2);
    expect(scripted.sql[3]).toContain("COALESCE(85,");
  });

  test("are read from a lagging node after it has caught up, which delays no later decision", async () => {
    const scripted = scene();
    scripted.connection.mayLag = true;
    await decided(scripted.pool).decidedSince(from, null, 2);
    const order = scripted.sql.map((sql) => sql.split(" ").slice(0, 2).join(" "));
    expect(order).toEqual([
      "SET SESSION",
      "SELECT CAST(UNIX_TIMESTAMP(NOW(6))",
      "SET SESSION",
      "(SELECT id,",
    ]);
    expect(scripted.destroyed).toEqual([]);
  });

  test("that could not be read leave no connection that waits for its node", async () => {
    for (const mayLag of [true, false]) {
      const scripted = scene();
      scripted.connection.mayLag = mayLag;
      const failure = new Error("away");
      scripted.failures.set("decided_since", [failure]);
      await expect(decided(scripted.pool).decidedSince(from, null, 2)).rejects.toBe(failure);
      expect(scripted.destroyed).toEqual(mayLag ? [failure] : []);
    }
  });

  test("are unknown if the row of rowlock_meta is missing", async () => {
    await expect(decided(scene([]).pool).decidedSince(from, null, 2)).rejects.toThrow("rowlock_meta");
  });
});

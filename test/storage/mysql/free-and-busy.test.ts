// Reading free locks and busy locks in parts: the next part reads what a part leaves out, and nothing appears twice.

import { describe, expect, test } from "vitest";
import type { DatabaseClock } from "../../../server/core/database-clock.ts";
import { busyLocks } from "../../../server/storage/mysql/busy-locks.ts";
import type { Row } from "../../../server/storage/mysql/connection/session.ts";
import { decided } from "../../../server/storage/mysql/decided.ts";
import { freeLocks } from "../../../server/storage/mysql/free-locks.ts";
import { lockValues } from "../../../server/storage/rows/values.ts";
import {
  BRANCHES_MAX,
  BUSY_CLAIMS_PAGE,
  BUSY_LOCKS_PAGE,
  NAMES_MAX,
  PAUSED_PATTERNS_MAX,
} from "../../../server/storage/storage-bounds.ts";
import type { BusyLock } from "../../../server/storage/store.ts";
import { ScriptedPool } from "./scripted-pool.ts";
import { LOCK } from "./transaction/lock-fixture.ts";

const bytes = (text: string) => Buffer.from(text);

describe("free locks", () => {
  const F = { folder: "f/", status: "new" };
  const G = { folder: "g/", status: "new" };
  const ALL = { prefix: "", paused: [] };
  /** Of a range: its number, then a lock's id (null: the last entry examined), name, time and limit. */
  const found = (
    range: number,
    id: string | null,
    name: string,
    dueAtUs: number,
    limit: number | null = null,
  ): Row => [range, ...[id, bytes(name), dueAtUs, limit]];

  function scene(
    rows: readonly Row[],
    clock: Partial<Record<"earliestUs" | "latestUs", number | null>> = {},
  ) {
    const scripted = new ScriptedPool((sql) => (sql.startsWith("SELECT CAST") ? [["500"]] : rows));
    const { earliestUs = null, latestUs = null } = clock;
    const told = { earliestUs: () => earliestUs, latestUs: () => latestUs } as unknown as DatabaseClock;
    return { scripted, ...freeLocks(scripted.pool, told) };
  }

  test("of several groups come in one order, and go on where the first full range ended", async () => {
    const { freeLocks } = scene([
      found(1, "3", "g/a", 5),
      found(0, "1", "f/a", 10),
      found(1, "4", "g/b", 20, 7),
      found(0, "2", "f/b", 30),
      found(0, "5", "f/c", 40),
    ]);
    const { locks, next } = await freeLocks([F, G], null, ALL, 3);
    // The first group may have more behind its third lock, and nothing else lies before that.
    expect(next).toMatchObject({ name: "f/c", dueAtUs: 40 });
    expect(locks).toEqual([
      { id: 3n, name: "g/a", dueAtUs: 5, limit: null },
      { id: 1n, name: "f/a", dueAtUs: 10, limit: null },
      { id: 4n, name: "g/b", dueAtUs: 20, limit: 7 },
      { id: 2n, name: "f/b", dueAtUs: 30, limit: null },
      { id: 5n, name: "f/c", dueAtUs: 40, limit: null },
    ]);
  });

  test("are all there are where no range is full", async () => {
    const { freeLocks } = scene([found(0, "1", "f/a", 10), found(0, "2", "f/b", 30)]);
    expect((await freeLocks([F], null, ALL, 3)).next).toBeNull();
  });

  test("some of which are not wanted go on behind the last entry that was looked at, wanted or not", async () => {
    const { scripted, freeLocks } = scene([found(0, "1", "f/a", 10), found(0, null, "f/z", 90)]);
    const wanted = { prefix: "f/a", paused: [{ prefix: "f/b", except: ["f/bc"] }] };
    const { locks, next } = await freeLocks([F], null, wanted, 3);
    expect(locks.map(({ id }) => id)).toEqual([1n]);
    expect(next).toMatchObject({ name: "f/z", dueAtUs: 90 });
    const [sql = ""] = scripted.sql;
    expect(sql).toContain("(r.name >= 'f/a' AND r.name < 'f/b')");
    expect(sql).toContain(
      "(l.limit_value IS NOT NULL OR NOT ((r.name >= 'f/b' AND r.name < 'f/c') AND NOT (r.name >= 'f/bc' AND r.name < 'f/bd')))",
    );
    expect(sql).toContain("LIMIT 1 OFFSET 2");
  });

  test("after a place are looked for in what is due with it and what is due later", async () => {
    const { scripted, freeLocks } = scene([]);
    await freeLocks([F], { name: "f/m", dueAtUs: 40 }, ALL, 3);
    expect(scripted.sql[0]).toContain("r.due_at = 40 AND r.name > 'f/m'");
    expect(scripted.sql[0]).toContain("r.due_at > 40 AND");
    scripted.trips.length = 0;
    await freeLocks([F], null, ALL, 3);
    // Includes locks that are due at 0.
    expect(scripted.sql[0]).toContain("r.due_at > -1 AND");
    expect(scripted.sql[0]).not.toContain("r.due_at =");
  });

  test("of no group and of very many take no statement and several", async () => {
    const { scripted, freeLocks } = scene([]);
    expect(await freeLocks([], null, ALL, 3)).toEqual({ locks: [], next: null });
    expect(scripted.trips).toEqual([]);
    const groups = Array.from({ length: BRANCHES_MAX + 1 }, (_, folder) => ({
      folder: `${folder}/`,
      status: "",
    }));
    await freeLocks(groups, null, ALL, 3);
    expect(scripted.sql).toHaveLength(2);
  });

  test("are looked for past so many patterns that pause names, and no more", async () => {
    const { scripted, freeLocks } = scene([]);
    const paused = Array.from({ length: PAUSED_PATTERNS_MAX + 1 }, (_, pattern) => ({
      prefix: `f/${pattern}`,
      except: [],
    }));
    await freeLocks([F], null, { prefix: "f/", paused }, 3);
    expect(scripted.sql[0]?.match(/limit_value IS NOT NULL/g)).toHaveLength(PAUSED_PATTERNS_MAX);
  });

  test("are due next in what is left of the first, less what the clock may have gone on meanwhile", async () => {
    const inUs = async (
      rows: readonly Row[],
      clock?: { earliestUs: number | null; latestUs: number | null },
    ) => scene(rows, clock).nextDueIn([F, G]);
    expect(await inUs([])).toBeNull();
    expect(await inUs([["90"], ["40"]])).toBe(40);
    const { scripted, nextDueIn } = scene([["40"]]);
    await nextDueIn([F, G]);
    expect(scripted.sql[0]).toContain("r.folder = 'f/' AND r.status = 'new'");
    expect(scripted.sql[0]).toContain("r.folder = 'g/' AND r.status = 'new'");
    expect(await inUs([["90"], ["40"]], { earliestUs: 100, latestUs: 115 })).toBe(25);
    expect(await inUs([["40"]], { earliestUs: 100, latestUs: 150 })).toBe(0);
    for (const unknown of [
      { earliestUs: null, latestUs: 115 },
      { earliestUs: 100, latestUs: null },
    ])
      expect(await inUs([["40"]], unknown)).toBe(40);
  });

  test("by name are free now where they have no record and nobody has them, and with one when it says so", async () => {
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
      named("later", [0, 0], [70, "new"]),
      named("never", [0, 0], [null, "done"]),
    ];
    const { scripted, namedLocks } = scene(rows);
    const { nowUs, locks } = await namedLocks(["any"]);
    expect(nowUs).toBe(500);
    expect(locks.map(({ name, dueAtUs, status }) => [name, dueAtUs, status])).toEqual([
      ["idle", 0, ""],
      ["held", null, ""],
      ["waited for", null, ""],
      ["held and waited for", null, ""],
      ["later", 70, "new"],
      ["never", null, "done"],
    ]);
    scripted.trips.length = 0;
    await namedLocks(Array.from({ length: NAMES_MAX + 1 }, (_, name) => `${name}`));
    expect(scripted.sql).toHaveLength(3);
  });

  test("by name are as of the latest that the clock may be", async () => {
    expect(await scene([], { latestUs: 600 }).namedLocks(["a"])).toEqual({ nowUs: 600, locks: [] });
    expect(await scene([], { latestUs: 400 }).namedLocks(["a"])).toEqual({ nowUs: 500, locks: [] });
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
    return freeLocks(scripted.pool, {} as DatabaseClock);
  }
  const names = (groups: readonly { folder: string; status: string }[]) =>
    groups.map(({ folder, status }) => `${folder}:${status}`);

  test("are those of the folder that a prefix lies in, and of all folders that begin with it", async () => {
    const { recordGroups } = index();
    const all = async (prefix: string) => names((await recordGroups(prefix, null, 100)).groups);
    expect(await all("t/")).toEqual(["t/:", "t/:done", "t/:new", "t/a/:new", "t/b/:done", "t/b/:new"]);
    expect(await all("t/b")).toEqual(["t/:", "t/:done", "t/:new", "t/b/:done", "t/b/:new"]);
    expect(await all("t/b/x")).toEqual(["t/b/:done", "t/b/:new"]);
    expect(await all("v/")).toEqual([]);
  });

  test("come a few at a time, each once, and the last part says so", async () => {
    const { recordGroups } = index();
    const seen: string[] = [];
    let after: (typeof GROUPS)[number] | null = null;
    for (let part = 1; part < 10; part++) {
      const found: Awaited<ReturnType<typeof recordGroups>> = await recordGroups("t/", after, 2);
      seen.push(...names(found.groups));
      after = found.groups.at(-1) ?? after;
      if (found.isLast) break;
    }
    expect(seen).toEqual(["t/:", "t/:done", "t/:new", "t/a/:new", "t/b/:done", "t/b/:new"]);
  });
});

describe("busy locks", () => {
  /** Claims in the order of the index that is used; the test supplies each page. */
  async function census(pages: readonly (readonly Row[])[]) {
    const left = [...pages];
    const scripted = new ScriptedPool((sql) => {
      if (sql.startsWith("SELECT lock_id, ticket_number")) return left.shift() ?? [];
      const ids = /l\.id IN \(([^)]*)\)/.exec(sql)?.[1]?.split(", ");
      return ids?.map((id) => [id, bytes(`lock ${id}`), ...(lockValues(LOCK) as unknown as Row), "77"]);
    });
    const parts: (readonly BusyLock[])[] = [];
    await busyLocks(scripted.pool).busyLocks((locks) => void parts.push(locks));
    const claims = scripted.sql.filter((sql) => sql.startsWith("SELECT lock_id"));
    return { scripted, parts, claims, ids: parts.flat().map(({ lock }) => Number(lock.id)) };
  }

  test("are each seen once, however many claims there are at it, on one snapshot", async () => {
    const { scripted, ids, parts, claims } = await census([
      [
        ["1", "1", null],
        ["1", "2", null],
        ["2", "1", null],
      ],
      [
        ["2", "5", "90"],
        ["3", "1", "95"],
      ],
    ]);
    expect(ids).toEqual([1, 2, 3]);
    expect(parts[0]?.[0]).toMatchObject({ lock: { name: "lock 1" }, oldestWaiterSinceUs: 77 });
    // Held and waiting claims, each with and without a deadline.
    expect(claims).toHaveLength(4);
    expect([scripted.names[0], scripted.names.at(-1)]).toEqual(["begin_snapshot", "end_snapshot"]);
  });

  test("go on behind the last claim of a page that is full", async () => {
    const full = (deadline: string | null) =>
      Array.from({ length: BUSY_CLAIMS_PAGE }, (_, claim): Row => [`${claim + 1}`, "4", deadline]);
    const { ids, parts, claims } = await census([full(null), [["9000", "1", null]], full("60"), []]);
    expect(ids).toHaveLength(BUSY_CLAIMS_PAGE + 1);
    expect(Math.max(...parts.map((part) => part.length))).toBe(BUSY_LOCKS_PAGE);
    expect(claims).toHaveLength(6);
    expect(claims[1]).toContain(
      `lock_id >= ${BUSY_CLAIMS_PAGE} AND (lock_id > ${BUSY_CLAIMS_PAGE} OR ticket_number > 4)`,
    );
    expect(claims[3]).toContain(`deadline >= 60 AND (deadline > 60 OR lock_id > ${BUSY_CLAIMS_PAGE} OR`);
  });
});

describe("what was decided lately", () => {
  const ROWS: Row[] = [
    ["4", bytes("b"), "3", 1, 0, "90"],
    ["2", bytes("a"), "9", 0, 2, "80"],
  ];
  const scene = (facts: readonly Row[] = [["1000", "5", "6"]]) =>
    new ScriptedPool((sql) => {
      if (sql.endsWith("FROM rowlock_meta WHERE id = 1")) return facts;
      return sql.startsWith("(SELECT") ? ROWS : undefined;
    });
  const from = { atUs: 70, afterLockId: 3n };

  test("comes in order of time, with the facts of the same moment", async () => {
    const scripted = scene();
    expect(await decided(scripted.pool).decidedSince(from, null, 2)).toEqual({
      nowUs: 1_000,
      epoch: 5n,
      rulesRevision: 6n,
      locks: [
        { id: 2n, name: "a", revision: 9n, holders: 0, waiting: 2 },
        { id: 4n, name: "b", revision: 3n, holders: 1, waiting: 0 },
      ],
      next: { atUs: 90, afterLockId: 4n },
    });
    expect(scripted.sql[1]).toContain("decided_at = 70 AND id > 3");
    expect(scripted.sql[1]).toContain(`LEAST(${2n ** 63n - 1n},`);
    await decided(scripted.pool).decidedSince(from, 85, 2);
    expect(scripted.sql[3]).toContain("LEAST(85,");
  });

  test("is read by a node that lags when it has caught up, and no decision waits for that after it", async () => {
    const scripted = scene();
    scripted.session.mayLag = true;
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

  test("that could not be read leaves no connection that waits for its node to catch up", async () => {
    for (const mayLag of [true, false]) {
      const scripted = scene();
      scripted.session.mayLag = mayLag;
      const failure = new Error("away");
      scripted.failures.set("decided_since", [failure]);
      await expect(decided(scripted.pool).decidedSince(from, null, 2)).rejects.toBe(failure);
      expect(scripted.destroyed).toEqual(mayLag ? [failure] : []);
    }
  });

  test("is not known where the row of facts is missing", async () => {
    await expect(decided(scene([]).pool).decidedSince(from, null, 2)).rejects.toThrow("rowlock_meta");
  });
});

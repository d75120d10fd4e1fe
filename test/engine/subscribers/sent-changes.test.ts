// What watches of locks report after their snapshots, whoever changed a lock, and how little is read for that.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Lock } from "../../../server/core/lock.ts";
import { OWN_NAMES_PREFIX } from "../../../server/core/lock.ts";
import type {
  LocksQuery,
  LockWatch,
  ViewedLock,
  WatchEvent,
  WatchUpdate,
} from "../../../server/engine/answers.ts";
import {
  KNOWN_CHECKED_MS,
  WATCH_CLAIMS_MAX,
  WATCH_GONE_MAX,
  WATCH_LOCKS_MAX,
} from "../../../server/engine/engine-bounds.ts";
import { LockWatches } from "../../../server/engine/subscribers/lock-watches.ts";
import type { WaitedLock } from "../../../server/storage/store.ts";

type Row = Pick<Lock, "id" | "name" | "revision" | "holders" | "waiting">;

// Only the pace of the checks is on a fake clock. It has no jitter, so that one check begins in each interval.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const turn = () => new Promise(setImmediate);
const settled = async () => {
  for (let turns = 0; turns < 10; turns++) await turn();
};

/** Lets the next check of known locks begin, and end. */
async function check(): Promise<void> {
  await vi.advanceTimersByTimeAsync(1.1 * KNOWN_CHECKED_MS);
  await settled();
}

/** Watches over rows that the test changes. */
function scene() {
  const rows = new Map<string, Row>();
  const events: WatchEvent[] = [];
  const reads: (readonly WaitedLock[])[] = [];
  const feed = { begin: vi.fn(async () => {}), end: vi.fn() };
  const claimsOf = (row: Row) => ({
    holders: Array.from({ length: row.holders }),
    waiters: Array.from({ length: row.waiting }),
  });
  const viewOf = (row: Row) => ({ lock: { ...row }, ...claimsOf(row) }) as unknown as ViewedLock;
  const watches = new LockWatches({
    store: {
      poll: async (ids) => {
        const there = [...rows.values()].filter(({ id }) => ids.includes(id));
        const revisions = new Map(there.map(({ id, revision }) => [id, revision]));
        return { revisions, due: [], dueSoon: new Map(), rulesRevision: 1n };
      },
    },
    feed,
    views: {
      async *views({ prefix, afterName, max }: LocksQuery) {
        const names = [...rows.keys()].filter((name) => name.startsWith(prefix)).sort();
        const from = names.filter((name) => afterName === null || name > afterName).slice(0, max);
        for (const name of from) yield viewOf(rows.get(name) as Row);
      },
      async *viewsOf(locks) {
        reads.push(locks);
        const ids = new Set(locks.map(({ id }) => id));
        for (const row of rows.values()) if (ids.has(row.id)) yield viewOf(row);
      },
    },
    observer: (event) => void events.push(event),
    onFailure() {},
  });
  let ids = 0n;
  /** Creates or changes the lock without announcing it. */
  const write = (name: string, claims: Partial<Pick<Row, "holders" | "waiting">> = {}): Row => {
    const before = rows.get(name);
    const row = {
      id: before?.id ?? ++ids,
      name,
      revision: (before?.revision ?? 0n) + 1n,
      holders: 0,
      waiting: 0,
      ...claims,
    };
    rows.set(name, row);
    return row;
  };
  const commit = (...written: Row[]) => {
    for (const row of written) watches.decided(row);
  };
  return { watches, rows, events, reads, feed, write, commit };
}

/** Closed after each test. */
const opened: LockWatch[] = [];
afterEach(() => {
  for (const watch of opened.splice(0)) watch.close(new Error("gone"));
});

/** A watch, or several, with whole snapshots. */
async function open(watches: LockWatches, ...prefixes: string[]): Promise<LockWatch[]> {
  const all = prefixes.map((prefix) => watches.open(prefix));
  opened.push(...all);
  for (const watch of all) await snapshotOf(watch);
  return all;
}
const openAll = async (watches: LockWatches) => (await open(watches, ""))[0] as LockWatch;

/** The names of a whole snapshot, in pages. */
async function snapshotOf(watch: LockWatch): Promise<string[][]> {
  const pages: string[][] = [];
  for (;;) {
    const update = await watch.next();
    pages.push(update.locks.map(({ lock }) => lock.name));
    if (update.complete) return pages;
  }
}

/** Reads the watch's next update; null while there is none. */
class Reader {
  told: WatchUpdate | null = null;
  readonly next: Promise<WatchUpdate>;

  constructor(watch: LockWatch) {
    this.next = watch.next();
    this.next.then(
      (update) => {
        this.told = update;
      },
      () => {},
    );
  }

  async names(): Promise<string[]> {
    return (await this.next).locks.map(({ lock }) => lock.name);
  }
}

describe("a watch sends", () => {
  test("none of the server's own locks, whatever its prefix", async () => {
    const { watches, write, commit, reads } = scene();
    const watch = await openAll(watches);
    const reader = new Reader(watch);
    commit(write(`${OWN_NAMES_PREFIX}1`));
    await settled();
    expect([reader.told, reads]).toEqual([null, []]);
  });

  test("what is under its prefix, with one read for two overlapping watches", async () => {
    const { watches, write, commit, reads } = scene();
    const readers = (await open(watches, "", "a/", "b/")).map((watch) => new Reader(watch));
    commit(write("a/1"));
    expect(await readers[0]?.names()).toEqual(["a/1"]);
    expect(await readers[1]?.names()).toEqual(["a/1"]);
    expect(readers[2]?.told).toBeNull();
    expect(reads).toHaveLength(1);
  });
});

describe("a round of sends", () => {
  test("reads a bounded number of locks, sends a bounded number of deleted names, and goes on with the rest", async () => {
    const { watches, write, reads } = scene();
    const watch = await openAll(watches);
    const count = WATCH_LOCKS_MAX + 1;
    for (let index = 0; index < count; index++) watches.decided(write(`${index}`));
    expect(await new Reader(watch).names()).toHaveLength(WATCH_LOCKS_MAX);
    expect(await new Reader(watch).names()).toHaveLength(1);
    expect(reads.map((locks) => locks.length)).toEqual([WATCH_LOCKS_MAX, 1]);
  });

  test("ends when it has as many claims as it may read", async () => {
    const { watches, write, reads } = scene();
    const watch = await openAll(watches);
    for (const name of ["a", "b", "c"])
      watches.decided(write(name, { holders: WATCH_CLAIMS_MAX / 4, waiting: WATCH_CLAIMS_MAX / 4 }));
    await new Reader(watch).next;
    await new Reader(watch).next;
    expect(reads.map((locks) => locks.length)).toEqual([2, 1]);
  });

  test("sends a bounded number of deleted names, and the others in the next one", async () => {
    const { watches, rows, write } = scene();
    const count = WATCH_GONE_MAX + 1;
    for (let index = 0; index < count; index++) write(`${index}`);
    const watch = await openAll(watches);
    rows.clear();
    await check();
    expect((await new Reader(watch).next).deleted).toHaveLength(WATCH_GONE_MAX);
    expect((await new Reader(watch).next).deleted).toHaveLength(1);
  });
});

test("a page of a snapshot has a bounded number of locks, and fewer if they have many claims", async () => {
  const { watches, write } = scene();
  const name = (index: number) => `${1_000 + index}`;
  for (let index = 0; index <= WATCH_LOCKS_MAX; index++) write(name(index));
  expect((await snapshotOf(watches.open(""))).map((names) => names.length)).toEqual([WATCH_LOCKS_MAX, 1]);
  const crowd = { holders: WATCH_CLAIMS_MAX / 2, waiting: WATCH_CLAIMS_MAX / 2 };
  for (const index of [0, 2]) write(name(index), crowd);
  expect((await snapshotOf(watches.open(""))).map((names) => names.length)).toEqual([
    1,
    2,
    WATCH_LOCKS_MAX - 2,
  ]);
});

test("what is sent is counted", async () => {
  const { watches, rows, write, events } = scene();
  for (const name of ["a", "b"]) write(name);
  const watch = await openAll(watches);
  rows.delete("a");
  await check();
  await watch.next();
  expect(events.filter(({ kind }) => kind === "watch_sent")).toEqual([
    { kind: "watch_sent", locks: 2, deleted: 0 },
    { kind: "watch_sent", locks: 0, deleted: 1 },
  ]);
});

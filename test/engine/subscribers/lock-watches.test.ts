// If there are too many watches or watched locks, the client with the most of them is refused. Nothing is kept of
// closed watches.

import { beforeEach, describe, expect, test, vi } from "vitest";
import type { LocksQuery, LockWatch, ViewedLock } from "../../../server/engine/answers.ts";
import { WATCHED_LOCKS_MAX, WATCHES_MAX } from "../../../server/engine/engine-bounds.ts";
import { LockWatches } from "../../../server/engine/subscribers/lock-watches.ts";

// A smaller bound than the real one, which takes seconds to reach.
vi.mock("../../../server/engine/engine-bounds.ts", async (original) => ({
  ...(await original<typeof import("../../../server/engine/engine-bounds.ts")>()),
  WATCHED_LOCKS_MAX: 2_000,
}));

/** How many locks there are under each prefix. */
let sizes: Map<string, number>;
let begun: number;
let watches: LockWatches;
let begin: () => Promise<void>;

beforeEach(() => {
  begin = async () => {
    begun = 1;
  };
  sizes = new Map();
  begun = 0;
  watches = new LockWatches({
    store: {
      // Checks of known locks find them unchanged.
      poll: async (ids) => ({
        ...{ due: [], dueSoon: new Map(), rulesRevision: 1n },
        revisions: new Map(ids.map((id) => [id, 1n])),
      }),
    },
    feed: {
      begin: () => begin(),
      end: () => {
        begun = 0;
      },
    },
    views: { views: locksUnder, viewsOf: () => expect.unreachable() },
    observer: () => {},
    onFailure: (_loop, error) => expect.unreachable(String(error)),
  });
});

/** Whether the caller of the last page has lost interest in it. */
let isPageOver: (() => boolean) | undefined;

async function* locksUnder(
  { prefix, afterName, max }: LocksQuery,
  _caller: unknown,
  isOver?: () => boolean,
): AsyncGenerator<ViewedLock> {
  isPageOver = isOver;
  const from = afterName === null ? 0 : Number(afterName.slice(prefix.length)) + 1;
  const to = Math.min(from + max, sizes.get(prefix) ?? 0);
  for (let index = from; index < to; index++) yield viewOf(`${prefix}${index}`);
}

const ids = new Map<string, bigint>();
function viewOf(name: string): ViewedLock {
  const id = ids.get(name) ?? BigInt(ids.size + 1);
  ids.set(name, id);
  const lock = { id, name, revision: 1n, holders: 0, waiting: 0 };
  return { lock, holders: [], waiters: [] } as unknown as ViewedLock;
}

/** The number of locks in a snapshot, or the failure that ends the watch. */
async function snapshotOf(watch: LockWatch): Promise<number | string> {
  let locks = 0;
  try {
    for (;;) {
      const update = await watch.next();
      locks += update.locks.length;
      if (update.complete) return locks;
    }
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

const by = (owner: unknown) => ({ getPeer: () => String(owner) });

/** Opens a watch of this many locks. */
function watching(prefix: string, locks: number, owner: unknown): LockWatch {
  sizes.set(prefix, locks);
  return watches.open(prefix, by(owner));
}

const endOf = (watch: LockWatch) =>
  watch.next().then(
    () => expect.unreachable(),
    (error: { reason: string }) => error.reason,
  );

describe("if too many locks are watched", () => {
  test("the client that watches most is refused, and not the last one", async () => {
    const large = watching("large/", WATCHED_LOCKS_MAX - 4, "greedy");
    expect(await snapshotOf(large)).toBe(WATCHED_LOCKS_MAX - 4);
    const small = watching("small/", 4, "polite");
    expect(await snapshotOf(small)).toBe(4);
    // The bound is reached: one more lock exceeds it.
    const one = watching("one/", 1, "another");
    expect(await snapshotOf(one)).toBe(1);
    expect(await endOf(large)).toBe("watched_locks");
    expect(await snapshotOf(watching("more/", 1_000, "polite"))).toBe(1_000);
  });

  test("the client that watches most is refused, even if it is the last one", async () => {
    const small = watching("small/", 5, "polite");
    expect(await snapshotOf(small)).toBe(5);
    expect(await snapshotOf(watching("large/", WATCHED_LOCKS_MAX, "greedy"))).toBe("watched_locks");
    // The refused watch's locks are forgotten.
    expect(await snapshotOf(watching("other/", WATCHED_LOCKS_MAX - 5, "another"))).toBe(
      WATCHED_LOCKS_MAX - 5,
    );
  });

  test("the watches of one client count together", async () => {
    const parts = ["a/", "b/", "c/"].map((prefix) => watching(prefix, WATCHED_LOCKS_MAX / 5, "greedy"));
    for (const part of parts) await snapshotOf(part);
    const single = watching("single/", (2 * WATCHED_LOCKS_MAX) / 5, "polite");
    expect(await snapshotOf(single)).toBe((2 * WATCHED_LOCKS_MAX) / 5);
    const last = watching("last/", 1, "another");
    expect(await snapshotOf(last)).toBe(1);
    expect(await Promise.race(parts.map(endOf))).toBe("watched_locks");
  });
});

describe("if there are too many watches", () => {
  const many = (owner: (index: number) => unknown) =>
    Array.from({ length: WATCHES_MAX }, (_, index) => watching(`${index}/`, 0, owner(index)));

  test("the client with the most loses one to a client without any, and gets no more", async () => {
    const greedy = many(() => "greedy");
    expect(() => watches.open("x/", by("greedy"))).toThrow(expect.objectContaining({ reason: "watches" }));
    const polite = watching("polite/", 3, "polite");
    expect(await snapshotOf(polite)).toBe(3);
    expect(await Promise.race(greedy.slice(-1).map(endOf))).toBe("watches");
    expect(() => watches.open("x/", by("greedy"))).toThrow(expect.objectContaining({ reason: "watches" }));
  });

  test("and each client has one, the last one is refused", () => {
    many((index) => index);
    expect(() => watches.open("x/", by("late"))).toThrow(expect.objectContaining({ reason: "watches" }));
  });
});

test("a watch that is closed during the read of its page reads no more", async () => {
  const watch = watching("large/", 1_000, "one");
  await watch.next();
  expect(isPageOver?.()).toBe(false);
  watch.close(new Error("gone"));
  expect(isPageOver?.()).toBe(true);
});

test("nothing is kept of closed watches", async () => {
  const watch = watching("large/", WATCHED_LOCKS_MAX, "one");
  expect(await snapshotOf(watch)).toBe(WATCHED_LOCKS_MAX);
  expect(begun).toBe(1);
  watch.close(new Error("gone"));
  watch.close(new Error("gone"));
  expect(begun).toBe(0);
  expect(watches.bounds[1]?.used).toBe(0);
  // Beside another watch, which knows some of the same locks.
  const [all, some] = [watching("", 0, "one"), watching("s/", 10, "two")];
  await snapshotOf(all);
  await snapshotOf(some);
  some.close(new Error("gone"));
  expect(watches.bounds[1]?.used).toBe(10);
  all.close(new Error("gone"));
  expect(watches.bounds[1]?.used).toBe(0);
});

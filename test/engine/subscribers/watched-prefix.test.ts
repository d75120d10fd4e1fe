// A single watch: what it reports, and in which order, whatever arrives while nothing reads it.

import { describe, expect, test } from "vitest";
import type { ViewedLock, WatchEvent } from "../../../server/engine/answers.ts";
import { WATCH_PENDING_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import {
  type SnapshotPage,
  WatchedPrefix,
  type WatchSource,
} from "../../../server/engine/subscribers/watched-prefix.ts";

const away = () => new Fault("unavailable", "gone", "away", { retryAfterMs: 1 });
const row = (name: string, revision = 1n, id = 1n) => ({ id, name, revision, holders: 0, waiting: 0 });
const view = (name: string, revision = 1n, id = 1n) => ({ lock: row(name, revision, id) }) as ViewedLock;
const page = (next: string | null, ...names: string[]): SnapshotPage => ({
  locks: names.map((name) => view(name)),
  next,
});

/** A source whose pages the test supplies, one for each request. */
function scene(...pages: (SnapshotPage | Error | Promise<SnapshotPage>)[]) {
  const told: WatchEvent[] = [];
  let behind = 0;
  const source: WatchSource = {
    async page() {
      const next = await pages.shift();
      if (!next || next instanceof Error) throw next ?? new Error("no more pages were expected");
      return next;
    },
    sendSoon() {},
    again: async (error) => {
      if (!(error instanceof Fault)) throw error;
    },
    report(event) {
      if (event.kind === "watch_began_anew") behind += 1;
      else told.push(event);
    },
    closed() {},
  };
  const watch = new WatchedPrefix("", source);
  return { watch, told, behind: () => behind };
}

describe("a watch", () => {
  test.each([
    ["what was read only if it has not changed since", row("a", 5n), view("a", 4n), view("a", 9n)],
    ["the row that it waits for, and no older one", row("a", 1n, 2n), view("a", 5n, 1n), view("a", 1n, 2n)],
  ])("sends %s", async (_, wanted, old, current) => {
    const { watch } = scene(page(null));
    await watch.next();
    watch.changed(wanted);
    const changes = watch.next();
    watch.send([old], 10);
    expect(watch.isHungry).toBe(true);
    watch.send([current], 10);
    expect(await changes).toMatchObject({ locks: [current] });
  });

  test.each([
    ["changed", (watch: WatchedPrefix) => watch.changed(row("one more"))],
    ["deleted", (watch: WatchedPrefix) => watch.gone("one more")],
  ])(
    "begins anew, and sends that first, when more %s locks gather than it keeps for a slow client",
    async (_, oneMore) => {
      const { watch, behind } = scene(page(null, "a"), page(null, "z"));
      await watch.next();
      for (let lock = 0; lock < WATCH_PENDING_MAX; lock++) {
        watch.gone(`lock ${lock}`);
        watch.changed(row(`other ${lock}`));
      }
      expect(behind()).toBe(0);
      oneMore(watch);
      expect([behind(), watch.hasNews]).toEqual([1, false]);
      expect(await watch.next()).toMatchObject({
        ...{ beganAnew: true, complete: true, locks: [view("z")], deleted: [] },
      });
    },
  );

  test("begins anew in the middle of a page, and sends nothing of that page", async () => {
    const slow = Promise.withResolvers<SnapshotPage>();
    const { watch } = scene(page("a", "a"), slow.promise, page(null, "new"));
    await watch.next();
    const next = watch.next();
    watch.beginAnew();
    slow.resolve(page(null, "old"));
    expect(await next).toMatchObject({ beganAnew: true, locks: [view("new")] });
  });

  test("fails if its first page cannot be read, and tries again with later ones", async () => {
    await expect(scene(away()).watch.next()).rejects.toThrow("away");
    const { watch } = scene(page("a", "a"), away(), away(), page(null, "b"));
    await watch.next();
    expect(await watch.next()).toMatchObject({ locks: [view("b")], complete: true });
    const bug = scene(page("a", "a"), new Error("a bug"));
    await bug.watch.next();
    await expect(bug.watch.next()).rejects.toThrow("a bug");
  });

  test("gathers all changes while it sends its snapshot, however many they are", async () => {
    const { watch, behind } = scene(page("a", "a"), page(null));
    await watch.next();
    for (let lock = 0; lock <= WATCH_PENDING_MAX; lock++) {
      watch.changed(row(`lock ${lock}`));
      watch.gone(`gone ${lock}`);
    }
    expect(behind()).toBe(0);
    expect(await watch.next()).toMatchObject({ beganAnew: false, complete: true });
    expect(watch.pending.size).toBe(WATCH_PENDING_MAX + 1);
  });

  test("sends the names of deleted locks in parts, and goes on waiting if there are none", async () => {
    const { watch, told } = scene(page(null));
    await watch.next();
    for (const name of ["a", "b", "c"]) watch.gone(name);
    const first = watch.next();
    watch.send([], 2);
    expect(await first).toMatchObject({ deleted: ["a", "b"], locks: [] });
    const second = watch.next();
    watch.send([], 2);
    expect(await second).toMatchObject({ deleted: ["c"] });
    const third = watch.next();
    watch.send([view("unknown")], 2);
    expect(watch.isHungry).toBe(true);
    watch.gone("d");
    watch.send([], 2);
    expect(told.at(-1)).toMatchObject({ kind: "watch_sent", deleted: 1 });
    expect(await third).toMatchObject({ deleted: ["d"] });
    expect(told).toHaveLength(4);
    expect(watch.isHungry).toBe(false);
  });

  test("sends a lock that is gone, and not one that has come back", async () => {
    const { watch } = scene(page(null, "a", "b"));
    await watch.next();
    watch.changed(row("a", 2n));
    watch.gone("a");
    watch.gone("b");
    watch.changed(row("b", 1n, 7n));
    const changes = watch.next();
    watch.send([view("b", 1n, 7n)], 10);
    expect(await changes).toMatchObject({ deleted: ["a"], locks: [{ lock: { id: 7n } }] });
  });

  test("does not repeat what its snapshot has sent in the same state", async () => {
    const { watch } = scene(page("a", "a"), page(null, "b"));
    watch.changed(row("a"));
    watch.changed(row("b", 2n));
    await watch.next();
    await watch.next();
    expect([...watch.pending.keys()]).toEqual(["b"]);
  });
});

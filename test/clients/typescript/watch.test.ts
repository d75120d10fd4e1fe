// Watching locks: over a session, and by unary calls if a proxy lets no session through.

import { describe, expect, test } from "vitest";
import type { RowlockError, WatchUpdate } from "../../../clients/typescript/src/index.ts";
import { until } from "../../support/harness.ts";
import { startRefusingProxy } from "../../support/refusing-proxy.ts";
import { afterwards, client, start, startPair } from "./stage.ts";

type Updates = AsyncGenerator<WatchUpdate, void, undefined>;

const namesOf = ({ locks }: WatchUpdate) => locks.map(({ name }) => name);

/** The next matching update; skips the others. */
async function told(updates: Updates, fits: (update: WatchUpdate) => boolean): Promise<WatchUpdate> {
  for (;;) {
    const { value } = await updates.next();
    if (value && fits(value)) return value;
  }
}

describe.each(["a session", "calls of their own"])("over %s, a watch", (via) => {
  async function through(address: string): Promise<string> {
    if (via === "a session") return address;
    const proxy = await startRefusingProxy(address, 403);
    afterwards(() => proxy.close());
    return proxy.address;
  }

  test("yields the existing locks, and then the changes", async () => {
    const server = await start();
    const rowlock = client(await through(server.address));
    const lock = await rowlock.lock("a/1");
    await rowlock.lock("b");
    const updates = rowlock.watchLocks({ prefix: "a/" });
    const first = await updates.next();
    expect(first.value).toMatchObject({
      beganAnew: false,
      complete: true,
      deleted: [],
      locks: [{ name: "a/1", holderCount: 1, holders: [{ owner: "tester", token: 1n }] }],
    });
    await lock.release();
    const free = await told(updates, ({ locks }) => locks[0]?.holderCount === 0);
    expect(free).toMatchObject({ beganAnew: false, complete: false });
    await rowlock.updateRecord("a/2", { status: "new" });
    expect(await told(updates, (update) => namesOf(update).includes("a/2"))).toMatchObject({
      locks: [{ record: { status: "new" } }],
    });
    await rowlock.deleteRecord("a/2");
    await server.store.purgeLocks(-1_000_000, 100);
    await told(updates, ({ deleted }) => deleted.includes("a/2"));
    await updates.return();
    await until(() => server.watchEvents.some(({ kind }) => kind === "watch_closed"));
  });

  test("that is read slowly yields the latest of each lock", async () => {
    const server = await start();
    const rowlock = client(await through(server.address));
    const updates = rowlock.watchLocks({ prefix: "hot/" });
    await updates.next();
    const sent = () => server.watchEvents.filter(({ kind }) => kind === "watch_sent").length;
    for (let round = 0; round < 3; round++) {
      const before = sent();
      await rowlock.updateRecord("hot/1", { status: `${round}` });
      await until(() => sent() > before);
    }
    // Asked for after the earlier update was sent, and so answered after it.
    await rowlock.updateRecord("hot/2", { status: "last" });
    const seen: string[] = [];
    await told(updates, (update) => {
      for (const { name, record } of update.locks) seen.push(`${name} ${record?.status}`);
      return namesOf(update).includes("hot/2");
    });
    expect(seen).toContain("hot/1 2");
    expect(seen).not.toContain("hot/1 0");
  });

  test("goes on through another server, and begins anew", async () => {
    const [one, other] = await startPair();
    const rowlock = client([await through(one.address), await through(other.address)]);
    await rowlock.updateRecord("task/1", { status: "new" });
    const updates = rowlock.watchLocks({ prefix: "task/" });
    expect((await updates.next()).value).toMatchObject({ beganAnew: false, complete: true });
    await one.grpc.drain(1_000);
    const anew = await told(updates, ({ beganAnew }) => beganAnew);
    expect(anew).toMatchObject({ locks: [{ name: "task/1", record: { status: "new" } }] });
    await rowlock.updateRecord("task/1", { status: "done" });
    await told(updates, ({ locks }) => locks[0]?.record?.status === "done");
    expect(anew.complete).toBe(true);
  });

  test("ends when it is given up, and with its client", async () => {
    const server = await start();
    const rowlock = client(await through(server.address));
    const giveUp = new AbortController();
    const given = rowlock.watchLocks({ signal: giveUp.signal });
    const closed = rowlock.watchLocks();
    await Promise.all([given.next(), closed.next()]);
    const [upto, end] = [given.next(), closed.next()];
    end.catch(() => {});
    giveUp.abort(new Error("enough"));
    await expect(upto).rejects.toThrow("enough");
    expect(await given.next()).toEqual({ done: true, value: undefined });
    await rowlock.close();
    await expect(end).rejects.toMatchObject({ reason: "CLOSED" });
    await expect(rowlock.watchLocks().next()).rejects.toMatchObject({ reason: "CLOSED" });
    await until(() => server.watchEvents.filter(({ kind }) => kind === "watch_closed").length === 2);
  });
});

describe("a watch", () => {
  test("is refused if a proxy lets none through", async () => {
    const server = await start();
    const proxy = await startRefusingProxy(server.address, "UNIMPLEMENTED", ["Session", "WatchLocks"]);
    afterwards(() => proxy.close());
    const error = await client(proxy.address)
      .watchLocks()
      .next()
      .catch((why: RowlockError) => why);
    expect(error).toMatchObject({ reason: "UNKNOWN", code: "UNIMPLEMENTED" });
  });

  test("by unary calls notices a server that no longer answers", async () => {
    const [one, other] = await startPair();
    const proxies = [];
    for (const { address } of [one, other]) {
      const proxy = await startRefusingProxy(address, 403);
      afterwards(() => proxy.close());
      proxies.push(proxy);
    }
    const rowlock = client(proxies.map(({ address }) => address));
    const updates = rowlock.watchLocks();
    await updates.next();
    proxies[0]?.freeze();
    expect(await told(updates, ({ beganAnew }) => beganAnew)).toMatchObject({ complete: true });
    expect(proxies[1]?.asked).toContain("WatchLocks");
  });

  test("fails if no server answers in time", async () => {
    const rowlock = client("127.0.0.1:9", { giveUpAfter: 100 });
    await expect(rowlock.watchLocks().next()).rejects.toMatchObject({ reason: "NO_SERVER" });
  });
});

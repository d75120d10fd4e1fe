// WatchLocks through a real client: the snapshot, changed locks, removed locks, and how a watch ends.

import { describe, expect, onTestFinished, test } from "vitest";
import { LimitSource, Mode } from "#proto/rowlock/v1/lock_pb.js";
import { WATCHES_MAX } from "../../../server/engine/engine-bounds.ts";
import type { StartOptions, TestServer } from "../../support/harness.ts";
import { serverOfTest, until } from "../../support/harness.ts";
import { violationsIn } from "../../support/test-calls.ts";

async function start(options?: StartOptions): Promise<TestServer> {
  const server = await serverOfTest(options);
  onTestFinished(() => expect(server.loopFailures).toEqual([]));
  return server;
}

const names = (watched: { readonly locks: ReadonlyMap<string, unknown> }) => [...watched.locks.keys()].sort();

describe("a watch", () => {
  test("begins with all locks under the prefix, as ListLocks shows them", async () => {
    const { client } = await start();
    await client.limitAll("a/*", 2, { reason: "two" });
    await client.lease({ name: "a/held", mode: Mode.SHARED, terms: { owner: "o", labels: { run: "7" } } });
    await client.lease({ name: "a/waited", permits: 2 });
    await client.ticket({ name: "a/waited" });
    await client.lease({ name: "b" });
    const watched = client.watch("a/");
    await watched.complete();
    const { locks } = await client.call("listLocks", { prefix: "a/" });
    expect([...watched.locks.values()]).toEqual(locks);
    // More messages may follow, because the server may notice the change of the rule only now.
    expect(watched.messages[0]).toMatchObject({ beganAnew: false, complete: true });
  });

  test("of very many locks sends each of them once, in several messages", async () => {
    const server = await start();
    const all = Array.from({ length: 730 }, (_, index) => `many/${1_000 + index}`);
    await server.store.resolve(all);
    const watched = server.client.watch("many/");
    await watched.complete();
    expect(names(watched)).toEqual(all);
    expect(watched.messages.flatMap(({ locks }) => locks).length).toBe(all.length);
    expect(watched.messages.map(({ complete }) => complete).indexOf(true)).toBe(watched.messages.length - 1);
  });

  test("sends each change: holders, waiters, limits, of names and of patterns", async () => {
    const { client } = await start();
    const watched = client.watch("");
    await watched.complete();
    const { leaseId } = await client.lease({ name: "a" });
    await watched.shows("a", ({ holderCount }) => holderCount === 1);
    const ticket = await client.ticket({ name: "a", terms: { owner: "next" } });
    await watched.shows("a", ({ waiters }) => waiters[0]?.owner === "next");
    await client.call("release", { leaseId });
    await watched.shows(
      "a",
      ({ holders, waiterCount: waiting }) => holders[0]?.owner === "next" && waiting === 0,
    );
    await client.call("release", { leaseId: ticket.ticketId });
    await watched.shows("a", ({ holderCount }) => holderCount === 0);
    await client.limit("a", 5);
    await watched.shows("a", ({ limit }) => limit?.permits === 5);
    await client.lease({ name: "b" });
    await watched.shows("b");
    await client.limitAll("*", 9, { reason: "all" });
    const b = await watched.shows("b", ({ limit }) => limit?.permits === 9);
    expect(b.limit).toMatchObject({ source: LimitSource.PATTERN, pattern: "*", reason: "all" });
    expect(watched.locks.get("a")?.limit).toMatchObject({ permits: 5 });
    await client.put("a", { newAttemptsLeft: { case: "attemptsLeft", value: 3 } });
    await watched.shows("a", ({ record }) => record?.status === "new" && record.attemptsLeft === 3);
    await client.call("deleteRecord", { name: "a" });
    await watched.shows("a", ({ record }) => record === undefined);
    expect(watched.begunAnew).toBe(0);
  });

  test("combines frequent changes, and always sends the last one", async () => {
    const { client } = await start();
    await client.limit("hot", 1_000);
    const watched = client.watch("hot");
    await watched.complete();
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 10 }, () => client.lease({ name: "hot" })));
    await watched.shows("hot", ({ holderCount }) => holderCount === 200);
    expect(watched.messages.length).toBeLessThan(100);
  });

  test("sends a lock that is gone, and one that comes back under the name", async () => {
    const { client, store } = await start();
    await store.resolve(["gone", "stays"]);
    const watched = client.watch("");
    await watched.complete();
    await client.limit("stays", 2);
    expect(await store.purgeLocks(-1_000_000, 100)).toBe(1);
    await watched.until(({ locks }) => !locks.has("gone"));
    expect(watched.messages.flatMap(({ deleted }) => deleted)).toEqual(["gone"]);
    await client.lease({ name: "gone" });
    await watched.shows("gone", ({ holderCount }) => holderCount === 1);
    expect(names(watched)).toEqual(["gone", "stays"]);
  });

  test("ends when the client cancels it, and leaves nothing behind", async () => {
    const { client, calls, watchEvents } = await start();
    for (let round = 0; round < 3; round++) {
      const watched = client.watch("");
      await watched.complete();
      watched.cancel();
      expect((await watched.failure()).code).toBe("CANCELLED");
    }
    await until(() => calls.filter(({ method }) => method === "WatchLocks").length === 3);
    expect(calls.every(({ code }) => code === "CANCELLED")).toBe(true);
    await until(() => watchEvents.filter(({ kind }) => kind === "watch_closed").length === 3);
  });

  test("is refused if there are too many, or the prefix is too long", async () => {
    const { client, watchEvents } = await start();
    const watches = Array.from({ length: WATCHES_MAX }, () => client.watch("x"));
    await Promise.all(watches.map((watched) => watched.complete()));
    expect(await client.watch("x").failure()).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "OVERLOADED",
      metadata: { bound: "watches" },
    });
    watches[0]?.cancel();
    await until(() => watchEvents.some(({ kind }) => kind === "watch_closed"));
    const again = client.watch("x");
    await again.complete();
    const failure = await client.watch("p".repeat(256)).failure();
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", reason: "BAD_REQUEST" });
    expect(violationsIn(failure)).toEqual({ prefix: expect.stringContaining("256 bytes") });
  });
});

test("a watch ends with the server, and says so", async () => {
  const server = await start();
  const watched = server.client.watch("");
  await watched.complete();
  const failure = watched.failure();
  await server.grpc.drain(1_000);
  expect(await failure).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
});

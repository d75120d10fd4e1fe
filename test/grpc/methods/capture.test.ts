// Capture through a real client: which locks it takes, in which order, how often, and what it answers when there are
// none.

import { afterEach, describe, expect, test } from "vitest";
import type { RequestOf } from "../../../clients/typescript/src/bare/index.ts";
import type { TestServer } from "../../support/harness.ts";
import { expectLeft, startServer, until } from "../../support/harness.ts";

type Request<Name extends "updateRecord" | "capture"> = Exclude<RequestOf<Name>, Uint8Array>;

const under = (value: string) => ({ from: { case: "prefix", value } }) as const;
const among = (names: string[]) => ({ from: { case: "names", value: { names } } }) as const;

let server: TestServer;
afterEach(async () => {
  await server.stop();
  expect(server.loopFailures).toEqual([]);
});

const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
const at = (second: number) => ({ seconds: BigInt(second), nanos: 0 });

/** Creates locks with records: maps each name to what UpdateRecord sets. */
async function put(locks: Record<string, Partial<Request<"updateRecord">>>): Promise<void> {
  for (const [name, update] of Object.entries(locks))
    await server.client.call("updateRecord", { name, status: "new", ...update } as Request<"updateRecord">);
}

async function capture(request: Partial<Request<"capture">>) {
  return await server.client.call("capture", { maxLeases: 3, ...request } as Request<"capture">);
}

const namesOf = ({ leases }: Awaited<ReturnType<typeof capture>>) => leases.map(({ lockName }) => lockName);

describe("a capture", () => {
  test("returns ordinary leases, each with a token, a TTL, an owner and labels", async () => {
    server = await startServer();
    await put({ "t/1": {}, "t/2": {} });
    await server.client.call("release", { leaseId: (await server.client.lease({ name: "t/1" })).leaseId });
    const { leases } = await capture({
      ...under("t/"),
      terms: { lasting: { case: "ttl", value: seconds(90) }, owner: "w", labels: { a: "b" } },
    });
    expect(leases.map(({ fencingToken }) => fencingToken)).toEqual([2n, 1n]);
    for (const lease of leases) {
      expect(lease).toMatchObject({ provisional: false, permits: 1 });
      expectLeft(lease.ttl, 90);
    }
    const { lock } = await server.client.call("getLock", { name: "t/2" });
    expect(lock?.holders).toMatchObject([{ owner: "w", labels: { a: "b" } }]);
    await server.client.call("renew", { leaseId: leases[0]?.leaseId ?? "" });
    await server.client.call("release", { leaseId: leases[0]?.leaseId ?? "" });
    expect(namesOf(await capture(under("t/")))).toEqual(["t/1"]);
  });

  test("takes only locks in the requested statuses, and sets a status on lost ones", async () => {
    server = await startServer();
    await put({
      "t/new": {},
      "t/done": { status: "done" },
      "t/failed": { status: "failed" },
      "t/none": { status: undefined, newAttemptsLeft: { case: "attemptsLeft", value: 5 } },
    });
    const wanted = {
      ...under("t/"),
      terms: { ifStatus: ["new", "failed"], statusIfLost: "crashed" },
    };
    expect(namesOf(await capture(wanted))).toEqual(["t/failed", "t/new"]);
    expect(namesOf(await capture({ ...under("t/"), terms: { ifStatus: [""] } }))).toEqual(["t/none"]);
    await server.client.call("forceRelease", {
      target: { case: "name", value: "t/new" },
      reason: "it hangs",
    });
    expect(namesOf(await capture(wanted))).toEqual([]);
    expect(namesOf(await capture({ ...under("t/"), terms: { ifStatus: ["crashed"] } }))).toEqual(["t/new"]);
  });

  test("uses up an attempt of each lock, until there are none", async () => {
    server = await startServer();
    await put({ "t/1": { newAttemptsLeft: { case: "attemptsLeft", value: 2 } } });
    for (const left of [1, 0]) {
      const { leases } = await capture(under("t/"));
      expect((await server.client.call("getLock", { name: "t/1" })).lock?.record?.attemptsLeft).toBe(left);
      await server.client.call("release", { leaseId: leases[0]?.leaseId ?? "" });
    }
    expect(namesOf(await capture(under("t/")))).toEqual([]);
  });

  test("of names takes unused ones, too, and in order of their bytes", async () => {
    server = await startServer();
    await put({
      "n/late": { newNotBefore: { case: "notBefore", value: at(50) } },
      "n/soon": { newNotBefore: { case: "notBeforeIn", value: seconds(600) } },
    });
    const names = ["n/z", "n/late", "n/soon", "n/a", "n/é"];
    expect(namesOf(await capture({ ...among(names), maxLeases: 2 }))).toEqual(["n/a", "n/z"]);
    expect(namesOf(await capture(among(names)))).toEqual(["n/é", "n/late"]);
    const { retryAfter } = await capture(among(names));
    expectLeft(retryAfter, 600);
    expect(namesOf(await capture({ ...among(["n/new"]), terms: { ifStatus: ["wanted"] } }))).toEqual([]);
  });

  test("that finds nothing returns when to try again, if that is known", async () => {
    server = await startServer();
    expect((await capture(under("t/"))).retryAfter).toBeUndefined();
    await put({
      "t/1": { newNotBefore: { case: "notBeforeIn", value: seconds(300) } },
      "t/2": { newNotBefore: { case: "notBeforeIn", value: seconds(100) }, status: "b" },
    });
    expectLeft((await capture(under("t/"))).retryAfter, 100);
    expectLeft((await capture({ ...under("t/"), terms: { ifStatus: ["new"] } })).retryAfter, 300);
  });
});

describe("a capture that is repeated", () => {
  test("gets the same leases, as long as they are held, and no others", async () => {
    server = await startServer();
    await put({ "t/1": {}, "t/2": {}, "t/3": {}, "t/4": {} });
    const first = await capture({ ...under("t/"), requestId: "call 1" });
    expect(first.leases.map(({ requestId }) => requestId)).toEqual(["call 1", "call 1", "call 1"]);
    const again = await capture({ ...under("t/"), requestId: "call 1" });
    expect(again.leases.map(({ leaseId }) => leaseId)).toEqual(first.leases.map(({ leaseId }) => leaseId));
    await server.client.call("release", { leaseId: first.leases[1]?.leaseId ?? "" });
    expect(namesOf(await capture({ ...under("t/"), requestId: "call 1" }))).toEqual(["t/1", "t/3"]);
    for (const { leaseId } of first.leases) await server.client.call("release", { leaseId });
    expect(namesOf(await capture({ ...under("t/"), requestId: "call 1" }))).toEqual([]);
    expect(namesOf(await capture({ ...under("t/"), requestId: "call 2", maxLeases: 9 }))).toHaveLength(4);
  });

  test("that found nothing may find something", async () => {
    server = await startServer();
    expect(namesOf(await capture({ ...under("t/"), requestId: "r" }))).toEqual([]);
    await put({ "t/1": {} });
    expect(namesOf(await capture({ ...under("t/"), requestId: "r" }))).toEqual(["t/1"]);
  });

  test("has a request id of its own: an Acquire with the same one is another claim", async () => {
    server = await startServer();
    await put({ "t/1": {} });
    await server.client.lease({ name: "other", requestId: "same" });
    expect(namesOf(await capture({ ...under("t/"), requestId: "same" }))).toEqual(["t/1"]);
  });
});

describe("a capture that waits", () => {
  const HOUR = seconds(3_600);

  test("is served as soon as a lock is available: created, released, or with a raised limit", async () => {
    server = await startServer();
    const { client } = server;
    const wait = () => capture({ ...under("t/"), maxLeases: 1, maxWait: HOUR });
    const put1 = wait();
    await put({ "t/1": {} });
    expect(namesOf(await put1)).toEqual(["t/1"]);
    const released = wait();
    const { holders } = (await client.call("getLock", { name: "t/1" })).lock ?? { holders: [] };
    expect(holders).toHaveLength(1);
    await client.call("release", { leaseId: (await put1).leases[0]?.leaseId ?? "" });
    const [lease] = (await released).leases;
    expect(lease).toMatchObject({ lockName: "t/1", provisional: true });
    expect((await client.call("renew", { leaseId: lease?.leaseId ?? "" })).lease?.provisional).toBe(false);
  });

  test("is served when the next lock is due, and not later", async () => {
    server = await startServer();
    await put({
      "t/1": { newNotBefore: { case: "notBeforeIn", value: { seconds: 0n, nanos: 400_000_000 } } },
    });
    const begunMs = performance.now();
    expect(namesOf(await capture({ ...under("t/"), maxWait: HOUR }))).toEqual(["t/1"]);
    expect(performance.now() - begunMs).toBeGreaterThan(300);
  });

  test("of names is served when one of them is released", async () => {
    server = await startServer();
    const { leaseId } = await server.client.lease({ name: "n/1" });
    const waiting = capture({ ...among(["n/1"]), maxWait: HOUR });
    await until(() => server.engine.waitingCaptures === 1);
    await server.client.call("release", { leaseId });
    expect(namesOf(await waiting)).toEqual(["n/1"]);
  });

  test("ends with an empty answer when its time is over", async () => {
    server = await startServer();
    const answer = await capture({ ...under("t/"), maxWait: { seconds: 0n, nanos: 50_000_000 } });
    expect(answer.leases).toEqual([]);
    expect(server.engine.waitingCaptures).toBe(0);
  });

  test("that its client has cancelled takes nothing", async () => {
    server = await startServer();
    const gone = new AbortController();
    const waiting = server.client.call(
      "capture",
      { ...under("t/"), maxLeases: 1, maxWait: HOUR },
      { signal: gone.signal },
    );
    await until(() => server.engine.waitingCaptures === 1);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    await until(() => server.engine.waitingCaptures === 0);
    await put({ "t/1": {} });
    expect(await server.client.refusal({ name: "t/1", terms: { ifStatus: ["x"] } })).toBeDefined();
    expect(namesOf(await capture(under("t/")))).toEqual(["t/1"]);
  });

  test("ends with the server, and says so", async () => {
    server = await startServer();
    const waiting = capture({ ...under("t/"), maxWait: HOUR });
    await until(() => server.engine.waitingCaptures === 1);
    const failure = waiting.catch((error: unknown) => error);
    await server.grpc.drain(1_000);
    expect(await failure).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
  });
});

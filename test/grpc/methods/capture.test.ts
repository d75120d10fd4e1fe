// Capture through a real client: what it answers, how often, how long it waits, and what ends that. Which locks are
// free, and in which order, is tried in test/storage/contract/free-locks.ts and test/stories/captures.test.ts.

import { describe, expect, onTestFinished, test } from "vitest";
import { expectLeft, serverOfTest, until } from "../../support/harness.ts";
import { captureOf, lasting, seconds } from "../../support/test-calls.ts";

async function start() {
  const server = await serverOfTest();
  onTestFinished(() => expect(server.loopFailures).toEqual([]));
  const { client } = server;
  const namesOf = async (...asked: Parameters<typeof client.capture>) =>
    (await client.capture(...asked)).map(({ lockName }) => lockName);
  const release = (leaseId = "") => client.call("release", { leaseId });
  return { server, client, namesOf, release };
}

const attempts = (value: number) => ({ newAttemptsLeft: { case: "attemptsLeft", value } }) as const;
const dueIn = (s: number, nanos = 0) =>
  ({ newNotBefore: { case: "notBeforeIn", value: { seconds: BigInt(s), nanos } } }) as const;
const dueAt = (s: number) => ({ newNotBefore: { case: "notBefore", value: seconds(s) } }) as const;
const HOUR = { maxWait: seconds(3_600) };

describe("a capture", () => {
  test("returns ordinary leases, each with a token, a TTL, an owner and labels", async () => {
    const { client, namesOf, release } = await start();
    for (const name of ["t/1", "t/2"]) await client.put(name);
    await release((await client.lease({ name: "t/1" })).leaseId);
    const terms = { ...lasting(90), owner: "w", labels: { a: "b" } };
    const leases = await client.capture("t/", { maxLeases: 3, terms });
    expect(leases.map(({ fencingToken }) => fencingToken)).toEqual([2n, 1n]);
    for (const lease of leases) {
      expect(lease).toMatchObject({ provisional: false, permits: 1 });
      expectLeft(lease.ttl, 90);
    }
    expect((await client.shown("t/2")).holders).toMatchObject([{ owner: "w", labels: { a: "b" } }]);
    await client.call("renew", { leaseId: leases[0]?.leaseId ?? "" });
    await release(leases[0]?.leaseId);
    expect(await namesOf("t/")).toEqual(["t/1"]);
  });

  test("takes only locks in the requested statuses, and sets a status on lost ones", async () => {
    const { client, namesOf } = await start();
    for (const status of ["new", "done", "failed"]) await client.put(`t/${status}`, { status });
    await client.put("t/none", { status: "", ...attempts(5) });
    const terms = { ifStatus: ["new", "failed"], statusIfLost: "crashed" };
    const wanted = (...ifStatus: string[]) =>
      namesOf("t/", { maxLeases: 3, terms: ifStatus.length > 0 ? { ifStatus } : terms });
    expect(await wanted()).toEqual(["t/failed", "t/new"]);
    expect(await wanted("")).toEqual(["t/none"]);
    await client.force("t/new");
    expect(await wanted()).toEqual([]);
    expect(await wanted("crashed")).toEqual(["t/new"]);
  });

  test("uses up an attempt of each lock, until there are none", async () => {
    const { client, namesOf, release } = await start();
    await client.put("t/1", attempts(2));
    for (const left of [1, 0]) {
      const [lease] = await client.capture("t/");
      expect((await client.shown("t/1")).record?.attemptsLeft).toBe(left);
      await release(lease?.leaseId);
    }
    expect(await namesOf("t/")).toEqual([]);
  });

  test("of names takes unused ones, too, and in order of their bytes", async () => {
    const { client, namesOf } = await start();
    await client.put("n/late", dueAt(50));
    await client.put("n/soon", dueIn(600));
    const names = ["n/z", "n/late", "n/soon", "n/a", "n/é"];
    expect(await namesOf(names, { maxLeases: 2 })).toEqual(["n/a", "n/z"]);
    expect(await namesOf(names, { maxLeases: 3 })).toEqual(["n/é", "n/late"]);
    expectLeft((await client.call("capture", captureOf(names))).retryAfter, 600);
    expect(await namesOf(["n/new"], { terms: { ifStatus: ["wanted"] } })).toEqual([]);
  });

  test("that finds nothing returns when to try again, if that is known", async () => {
    const { client } = await start();
    const retryAfter = async (terms = {}) =>
      (await client.call("capture", captureOf("t/", { terms }))).retryAfter;
    expect(await retryAfter()).toBeUndefined();
    await client.put("t/1", dueIn(300));
    await client.put("t/2", { ...dueIn(100), status: "b" });
    expectLeft(await retryAfter(), 100);
    expectLeft(await retryAfter({ ifStatus: ["new"] }), 300);
  });
});

describe("a capture that is repeated", () => {
  test("gets the same leases, as long as they are held, and no others", async () => {
    const { client, namesOf, release } = await start();
    for (const name of ["t/1", "t/2", "t/3", "t/4"]) await client.put(name);
    const asked = { maxLeases: 3, requestId: "call 1" };
    const first = await client.capture("t/", asked);
    expect(first.map(({ requestId }) => requestId)).toEqual(["call 1", "call 1", "call 1"]);
    const ids = first.map(({ leaseId }) => leaseId);
    expect((await client.capture("t/", asked)).map(({ leaseId }) => leaseId)).toEqual(ids);
    await release(ids[1]);
    expect(await namesOf("t/", asked)).toEqual(["t/1", "t/3"]);
    for (const leaseId of ids) await release(leaseId);
    expect(await namesOf("t/", asked)).toEqual([]);
    expect(await namesOf("t/", { requestId: "call 2", maxLeases: 9 })).toHaveLength(4);
  });

  test("may find something if it found nothing before, and is no Acquire with the same request id", async () => {
    const { client, namesOf } = await start();
    const requestId = "same";
    await client.lease({ name: "other", requestId });
    expect(await namesOf("t/", { requestId })).toEqual([]);
    await client.put("t/1");
    expect(await namesOf("t/", { requestId })).toEqual(["t/1"]);
  });
});

describe("a capture that waits", () => {
  test("is served as soon as a lock is available: created or released", async () => {
    const { client, release } = await start();
    const wait = () => client.capture("t/", HOUR);
    const created = wait();
    await client.put("t/1");
    const [first] = await created;
    expect(first?.lockName).toBe("t/1");
    const released = wait();
    expect((await client.shown("t/1")).holders).toHaveLength(1);
    await release(first?.leaseId);
    const [lease] = await released;
    expect(lease).toMatchObject({ lockName: "t/1", provisional: true });
    expect((await client.call("renew", { leaseId: lease?.leaseId ?? "" })).lease?.provisional).toBe(false);
  });

  test("is served when the next lock is due, and not later", async () => {
    const { client, namesOf } = await start();
    await client.put("t/1", dueIn(0, 400_000_000));
    const begunMs = performance.now();
    expect(await namesOf("t/", HOUR)).toEqual(["t/1"]);
    expect(performance.now() - begunMs).toBeGreaterThan(300);
  });

  test("of names is served when one of them is released", async () => {
    const { server, client, namesOf, release } = await start();
    const { leaseId } = await client.lease({ name: "n/1" });
    const waiting = namesOf(["n/1"], HOUR);
    await until(() => server.engine.waitingCaptures === 1);
    await release(leaseId);
    expect(await waiting).toEqual(["n/1"]);
  });

  test("ends with an empty answer when its time is over", async () => {
    const { server, client } = await start();
    expect(await client.capture("t/", { maxWait: { seconds: 0n, nanos: 50_000_000 } })).toEqual([]);
    expect(server.engine.waitingCaptures).toBe(0);
  });

  test("takes nothing if its client has cancelled it", async () => {
    const { server, client, namesOf } = await start();
    const gone = new AbortController();
    const waiting = client.call("capture", captureOf("t/", HOUR), { signal: gone.signal });
    await until(() => server.engine.waitingCaptures === 1);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    await until(() => server.engine.waitingCaptures === 0);
    await client.put("t/1");
    expect(await client.refusal({ name: "t/1", terms: { ifStatus: ["x"] } })).toBeDefined();
    expect(await namesOf("t/")).toEqual(["t/1"]);
  });

  test("ends with the server, and says so", async () => {
    const { server, client } = await start();
    const failure = client.capture("t/", HOUR).catch((error: unknown) => error);
    await until(() => server.engine.waitingCaptures === 1);
    await server.grpc.drain(1_000);
    expect(await failure).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
  });
});

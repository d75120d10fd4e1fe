// Capturing some of many locks: over a session, and by unary calls if a proxy lets no session through.

import { describe, expect, test } from "vitest";
import type { Captured, RowlockClient } from "../../../clients/typescript/src/index.ts";
import { type StartOptions, until } from "../../support/harness.ts";
import { startRefusingProxy } from "../../support/refusing-proxy.ts";
import { afterwards, client, start, startPair } from "./stage.ts";

const namesOf = ({ locks }: Captured) => locks.map(({ name }) => name);

async function put(rowlock: RowlockClient, ...names: string[]): Promise<void> {
  for (const name of names) await rowlock.updateRecord(name, { status: "new" });
}

describe.each(["a session", "calls of their own"])("over %s, a capture", (via) => {
  async function stage(options?: StartOptions) {
    const server = await start(options);
    if (via === "a session") return { server, address: server.address };
    const proxy = await startRefusingProxy(server.address, 403);
    afterwards(() => proxy.close());
    return { server, address: proxy.address };
  }

  test("takes due locks in a requested status, and keeps them", async () => {
    const { server, address } = await stage();
    const rowlock = client(address, { owner: "worker", labels: { host: "a1" } });
    await put(rowlock, "task/1", "task/2", "task/3");
    await rowlock.updateRecord("task/2", { notBefore: new Date(1_000) });
    await rowlock.updateRecord("task/later", { status: "new", notBeforeIn: 60_000 });
    await rowlock.updateRecord("task/done", { status: "done" });
    const asked = { prefix: "task/", ifStatus: "new", ttl: 2_000 };
    const taken = await rowlock.capture({ ...asked, count: 2, labels: { job: "7" } });
    expect(namesOf(taken)).toEqual(["task/1", "task/3"]);
    expect(taken).not.toHaveProperty("retryAfterMs");
    for (const lock of taken.locks) expect(lock).toMatchObject({ token: 1n, state: "held", mode: "permit" });
    expect((await rowlock.getLock("task/3")).holders).toMatchObject([
      { owner: "worker", labels: { host: "a1", job: "7" } },
    ]);
    // Longer than one TTL.
    const renewals = () => server.calls.filter(({ method }) => method.startsWith("Renew")).length;
    await until(() => renewals() >= 5 * (via === "a session" ? 1 : 2));
    await until(() => taken.locks.every(({ state }) => state === "held"));
    expect(namesOf(await rowlock.capture({ ...asked, count: 2 }))).toEqual(["task/2"]);
    const none = await rowlock.capture(asked);
    expect(none.locks).toEqual([]);
    expect(none.retryAfterMs).toBeGreaterThan(0);
    await taken.locks[0]?.release({ status: "done" });
    expect((await rowlock.getLock("task/1")).record).toMatchObject({ status: "done" });
    expect(namesOf(await rowlock.capture({ names: ["task/1", "never/named"], count: 9 }))).toEqual([
      "never/named",
      "task/1",
    ]);
  });

  test("waits for a lock to become free, and then holds it for its whole TTL", async () => {
    const { address } = await stage({ rules: { graceUs: 2_000_000, attachedForUs: 2_500_000 } });
    const rowlock = client(address);
    await put(rowlock, "task/1");
    const [first] = (await rowlock.capture({ prefix: "task/" })).locks;
    const waits = rowlock.capture({ prefix: "task/", wait: "forever" });
    expect(await rowlock.capture({ prefix: "task/", wait: 20 })).toMatchObject({ locks: [] });
    await first?.release();
    const [second] = (await waits).locks;
    expect(second).toMatchObject({ name: "task/1", token: 2n });
    await until(() => Number(second?.remainingMs) > 20_000);
    expect(second?.state).toBe("held");
  });

  test("whose wait is given up takes nothing any more", async () => {
    const { server, address } = await stage();
    const rowlock = client(address);
    await put(rowlock, "task/1");
    const [first] = (await rowlock.capture({ prefix: "task/" })).locks;
    const giveUp = new AbortController();
    const waits = rowlock.capture({ prefix: "task/", wait: 60_000, signal: giveUp.signal });
    // When this call is answered, the server has received the waiting one.
    await rowlock.capture({ prefix: "task/" });
    giveUp.abort(new Error("enough"));
    await expect(waits).rejects.toThrow("enough");
    await first?.release();
    await until(() => server.events.some(({ kind }) => kind === "ended"));
    // A capture that still waited would get the lock before this one.
    expect(namesOf(await rowlock.capture({ prefix: "task/", wait: 5_000 }))).toEqual(["task/1"]);
  });
});

describe("a capture", () => {
  test("under one request id gets the same leases, and only those", async () => {
    const { address } = await start();
    const rowlock = client(address);
    await put(rowlock, "task/1", "task/2");
    const asked = { prefix: "task/", requestId: "worker-1", count: 1 };
    const [lock] = (await rowlock.capture(asked)).locks;
    const [again] = (await client(address).capture(asked)).locks;
    expect(again?.leaseId).toBe(lock?.leaseId);
    await lock?.release();
    expect(await rowlock.capture(asked)).toMatchObject({ locks: [] });
  });

  test("under one request id whose leases have ended gets none at once, however long it may wait", async () => {
    const server = await start();
    const rowlock = client(server.address);
    await put(rowlock, "task/1");
    const asked = { prefix: "task/", requestId: "worker-1", wait: "forever" } as const;
    const [lock] = (await rowlock.capture(asked)).locks;
    await lock?.release({ coolDown: 3_600_000 });
    expect(await rowlock.capture(asked)).toMatchObject({ locks: [] });
    // It does not delay captures that wait for new locks.
    const other = rowlock.capture({ prefix: "task/", wait: "forever" });
    await until(() => server.engine.waitingCaptures === 1);
    await put(rowlock, "task/2");
    expect(namesOf(await other)).toEqual(["task/2"]);
  });

  test("waits in pieces, so that a long wait is not mistaken for a call without an answer", async () => {
    const { server, address } = await startCounted();
    const rowlock = client(address, { giveUpAfter: 2_000 });
    await put(rowlock, "task/1");
    const [first] = (await rowlock.capture({ prefix: "task/" })).locks;
    const waits = rowlock.capture({ prefix: "task/", wait: "forever" });
    await until(() => server.calls.filter(({ method }) => method === "Capture").length >= 4);
    await first?.release();
    expect(namesOf(await waits)).toEqual(["task/1"]);
  });

  test("that waits goes on through another server", async () => {
    const [one, two] = await startPair();
    const rowlock = client([one.address, two.address]);
    await put(rowlock, "task/1");
    const other = client(two.address);
    const [first] = (await other.capture({ prefix: "task/" })).locks;
    const waits = rowlock.capture({ prefix: "task/", wait: "forever" });
    await rowlock.getLock("task/1");
    await one.grpc.drain(0);
    await first?.release();
    expect(namesOf(await waits)).toEqual(["task/1"]);
  });

  test("with mistakes is an error that names all of them", async () => {
    const rowlock = client((await start()).address);
    const wrong = rowlock.capture({ names: ["b", "b"], count: 101, ifStatus: "x".repeat(64) });
    await expect(wrong).rejects.toMatchObject({ reason: "BAD_REQUEST" });
    const { violations } = await wrong.catch((error) => error);
    expect(violations.map(({ field }: { field: string }) => field).toSorted()).toEqual([
      "max_leases",
      "names.names[1]",
      "terms.if_status[0]",
    ]);
    await expect(rowlock.capture({ prefix: "a", names: ["b"] })).rejects.toThrow(/prefix and names: set one/);
    const twice = { notBefore: new Date(), notBeforeIn: 1 };
    await expect(rowlock.updateRecord("a", twice)).rejects.toThrow(/notBefore and notBeforeIn: set one/);
    await expect(rowlock.capture({ prefix: "", ttl: 2_000, margin: 1_000 })).rejects.toThrow(RangeError);
  });

  test("of a closed client is given up, and its locks are released", async () => {
    const { address } = await start();
    const other = client(address);
    await put(other, "task/1", "task/2");
    const rowlock = client(address);
    const { locks } = await rowlock.capture({ prefix: "task/", count: 2 });
    const waits = rowlock.capture({ prefix: "task/", wait: "forever" });
    const refused = expect(waits).rejects.toMatchObject({ reason: "CLOSED" });
    await rowlock.close();
    await refused;
    expect(locks.map(({ state }) => state)).toEqual(["released", "released"]);
    expect(namesOf(await other.capture({ prefix: "task/", count: 2 }))).toEqual(["task/1", "task/2"]);
  });
});

/** A server that counts each piece of a wait as a call. */
async function startCounted() {
  const server = await start();
  const proxy = await startRefusingProxy(server.address, 403);
  afterwards(() => proxy.close());
  return { server, address: proxy.address };
}

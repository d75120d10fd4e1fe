// What the client keeps while servers come and go: it renews leases over several TTLs, and takes its leases and
// places into the next session. Also what it does when it cannot.

import { describe, expect, test } from "vitest";
import type { ConnectionEvent, Lock } from "../../../clients/typescript/src/index.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { freshSqlite } from "../../support/database.ts";
import { type DroppingProxy, startDroppingProxy } from "../../support/dropping-proxy.ts";
import { replacing, until } from "../../support/harness.ts";
import { aborted, afterwards, client, start, startPair, waitInLine, waiting } from "./stage.ts";

/** Both sides notice silence after half of the grace period. */
const SHORT_GRACE = { graceUs: 1_000_000, attachedForUs: 1_250_000 };

async function proxyTo(address: string): Promise<DroppingProxy & { address: string }> {
  const [host, port] = address.split(":") as [string, string];
  const proxy = await startDroppingProxy(host, Number(port));
  afterwards(() => proxy.close());
  return Object.assign(proxy, { address: `127.0.0.1:${proxy.port}` });
}

describe("renewals", () => {
  test("keep leases over several TTLs, all of them together", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const locks = await Promise.all(["a", "b", "c"].map((name) => rowlock.lock(name, { ttl: 2_000 })));
    const renewals = () => server.calls.filter(({ method }) => method === "RenewLeases").length;
    await until(() => renewals() >= 7);
    await until(() => locks.every(({ state }) => state === "held"));
    expect(server.events.filter(({ kind }) => kind === "ended")).toEqual([]);
    await Promise.all(locks.map((lock) => lock.release()));
    const sofar = renewals();
    await rowlock.lock("d", { ttl: 2_000 });
    await until(() => renewals() > sofar);
    // No renewal was for a released lease.
    expect(server.calls.filter(({ code }) => code !== "OK")).toEqual([]);
  });

  test("that fail end in the loss of the lock before its lease ends", async () => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(engine, {}, { renew: (asked) => gate.promise.then(() => engine.ask(asked)) }),
    });
    const lock = await client(server.address).lock("hangs", { ttl: 1_500, margin: 300 });
    await until(() => lock.state === "uncertain");
    expect(lock.signal.aborted).toBe(false);
    const reason = await aborted(lock.signal);
    expect(server.events.filter(({ kind }) => kind === "ended")).toEqual([]);
    expect(reason).toMatchObject({ reason: "LEASE_LOST", end: { reason: "EXPIRED" } });
    expect(lock.state).toBe("lost");
    await server.event(({ kind }) => kind === "ended");
    gate.resolve();
  });

  test("come before the lock is used if the grant took long to arrive", async () => {
    let holdUpMs = 3_200;
    const server = await start({
      // The server hears heartbeats meanwhile; they do not make the grant any younger.
      rules: SHORT_GRACE,
      wrapEngine: (engine) =>
        replacing(engine, {
          acquire: async (...asked) => {
            const answer = await engine.acquire(...asked);
            await new Promise((resolve) => setTimeout(resolve, holdUpMs));
            holdUpMs = 0;
            return answer;
          },
        }),
    });
    const lock = await client(server.address).lock("slow", { ttl: 4_000 });
    expect(lock.remainingMs).toBeGreaterThan(3_000);
    expect(server.calls.map(({ method }) => method)).toEqual(["WaitInQueue", "Renew"]);
  });

  test("that fail for a while are tried again", async () => {
    let failures = 3;
    const server = await start({
      wrapEngine: (engine) =>
        replacing(
          engine,
          {},
          {
            renew: async (asked) => {
              if (failures-- > 0) throw new Fault("unavailable", "test", "away", { retryAfterMs: 50 });
              return await engine.ask(asked);
            },
          },
        ),
    });
    const lock = await client(server.address).lock("again", { ttl: 4_000 });
    await until(() => failures < -1);
    await until(() => lock.state === "held");
    expect(lock.signal.aborted).toBe(false);
  });

  test("that one server cannot do are done through another one", async () => {
    const away = () => Promise.reject(new Fault("unavailable", "test", "away", { retryAfterMs: 50 }));
    const [one, two] = await startPair({}, (engine) => replacing(engine, {}, { renew: away }));
    const seen: ConnectionEvent[] = [];
    const rowlock = client([one.address, two.address], { onConnection: (event) => seen.push(event) });
    const lock = await rowlock.lock("moves", { ttl: 5_000 });
    await until(() => seen.some((event) => event.kind === "connected" && event.replica === two.replica));
    await until(() => lock.state === "held");
    expect(lock.signal.aborted).toBe(false);
  });
});

describe("a server that goes away", () => {
  test("and comes back at the same address keeps locks and places", async () => {
    const { url, drop } = await freshSqlite();
    afterwards(drop);
    const first = await start({ url });
    const rowlock = client(first.address);
    const lock = await rowlock.lock("kept", { ttl: 20_000 });
    const line = waitInLine(rowlock, "kept", 5);
    await until(async () => (await waiting(rowlock, "kept")) === 5);
    await first.stop();
    expect(lock.state).toBe("uncertain");
    const second = await start({ url, port: Number(first.address.split(":")[1]) });
    await until(() => lock.state === "held");
    expect(lock.signal.aborted).toBe(false);
    await until(async () => (await waiting(rowlock, "kept")) === 5);
    expect(await lock.release()).toBe(true);
    const tokens = (await Promise.all(line.locks)).map(({ token }) => token);
    expect(line.order).toEqual(line.inOrder);
    expect(tokens).toEqual([2n, 3n, 4n, 5n, 6n]);
    expect(second.loopFailures).toEqual([]);
  });

  test("by dying: 50 waiters go on through another one, in their order", async () => {
    const [one, two] = await startPair();
    const proxy = await proxyTo(one.address);
    const seen: ConnectionEvent[] = [];
    const rowlock = client([proxy.address, two.address], { onConnection: (event) => seen.push(event) });
    const lock = await rowlock.lock("crowd");
    const line = waitInLine(rowlock, "crowd", 50);
    await until(async () => (await waiting(rowlock, "crowd")) === 50);
    proxy.leave();
    await until(() => seen.length === 3);
    expect(seen).toMatchObject([
      { kind: "connected", replica: one.replica },
      { kind: "disconnected", address: proxy.address },
      { kind: "connected", replica: two.replica },
    ]);
    await until(() => lock.state === "held");
    expect(await lock.release()).toBe(true);
    await Promise.all(line.locks);
    expect(line.order).toEqual(line.inOrder);
    expect((await rowlock.getLock("crowd")).lastToken).toBe(51n);
  });

  test("by falling silent is replaced by another one", async () => {
    const [one, two] = await startPair(SHORT_GRACE);
    const proxy = await proxyTo(one.address);
    const rowlock = client([proxy.address, two.address]);
    const lock = await rowlock.lock("silent", { ttl: 10_000 });
    const line = waitInLine(rowlock, "silent", 3);
    await until(async () => (await waiting(rowlock, "silent")) === 3);
    proxy.freeze();
    await until(() => lock.state === "uncertain");
    await until(() => lock.state === "held");
    await lock.release();
    await Promise.all(line.locks);
    expect(line.order).toEqual(line.inOrder);
  });

  test("in good order is replaced by another one at once", async () => {
    const [one, two] = await startPair();
    const seen: ConnectionEvent[] = [];
    const rowlock = client([one.address, two.address], { onConnection: (event) => seen.push(event) });
    const lock = await rowlock.lock("drained");
    const line = waitInLine(rowlock, "drained", 20);
    await until(async () => (await waiting(rowlock, "drained")) === 20);
    const drained = one.grpc.drain(5_000);
    await until(() => seen.some((event) => event.kind === "connected" && event.replica === two.replica));
    await until(() => lock.state === "held");
    await drained;
    await lock.release();
    await Promise.all(line.locks);
    expect(line.order).toEqual(line.inOrder);
  });

  test("in good order still answers running calls, and its end does not affect what has moved", async () => {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const [one, two] = await startPair({}, (engine) =>
      replacing(
        engine,
        {},
        {
          set_limit: async (input) => {
            asked.resolve();
            await gate.promise;
            return await engine.ask(input);
          },
        },
      ),
    );
    const seen: ConnectionEvent[] = [];
    const rowlock = client([one.address, two.address], { onConnection: (event) => seen.push(event) });
    const lock = await rowlock.lock("moved");
    const limited = rowlock.setLimit({ name: "moved" }, 3, { ifVersion: 0 });
    await asked.promise;
    const drained = one.grpc.drain(20_000);
    await until(() => seen.some((event) => event.kind === "connected" && event.replica === two.replica));
    await until(() => lock.state === "held");
    gate.resolve();
    expect(await limited).toMatchObject({ limit: 3 });
    await until(() => seen.some(({ kind }) => kind === "disconnected"));
    expect(lock.state).toBe("held");
    await drained;
  });

  test("for longer than the lease: the lock is lost, and another one can be had later", async () => {
    const server = await start();
    const proxy = await proxyTo(server.address);
    const rowlock = client(proxy.address);
    const lock = await rowlock.lock("long", { ttl: 1_000 });
    proxy.leave();
    expect(await aborted(lock.signal)).toMatchObject({ reason: "LEASE_LOST" });
    await server.event(({ kind }) => kind === "ended");
    await proxy.comeBack();
    expect(await lock.release()).toBe(false);
    expect((await rowlock.lock("long")).token).toBe(2n);
  });

  test("for good: work under the lock ends when the lease does, and nothing waits for the release", async () => {
    const server = await start();
    const proxy = await proxyTo(server.address);
    const rowlock = client(proxy.address, { giveUpAfter: Number.POSITIVE_INFINITY });
    const work = rowlock.withLock("gone", { ttl: 1_000 }, async ({ signal }) => {
      proxy.leave();
      await aborted(signal);
      return performance.now();
    });
    await expect(work).rejects.toMatchObject({ reason: "LEASE_LOST" });
  });

  test("during a call: safe calls are repeated, and no others", async () => {
    const asked: string[] = [];
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(
          engine,
          {
            view: async (name) => {
              asked.push(name);
              await gate.promise;
              return await engine.view(name);
            },
          },
          {
            set_limit: async (input) => {
              asked.push(input.name);
              await gate.promise;
              return await engine.ask(input);
            },
          },
        ),
    });
    const proxy = await proxyTo(server.address);
    const rowlock = client(proxy.address);
    const safe = rowlock.getLock("safe");
    const unsafe = rowlock.setLimit({ name: "unsafe" }, 3);
    const failed = expect(unsafe).rejects.toMatchObject({ reason: "CONNECTION_LOST", code: "UNAVAILABLE" });
    await until(() => asked.length === 2);
    proxy.leave();
    await failed;
    await proxy.comeBack();
    gate.resolve();
    expect(await safe).toMatchObject({ name: "safe" });
    expect(asked.sort()).toEqual(["safe", "safe", "unsafe"]);
  });
});

describe("many", () => {
  test("a thousand waits do not delay renewals", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const kept = await Promise.all(
      Array.from({ length: 20 }, (_, index) => rowlock.lock(`kept/${index}`, { ttl: 8_000 })),
    );
    const held = await rowlock.lock("hot");
    const waits: Promise<Lock>[] = Array.from({ length: 1_000 }, () => rowlock.lock("hot"));
    await until(async () => (await waiting(rowlock, "hot")) === 1_000);
    const renewals = () => server.calls.filter(({ method }) => method === "RenewLeases").length;
    const sofar = renewals();
    await until(() => renewals() >= sofar + 2);
    expect(kept.map(({ state }) => state)).toEqual(kept.map(() => "held"));
    await rowlock.setLimit({ name: "hot" }, 1_001);
    const all = await Promise.all(waits);
    expect(new Set(all.map(({ token }) => token)).size).toBe(1_000);
    expect(kept.map(({ state }) => state)).toEqual(kept.map(() => "held"));
    await held.release();
  });

  test("more leases than one request may hold are kept", async () => {
    const server = await start({ grpc: { receiveBytesMax: 1_024 } });
    const rowlock = client(server.address);
    const ttl = { ttl: 4_000 };
    const locks = await Promise.all(
      Array.from({ length: 60 }, (_, index) => rowlock.lock(`many/${index}`, ttl)),
    );
    const renewals = () => server.calls.filter(({ method }) => method === "RenewLeases").length;
    // At least four times for each lease.
    await until(() => renewals() >= 16);
    await until(() => locks.every(({ state }) => state === "held"));
    expect(server.calls.filter(({ code }) => code !== "OK")).toEqual([]);
  });

  test("more waits than a session may have take turns", async () => {
    const server = await start({ grpc: { sessionWaitsMax: 3, sessionCommandsMax: 2 } });
    const rowlock = client(server.address);
    const lock = await rowlock.lock("bounded");
    const line = waitInLine(rowlock, "bounded", 10);
    await until(async () => (await waiting(rowlock, "bounded")) === 3);
    await lock.release();
    await Promise.all(line.locks);
    expect(line.order).toEqual(line.inOrder);
    expect(server.calls.filter(({ code }) => code !== "OK")).toEqual([]);
  });
});

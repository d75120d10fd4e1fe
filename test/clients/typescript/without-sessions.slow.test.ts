// If a proxy lets no streams through, the client does the same with unary calls.

import { Server, ServerCredentials } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { ConnectionEvent, Lock } from "../../../clients/typescript/src/index.ts";
import { startDroppingProxy } from "../../support/dropping-proxy.ts";
import { type StartOptions, until } from "../../support/harness.ts";
import { type Refusal, startRefusingProxy } from "../../support/refusing-proxy.ts";
import { aborted, afterwards, client, start, startPair, waitInLine, waiting } from "./stage.ts";

const REFUSALS: Refusal[] = ["UNIMPLEMENTED", "RESET", 400, 403, 405];

async function startBehindProxy(how: Refusal = 403, options?: StartOptions) {
  const server = await start(options);
  const proxy = await startRefusingProxy(server.address, how);
  afterwards(() => proxy.close());
  return { server, proxy };
}

describe.each(REFUSALS)("behind a proxy that answers sessions by %s", (how) => {
  test("a lock is held, renewed over several ttls, waited for with places, and released", async () => {
    const { server, proxy } = await startBehindProxy(how);
    const seen: ConnectionEvent[] = [];
    const onConnection = (event: ConnectionEvent) => seen.push(event);
    const rowlock = client(proxy.address, { owner: "etl", labels: { host: "a1" }, onConnection });
    const lock = await rowlock.lock("queue", { ttl: 2_000, labels: { job: "7" } });
    expect(seen).toMatchObject([
      { kind: "disconnected", address: proxy.address },
      { kind: "connected", address: proxy.address, via: "unary", replica: "" },
    ]);
    expect((await rowlock.getLock("queue")).holders).toMatchObject([
      { owner: "etl", labels: { host: "a1", job: "7" }, token: 1n },
    ]);
    const first = rowlock.lock("queue");
    await until(async () => (await waiting(rowlock, "queue")) === 1);
    const places: number[] = [];
    const second = rowlock.lock("queue", {
      positionInterval: 0,
      onPosition: ({ ahead }) => places.push(ahead),
    });
    await until(() => places.length > 0);
    const renewals = () => server.calls.filter(({ method }) => method === "Renew").length;
    await until(() => renewals() >= 4);
    await until(() => lock.state === "held");
    expect(await lock.release()).toBe(true);
    expect((await first).token).toBe(2n);
    await until(() => places.length > 1);
    expect(places).toEqual([1, 0]);
    await (await first).release();
    expect((await second).token).toBe(3n);
    expect(proxy.asked.filter((method) => method === "Session")).toHaveLength(1);
    expect(proxy.asked).not.toContain("WaitInQueue");
    // The client sent the call that every server refuses only once, to see whether a server answers.
    expect(server.calls.filter(({ code }) => code !== "OK")).toMatchObject([
      { method: "Renew", code: "INVALID_ARGUMENT" },
    ]);
  });
});

describe("by unary calls", () => {
  test("a grant after a wait is not provisional", async () => {
    const rules = { graceUs: 2_000_000, attachedForUs: 2_500_000 };
    const { proxy } = await startBehindProxy(403, { rules });
    const rowlock = client(proxy.address);
    const held = await rowlock.lock("whole");
    const next = rowlock.lock("whole");
    await until(async () => (await waiting(rowlock, "whole")) === 1);
    await held.release();
    expect((await next).remainingMs).toBeGreaterThan(20_000);
  });

  test("a place is kept for longer than the grace period, and is free at once when it is given up", async () => {
    const rules = { graceUs: 1_000_000, attachedForUs: 1_250_000 };
    const { server, proxy } = await startBehindProxy(403, { rules });
    const rowlock = client(proxy.address);
    await rowlock.lock("place");
    const giveUp = new AbortController();
    const waits = rowlock.lock("place", { signal: giveUp.signal });
    const behind = rowlock.lock("place");
    behind.catch(() => {});
    await until(async () => (await waiting(rowlock, "place")) === 2);
    const questions = () => proxy.asked.filter((method) => method === "Acquire").length;
    const sofar = questions();
    // Four per grace period for each of the two waits.
    await until(() => questions() >= sofar + 16);
    expect(server.events.filter(({ kind }) => kind === "ended")).toEqual([]);
    giveUp.abort(new Error("enough"));
    await expect(waits).rejects.toThrow("enough");
    expect(await server.event(({ kind }) => kind === "ended")).toMatchObject({
      claim: { endReason: "cancelled" },
    });
  });

  test("a refusal is a refusal, and a mistake a mistake", async () => {
    const { proxy } = await startBehindProxy();
    const rowlock = client(proxy.address);
    await rowlock.lock("busy");
    expect(await rowlock.tryLock("busy")).toBeNull();
    await expect(rowlock.lock("busy", { wait: 50 })).rejects.toMatchObject({ reason: "TIMED_OUT" });
    await expect(rowlock.lock("", { permits: 2_000_000 })).rejects.toMatchObject({
      reason: "BAD_REQUEST",
      violations: expect.arrayContaining([expect.objectContaining({ field: "permits" })]),
    });
    await expect(rowlock.lock("x".repeat(70_000))).rejects.toMatchObject({ reason: "MESSAGE_TOO_LARGE" });
    const late = rowlock.setLimit({ name: "busy" }, 4, { ifVersion: 7 });
    await expect(late).rejects.toMatchObject({ reason: "VERSION_MISMATCH" });
    expect(await rowlock.setLimit({ name: "busy" }, 2, { ifVersion: 0 })).toMatchObject({ limit: 2 });
    expect((await rowlock.tryLock("busy"))?.token).toBe(2n);
    expect(await Array.fromAsync(rowlock.listLocks(), ({ name }) => name)).toEqual(["busy"]);
  });

  test("a lock is lost before its lease ends when renewals do not get through", async () => {
    const { server, proxy } = await startBehindProxy();
    const lock = await client(proxy.address).lock("lost", { ttl: 1_500, margin: 300 });
    proxy.leave();
    await until(() => lock.state === "uncertain");
    expect(await aborted(lock.signal)).toMatchObject({ reason: "LEASE_LOST" });
    expect(server.events.filter(({ kind }) => kind === "ended")).toEqual([]);
    await server.event(({ kind }) => kind === "ended");
  });

  test("a lock that an operator ended is lost with its next renewal", async () => {
    const { proxy } = await startBehindProxy();
    const rowlock = client(proxy.address);
    const lock = await rowlock.lock("forced", { ttl: 1_000 });
    expect(await rowlock.forceRelease({ name: "forced" }, "stuck")).toMatchObject({ remaining: 0 });
    expect(await aborted(lock.signal)).toMatchObject({
      reason: "LEASE_LOST",
      end: { reason: "FORCE_RELEASED" },
    });
  });

  test("everything resumes after the connection was lost", async () => {
    const { proxy } = await startBehindProxy();
    const rowlock = client(proxy.address);
    const lock = await rowlock.lock("kept");
    const line = waitInLine(rowlock, "kept", 5);
    await until(async () => (await waiting(rowlock, "kept")) === 5);
    proxy.leave();
    await until(() => lock.state === "uncertain");
    await proxy.comeBack();
    await until(() => lock.state === "held");
    expect(await waiting(rowlock, "kept")).toBe(5);
    await lock.release();
    const tokens = (await Promise.all(line.locks)).map(({ token }) => token);
    expect(line.order).toEqual(line.inOrder);
    expect(tokens).toEqual([2n, 3n, 4n, 5n, 6n]);
  });

  test("everything moves to a session, and back, as one or the other is available", async () => {
    const { server, proxy } = await startBehindProxy();
    const [host, port] = server.address.split(":") as [string, string];
    const open = await startDroppingProxy(host, Number(port));
    afterwards(() => open.close());
    const vias: string[] = [];
    const rowlock = client([proxy.address, `127.0.0.1:${open.port}`], {
      onConnection: (event) => event.kind === "connected" && vias.push(event.via),
    });
    const lock = await rowlock.lock("moves");
    const line = waitInLine(rowlock, "moves", 5);
    await until(async () => (await waiting(rowlock, "moves")) === 5);
    proxy.leave();
    await until(() => vias.length === 2 && lock.state === "held");
    expect(await waiting(rowlock, "moves")).toBe(5);
    await proxy.comeBack();
    open.leave();
    await until(() => vias.length === 3 && lock.state === "held");
    expect(vias).toEqual(["unary", "session", "unary"]);
    await lock.release();
    const tokens = (await Promise.all(line.locks)).map(({ token }) => token);
    expect(line.order).toEqual(line.inOrder);
    expect(tokens).toEqual([2n, 3n, 4n, 5n, 6n]);
  });

  test("a server that stops in good order is left for another one at once", async () => {
    const [one, two] = await startPair();
    const proxy = await startRefusingProxy(one.address, 403);
    afterwards(() => proxy.close());
    const seen: ConnectionEvent[] = [];
    const rowlock = client([proxy.address, two.address], { onConnection: (event) => seen.push(event) });
    const lock = await rowlock.lock("drained", { ttl: 10_000 });
    const line = waitInLine(rowlock, "drained", 3);
    await until(async () => (await waiting(rowlock, "drained")) === 3);
    const drained = one.grpc.drain(5_000);
    await until(() => seen.some((event) => event.kind === "connected" && event.replica === two.replica));
    await until(() => lock.state === "held");
    await drained;
    await lock.release();
    await Promise.all(line.locks);
    expect(line.order).toEqual(line.inOrder);
  });

  test("a silent server is left for another one", async () => {
    const { server, proxy } = await startBehindProxy();
    const rowlock = client([proxy.address, server.address]);
    const lock = await rowlock.lock("silent", { ttl: 20_000 });
    const next = rowlock.lock("silent");
    await until(async () => (await waiting(rowlock, "silent")) === 1);
    proxy.freeze();
    await until(() => lock.state === "uncertain");
    await until(() => lock.state === "held");
    await lock.release();
    expect((await next).token).toBe(2n);
  });

  test("three hundred waits do not delay renewals", async () => {
    const { server, proxy } = await startBehindProxy();
    const rowlock = client(proxy.address);
    // The first renewal is due after a third of this; until then a busy machine can make the other calls.
    const kept = await rowlock.lock("kept", { ttl: 10_000 });
    const held = await rowlock.lock("hot");
    const waits: Promise<Lock>[] = Array.from({ length: 300 }, () => rowlock.lock("hot"));
    await until(async () => (await waiting(rowlock, "hot")) === 300);
    const renewals = () => server.calls.filter(({ method }) => method === "Renew").length;
    const sofar = renewals();
    await until(() => renewals() >= sofar + 2);
    await until(() => kept.state === "held");
    await rowlock.setLimit({ name: "hot" }, 301);
    const tokens = new Set((await Promise.all(waits)).map(({ token }) => token));
    expect(tokens.size).toBe(300);
    expect(kept.state).toBe("held");
    await held.release();
  });

  test("outdated headers are created anew", async () => {
    const { proxy } = await startBehindProxy();
    let made = 0;
    const rowlock = client(proxy.address, { headers: () => ({ authorization: `Bearer ${++made}` }) });
    const lock = await rowlock.lock("headers", { ttl: 5_000 });
    const sofar = made;
    proxy.refuseAll(401);
    await until(() => made > sofar);
    proxy.refuseAll(undefined);
    await until(() => lock.state === "held");
    expect(lock.signal.aborted).toBe(false);
  });

  test("closing gives back held locks and waits", async () => {
    const { server, proxy } = await startBehindProxy();
    const rowlock = client(proxy.address);
    const lock = await rowlock.lock("closed");
    const waits = rowlock.lock("closed");
    await until(async () => (await waiting(rowlock, "closed")) === 1);
    const failed = expect(waits).rejects.toMatchObject({ reason: "CLOSED" });
    await rowlock.close();
    await failed;
    expect(lock.signal.aborted).toBe(true);
    const view = (await server.client.call("getLock", { name: "closed" })).lock;
    expect(view).toMatchObject({ holderCount: 0, waiterCount: 0 });
  });
});

test("a server of another service is no server, and the error says so at once", async () => {
  const other = new Server();
  const port = await new Promise<number>((resolve, reject) =>
    other.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  afterwards(() => other.forceShutdown());
  const failed = await client(`127.0.0.1:${port}`, { giveUpAfter: 60_000 })
    .lock("other")
    .catch((error: unknown) => error);
  expect(failed).toMatchObject({ reason: "NO_SERVER" });
  expect(String(failed)).toContain("a gRPC server answers there, not a Rowlock server");
  expect(String(failed)).not.toContain("No answer within");
});

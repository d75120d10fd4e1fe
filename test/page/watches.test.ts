// Watches of the page: what they show, how many there may be, and that they end with their browser and with the server.

import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { PAGE_WATCHES_MAX } from "../../server/page/page-bounds.ts";
import { until } from "../support/harness.ts";
import { type PageServer, startPageServer } from "./page-stage.ts";
import { posted, sent } from "./requests.ts";

const TTL = { seconds: 60n, nanos: 0 };
const watchesOf = ({ page }: PageServer) => page.bounds.find(({ bound }) => bound === "page_watches")?.used;

test("a watch shows the locks, and then their changes", async () => {
  const server = await startPageServer();
  const { leaseId } = await server.client.lease({ name: "etl/a", ttl: TTL, owner: "anna" });
  const watch = await server.watch("etl/");
  expect(watch.headers).toMatchObject({ "content-type": "text/event-stream", "cache-control": "no-store" });
  await watch.until(({ events }) => events.some(({ data }) => data.complete));
  expect(watch.locks.get("etl/a").holders).toMatchObject([{ owner: "anna" }]);
  await server.client.call("release", { leaseId });
  await watch.until(({ locks }) => locks.get("etl/a").holders === undefined);
  await server.client.lease({ name: "web/a", ttl: TTL });
  await server.client.lease({ name: "etl/b", ttl: TTL, owner: "ben" });
  await watch.until(({ locks }) => locks.has("etl/b"));
  expect(watch.locks.has("web/a")).toBe(false);
});

test("a watch shows what a gRPC client's watch shows", async () => {
  const server = await startPageServer();
  for (const name of ["a", "b", "c"]) await server.client.lease({ name, ttl: TTL, owner: name });
  const [byPage, byGrpc] = [await server.watch(""), server.client.watch("")];
  await byGrpc.complete();
  await byPage.until(({ events }) => events.some(({ data }) => data.complete));
  const owners = [...byPage.locks.values()].map(({ holders }) => holders[0].owner);
  expect(owners).toEqual([...byGrpc.locks.values()].map(({ holders }) => holders[0]?.owner));
  byGrpc.cancel();
});

test("a request that is wrong is refused before the watch begins", async () => {
  const server = await startPageServer();
  const watch = await server.watch("x".repeat(300));
  expect(watch.status).toBe(400);
  expect(await watch.refusal()).toMatchObject({ reason: "BAD_REQUEST", violations: [{ field: "prefix" }] });
});

test("watches beyond those of all pages are refused, until one has ended", async () => {
  const server = await startPageServer();
  const watches = await Promise.all(Array.from({ length: PAGE_WATCHES_MAX }, () => server.watch("")));
  expect(watches.map(({ status }) => status)).toEqual(Array(PAGE_WATCHES_MAX).fill(200));
  const refused = await server.watch("");
  expect(refused.status).toBe(429);
  expect(await refused.refusal()).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" });
  // They take no room from calls, scrapes and probes.
  expect((await server.ask("/api/GetLock", posted({ name: "x" }))).status).toBe(200);
  expect((await server.ask("/readyz")).text).toBe("ready\n");
  watches[0]?.leave();
  await until(() => watchesOf(server) === PAGE_WATCHES_MAX - 1);
  expect((await server.watch("")).status).toBe(200);
});

test("a watch ends when its browser goes", async () => {
  const server = await startPageServer();
  const watch = await server.watch("");
  await watch.until(({ events }) => events.length > 0);
  expect([watchesOf(server), server.openStreams()]).toEqual([1, 1]);
  watch.leave();
  await until(() => server.openStreams() === 0 && watchesOf(server) === 0);
  expect(server.calls.map(({ method, code, via }) => [method, code, via])).toEqual([
    ["WatchLocks", "CANCELLED", "page"],
  ]);
  expect(server.watchEvents.map(({ kind }) => kind)).toContain("watch_closed");
  expect([server.logLines, server.errors]).toEqual([[], []]);
});

describe("a server that stops", () => {
  test("ends watches at once, says so, and takes no new ones", async () => {
    const server = await startPageServer();
    const watch = await server.watch("");
    await watch.until(({ events }) => events.length > 0);
    // A call that takes as long as the drain may last.
    const blocked = server.client.wait({ target: { case: "acquire", value: { name: "x", ttl: TTL } } });
    await blocked.granted();
    const drained = server.grpc.drain(60_000);
    expect(await watch.end()).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    expect(await watch.ended).toBe(true);
    const late = await server.watch("");
    expect([late.status, (await late.refusal()).reason]).toEqual([503, "SHUTTING_DOWN"]);
    await drained;
  });

  test("does not wait for a browser that does not read", async () => {
    const server = await startPageServer();
    const deaf = await deafWatch(server);
    await server.grpc.drain(60_000);
    expect(server.openStreams()).toBe(0);
    deaf.destroy();
  });
});

/** A watch of which nothing is read: its socket, as soon as the watch is open. */
async function deafWatch(server: PageServer): Promise<Socket> {
  let socket: Socket | undefined;
  void sent(server.port, "/api/WatchLocks", posted({ prefix: "" }), (request) => {
    request.on("error", () => {});
    request.once("socket", (one) => {
      socket = one;
      one.once("connect", () => one.pause());
    });
  }).catch(() => {});
  await until(() => server.openStreams() === 1);
  return socket as Socket;
}

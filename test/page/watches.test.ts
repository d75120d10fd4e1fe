// Watches of the page: what they show, how many there may be, and that they end with their browser and with the server.

import { describe, expect, test } from "vitest";
import { PAGE_WATCHES } from "../../server/page/page-bounds.ts";
import { until } from "../support/harness.ts";
import { lasting } from "../support/lasting.ts";
import type { EventReader } from "./event-reader.ts";
import { knownCallers, type PageServer, startPageServer } from "./page-stage.ts";
import { posted } from "./requests.ts";

const watchesOf = ({ door }: PageServer) => door.bounds.find(({ bound }) => bound === "page_watches")?.used;

test("a watch shows the locks, and then their changes", async () => {
  const server = await startPageServer();
  const { leaseId } = await server.client.lease({
    name: "etl/a",
    terms: lasting("anna"),
  });
  const watch = await server.watch("etl/");
  expect(watch.headers).toMatchObject({ "content-type": "text/event-stream", "cache-control": "no-store" });
  await watch.until(({ events }) => events.some(({ data }) => data.complete));
  expect(watch.locks.get("etl/a").holders).toMatchObject([{ owner: "anna" }]);
  await server.client.call("release", { leaseId });
  await watch.until(({ locks }) => locks.get("etl/a").holders === undefined);
  await server.client.lease({ name: "web/a", terms: lasting() });
  await server.client.lease({ name: "etl/b", terms: lasting("ben") });
  await watch.until(({ locks }) => locks.has("etl/b"));
  expect(watch.locks.has("web/a")).toBe(false);
});

describe("watches", () => {
  const { max, ofCaller, ofNetwork } = PAGE_WATCHES;

  async function refused(asked: Promise<EventReader>, message: string): Promise<void> {
    const watch = await asked;
    expect(watch.status).toBe(429);
    expect(await watch.refusal()).toMatchObject({
      code: "resource_exhausted",
      reason: "OVERLOADED",
      message: expect.stringContaining(message),
    });
  }

  test("beyond those of all pages are refused, until one has ended", async () => {
    const server = await startPageServer();
    const from = (at: number) => server.watch("", undefined, `127.0.1.${at + 1}`);
    const watches = await Promise.all(Array.from({ length: max }, (_, at) => from(at)));
    expect(watches.map(({ status }) => status)).toEqual(Array(max).fill(200));
    await refused(from(max), "end one, or ask another server");
    // They take no room from calls, scrapes and probes.
    expect((await server.ask("/rowlock.v1.LockService/GetLock", posted({ name: "x" }))).status).toBe(200);
    expect((await server.ask("/readyz")).text).toBe("ready\n");
    watches[0]?.leave();
    await until(() => watchesOf(server) === max - 1);
    expect((await from(max)).status).toBe(200);
  });

  test("of one network leave room for others, and one with fewer takes a place of the one with most", async () => {
    const server = await startPageServer();
    const first = await Promise.all(Array.from({ length: ofNetwork }, () => server.watch("")));
    await refused(server.watch(""), "in your network");
    const others = Array.from({ length: max - ofNetwork }, () => server.watch("", undefined, "127.0.0.2"));
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 200));
    expect((await server.watch("", undefined, "127.0.0.3")).status).toBe(200);
    expect(await first[0]?.ended).toBe(false);
    expect(watchesOf(server)).toBe(max);
  });

  test("of one caller leave room for others at the same address", async () => {
    const { access, tokens } = knownCallers(["anna", "ben"], null);
    const server = await startPageServer({ gate: access });
    for (let count = 0; count < ofCaller; count++)
      expect((await server.watch("", tokens.anna)).status).toBe(200);
    await refused(server.watch("", tokens.anna), "one caller");
    expect((await server.watch("", tokens.ben)).status).toBe(200);
  });
});

test("a watch ends when its browser goes", async () => {
  const server = await startPageServer();
  const watch = await server.watch("");
  await watch.until(({ events }) => events.length > 0);
  expect([watchesOf(server), server.openStreams()]).toEqual([1, 1]);
  watch.leave();
  await until(() => server.openStreams() === 0 && watchesOf(server) === 0);
  expect(server.calls.map(({ method, code, via }) => [method, code, via])).toEqual([
    ["WatchLocks", "CANCELLED", "http"],
  ]);
  expect(server.watchEvents.map(({ kind }) => kind)).toContain("watch_closed");
  expect([server.logLines, server.errors]).toEqual([[], []]);
});

test("a server that stops ends watches at once, says so, and takes no new ones", async () => {
  const server = await startPageServer();
  const watch = await server.watch("");
  await watch.until(({ events }) => events.length > 0);
  // A call that takes as long as the drain may last.
  const blocked = server.client.wait({
    target: { case: "request", value: { name: "x", terms: lasting() } },
  });
  await blocked.granted();
  const drained = server.grpc.drain(60_000);
  expect(await watch.end()).toMatchObject({ code: "unavailable", reason: "SHUTTING_DOWN" });
  expect(await watch.ended).toBe(true);
  const late = await server.watch("");
  expect([late.status, (await late.refusal()).reason]).toEqual([503, "SHUTTING_DOWN"]);
  await drained;
});

// WaitInQueue through a real client: places, grants, ends, and a client that goes away in each phase.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EndReason } from "#proto/rowlock/v1/lock_pb.js";
import type { Event } from "../../../server/core/command.ts";
import type { Follower } from "../../../server/engine/answers.ts";
import { gatedVerb } from "../../support/gated-verb.ts";
import type { TestServer } from "../../support/harness.ts";
import { lockIdOf, replacing, serverOfTest, startServer, until } from "../../support/harness.ts";
import { queued as acquire, comeBack } from "../../support/test-calls.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const AT_ONCE = { seconds: 0n, nanos: 0 };
/** Comes after the server has queued the waiter, even on a busy machine. */
const DEADLINE_MS = 1_500;
const release = (leaseId: string) => server.client.call("release", { leaseId });
const endOf = (claimId: string) => (event: Event) =>
  event.kind === "ended" && event.claim.lockId === lockIdOf(claimId) && event.was === "waiting";

describe("a new request", () => {
  test("is granted at once if the lock is free, and the stream is closed", async () => {
    const stream = server.client.wait(acquire({ name: "free", requestId: "free-1" }));
    expect(await stream.granted()).toMatchObject({ lockName: "free", fencingToken: 1n, requestId: "free-1" });
  });

  test("first gets its place, then the grant, with the same id", async () => {
    const held = await server.client.lease({ name: "place" });
    const stream = server.client.wait(acquire({ name: "place" }));
    const ticket = await stream.position();
    expect(ticket).toMatchObject({ lockName: "place", ahead: 0, permitsAhead: 0n, queueLength: 1 });
    expect(ticket.keptFor).toMatchObject({ seconds: 10n });
    await release(held.leaseId);
    expect(await stream.granted()).toMatchObject({ leaseId: ticket.ticketId, fencingToken: 2n });
  });

  test("gets each step as it moves up, and no message about later waiters", async () => {
    const held = await server.client.lease({ name: "steps" });
    const first = await server.client.ticket({ name: "steps" });
    const second = await server.client.ticket({ name: "steps" });
    const stream = server.client.wait({ ...acquire({ name: "steps" }), minUpdateInterval: AT_ONCE });
    expect((await stream.position()).ahead).toBe(2);
    await server.client.ticket({ name: "steps" });
    await release(second.ticketId);
    expect(await stream.position()).toMatchObject({ ahead: 1, permitsAhead: 1n, queueLength: 3 });
    await release(first.ticketId);
    const last = await stream.position();
    expect(last).toMatchObject({ ahead: 0, permitsAhead: 0n });
    expect(Number(last.waited?.seconds) + (last.waited?.nanos ?? 0)).toBeGreaterThan(0);
    await release(held.leaseId);
    expect((await stream.granted()).fencingToken).toBe(2n);
  });

  test("ends when waiting can no longer help, with the lowered limit and its reason", async () => {
    await server.client.limit("lowered", 3);
    const { leaseId } = await server.client.lease({ name: "lowered" });
    const stream = server.client.wait(acquire({ name: "lowered", permits: 3 }));
    await stream.position();
    await server.client.limit("lowered", 2, { reason: "fewer seats" });
    await release(leaseId);
    expect(await stream.ended()).toMatchObject({
      reason: EndReason.NEVER_FITS,
      message: expect.stringContaining("the limit, or the burst of the rate, is lower"),
      limit: { permits: 2, version: 2n, reason: "fewer seats" },
    });
  });

  test("waits for a paused lock", async () => {
    await server.client.limit("paused", 0);
    const stream = server.client.wait(acquire({ name: "paused" }));
    await stream.position();
    await server.client.limit("paused", 1);
    expect((await stream.granted()).lockName).toBe("paused");
  });

  test("that ends under a pause names it", async () => {
    await server.client.limitAll("upgraded/*", 0, { reason: "upgrade" });
    const maxWait = { seconds: 0n, nanos: 50_000_000 };
    const stream = server.client.wait(acquire({ name: "upgraded/a", maxWait }));
    expect(await stream.ended()).toMatchObject({
      reason: EndReason.TIMED_OUT,
      message: expect.stringMatching(
        /it is paused, as its limit is 0, by the pattern "upgraded\/\*" \(reason: upgrade\)\.$/,
      ),
      limit: { permits: 0, pattern: "upgraded/*", reason: "upgrade" },
    });
  });

  test("repeated with its request id finds its place, its lease and its end", async () => {
    const held = await server.client.lease({ name: "repeat" });
    const request = acquire({ name: "repeat", requestId: "repeat-1" });
    const [first, second] = [server.client.wait(request), server.client.wait(request)];
    const ids = [(await first.position()).ticketId, (await second.position()).ticketId];
    expect(ids[0]).toBe(ids[1]);
    await release(held.leaseId);
    const leases = [await first.granted(), await second.granted()];
    expect(leases.map(({ fencingToken }) => fencingToken)).toEqual([2n, 2n]);
    expect((await server.client.wait(request).granted()).fencingToken).toBe(2n);
    await release(ids[0] as string);
    expect(await server.client.wait(request).ended()).toMatchObject({ reason: EndReason.RELEASED });
  });
});

describe("a ticket", () => {
  test("from an Acquire can be followed to the grant", async () => {
    const held = await server.client.lease({ name: "ticket" });
    const ticket = await server.client.ticket({ name: "ticket" });
    const stream = server.client.wait(comeBack(ticket.ticketId));
    expect(await stream.position()).toMatchObject({ ticketId: ticket.ticketId, ahead: 0, queueLength: 1 });
    await release(held.leaseId);
    expect((await stream.granted()).leaseId).toBe(ticket.ticketId);
  });

  test("that is given up ends every stream that follows it", async () => {
    await server.client.lease({ name: "given-up" });
    const stream = server.client.wait(acquire({ name: "given-up" }));
    const { ticketId } = await stream.position();
    const other = server.client.wait(comeBack(ticketId));
    await other.position();
    expect(await release(ticketId)).toMatchObject({ released: true });
    for (const each of [stream, other]) {
      expect(await each.ended()).toMatchObject({ reason: EndReason.CANCELLED });
    }
  });

  test("that an operator ends returns the reason", async () => {
    await server.client.lease({ name: "forced" });
    const stream = server.client.wait(acquire({ name: "forced" }));
    await stream.position();
    const claim = { lockName: "forced", ticketNumber: 2n };
    await server.client.call("forceRelease", {
      target: { case: "claim", value: claim },
      reason: "not tonight",
    });
    expect(await stream.ended()).toMatchObject({
      reason: EndReason.FORCE_RELEASED,
      message: expect.stringContaining("not tonight"),
    });
  });

  test("that is unknown is an error", async () => {
    const stream = server.client.wait(comeBack("zz.1.abcdefghijklmnopqrstuv"));
    expect(await stream.failure()).toMatchObject({ code: "NOT_FOUND", reason: "UNKNOWN_CLAIM" });
  });
});

test("a request with both targets means the last one, as it does everywhere in protobuf", async () => {
  const ticketId = "zz.1.abcdefghijklmnopqrstuv";
  const acquireFirst = [0x0a, 3, 0x0a, 1, 0x61];
  const both = Buffer.from([...acquireFirst, 0x12, ticketId.length, ...Buffer.from(ticketId)]);
  expect(await server.client.wait(both).failure()).toMatchObject({ reason: "UNKNOWN_CLAIM" });
  const { locks } = await server.client.call("listLocks", { prefix: "a" });
  expect(locks.map(({ name }) => name)).not.toContain("a");
});

describe("a client that leaves", () => {
  test("before the first answer leaves the queue, because it knows no ticket to come back to", async () => {
    const isMeant = (_ask: unknown, waiter: unknown) => Boolean(waiter);
    const { wrapEngine, reached, letGo } = gatedVerb("acquire", { when: "after", isMeant });
    const slow = await serverOfTest({ wrapEngine });
    await slow.client.lease({ name: "early" });
    const stream = slow.client.wait(acquire({ name: "early" }));
    const failure = stream.failure();
    await reached;
    stream.cancel();
    expect(await failure).toMatchObject({ code: "CANCELLED" });
    await slow.client.shown("early");
    letGo();
    const end = await slow.event(({ kind }) => kind === "ended");
    expect(end).toMatchObject({ was: "waiting", claim: { endReason: "cancelled" } });
  });

  test("during the wait keeps its place for the grace period, and finds it again", async () => {
    const held = await server.client.lease({ name: "back" });
    const lost = server.client.wait(acquire({ name: "back" }));
    const { ticketId } = await lost.position();
    await server.client.ticket({ name: "back" });
    lost.cancel();
    await until(() => server.engine.waiterCount === 0);
    const stream = server.client.wait(comeBack(ticketId));
    expect(await stream.position()).toMatchObject({ ticketId, ahead: 0, queueLength: 2 });
    await release(held.leaseId);
    expect((await stream.granted()).leaseId).toBe(ticketId);
  });

  test("during the wait and does not come back loses its place after the grace period", async () => {
    const hasty = await serverOfTest({ rules: { graceUs: 50_000, attachedForUs: 10_000_000 } });
    await hasty.client.lease({ name: "lapsed" });
    const stream = hasty.client.wait(acquire({ name: "lapsed" }));
    await stream.position();
    stream.cancel();
    const end = await hasty.event(({ kind }) => kind === "ended");
    expect(end).toMatchObject({ was: "waiting", claim: { endReason: "lapsed" } });
  });

  test("by its deadline keeps its place, too", async () => {
    const held = await server.client.lease({ name: "deadline" });
    const stream = server.client.wait(acquire({ name: "deadline" }), { timeout: DEADLINE_MS });
    const { ticketId } = await stream.position();
    expect(await stream.failure()).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    await until(() => server.engine.waiterCount === 0);
    await release(held.leaseId);
    expect((await server.client.wait(comeBack(ticketId)).granted()).fencingToken).toBe(2n);
    expect(server.events.some(endOf(ticketId))).toBe(false);
  });

  test("leaves no stream open and no claim followed", async () => {
    await until(() => server.openStreams() === 0 && server.engine.waiterCount === 0);
    const codes = new Set(
      server.calls.filter(({ method }) => method === "WaitInQueue").map(({ code }) => code),
    );
    expect([...codes].sort()).toEqual(["CANCELLED", "DEADLINE_EXCEEDED", "NOT_FOUND", "OK"]);
    expect(server.loopFailures).toEqual([]);
    expect(server.logLines).toEqual([]);
  });
});

test("a place that cannot be read ends the stream, and the ticket lives on by its grace period", async () => {
  const { client, engine } = await serverOfTest({
    wrapEngine: (engine) => replacing(engine, { place: () => Promise.reject(new Error("no place")) }),
  });
  await client.lease({ name: "unread" });
  const { ticketId } = await client.ticket({ name: "unread" });
  expect(await client.wait(comeBack(ticketId)).failure()).toMatchObject({ code: "INTERNAL" });
  expect(engine.waiterCount).toBe(0);
  expect((await client.shown("unread")).waiters).toHaveLength(1);
});

test("a place that cannot be shown ends its stream, and not the process", async () => {
  const waiting = Promise.withResolvers<Follower>();
  const odd = await serverOfTest({
    wrapEngine: (engine) =>
      replacing(engine, {
        async acquire(ask, waiter) {
          const answer = await engine.acquire(ask, waiter);
          if (waiter) waiting.resolve(waiter);
          return answer;
        },
      }),
  });
  await odd.client.lease({ name: "odd" });
  const stream = odd.client.wait({ ...acquire({ name: "odd" }), minUpdateInterval: AT_ONCE });
  await stream.position();
  const waiter = await waiting.promise;
  // Repeatedly, because the engine also reports the true place.
  const telling = setInterval(
    () => waiter.placed?.({ ahead: -0.5, permitsAhead: 0.5, queueLength: 1 }, 1),
    1,
  );
  expect(await stream.failure()).toMatchObject({ code: "INTERNAL", reason: "INTERNAL" });
  clearInterval(telling);
  expect(odd.logLines).toMatchObject([{ level: "error", fields: { err: expect.any(RangeError) } }]);
  expect(odd.engine.waiterCount).toBe(0);
});

// Acquire through a real client: granted, refused, queued, blocked, repeated, abandoned.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EndReason, LimitSource, Mode, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import type { TestServer } from "../../support/harness.ts";
import { expectLeft, lockIdOf, replacing, serverOfTest, startServer, until } from "../../support/harness.ts";
import { lasting, leaseIn, seconds, WHEN_BUSY } from "../../support/test-calls.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const call: TestServer["client"]["call"] = (...args) => server.client.call(...args);
const WAIT = { whenBusy: { case: "wait", value: {} } } as const;
/** Comes after the server has queued the waiter, even on a busy machine. */
const DEADLINE_MS = 1_500;

describe("a free lock", () => {
  test("is granted with the requested time, a token and no more", async () => {
    const lease = await server.client.lease({
      name: "free",
      requestId: "free-1",
      terms: lasting(60),
    });
    expect(lease).toMatchObject({
      lockName: "free",
      mode: Mode.PERMIT,
      permits: 1,
      fencingToken: 1n,
      requestId: "free-1",
    });
    expectLeft(lease.ttl, 60);
    const granted = lease.grantedAt as { seconds: bigint; nanos: number };
    expect(lease.expiresAt).toMatchObject({ seconds: granted.seconds + 60n, nanos: granted.nanos });
    expect(Math.abs(Number(granted.seconds) - Date.now() / 1_000)).toBeLessThan(5);
    expect(lease.leaseId).toMatch(/^[0-9a-z]+\.[0-9a-z]+\.[\w-]{22}$/);
  });

  test("is granted for 30 s by default, and without end on request", async () => {
    expectLeft((await server.client.lease({ name: "default-ttl" })).ttl, 30);
    const endless = await server.client.lease({
      name: "endless",
      terms: { lasting: { case: "noExpiry", value: {} } },
    });
    expect(endless.ttl).toBeUndefined();
    expect(endless.expiresAt).toBeUndefined();
  });

  test("is another one if its name differs by case or blanks alone", async () => {
    for (const name of ["Job", "job", "job ", " job", "jöb", "jo\u0308b", "a\0b", "*"]) {
      expect((await server.client.lease({ name })).lockName).toBe(name);
    }
  });
});

describe("a refusal", () => {
  test("for a busy lock names its holders and when the next lease ends", async () => {
    await server.client.lease({
      name: "busy",
      terms: { ...lasting(60), owner: "nightly", labels: { host: "a1" } },
    });
    const refusal = await server.client.refusal({ name: "busy" });
    expect(refusal.reason).toBe(RefusalReason.BUSY);
    expect(refusal.message).toMatch(/"busy" is busy: 1 of 1 permit is held .*"nightly".*ends in \d+ s/);
    expect(refusal.holders).toMatchObject([
      { lockName: "busy", ticketNumber: 1n, owner: "nightly", labels: { host: "a1" }, fencingToken: 1n },
    ]);
    expect(Number(refusal.retryAfter?.seconds)).toBeGreaterThan(50);
    expect(JSON.stringify(refusal, (_, value) => String(value))).not.toMatch(/[\w-]{22}/);
  });

  test("has no retry_after if no lease has an end", async () => {
    await server.client.lease({
      name: "busy-endless",
      mode: Mode.EXCLUSIVE,
      terms: { lasting: { case: "noExpiry", value: {} } },
    });
    const refusal = await server.client.refusal({ name: "busy-endless", mode: Mode.SHARED });
    expect(refusal.retryAfter).toBeUndefined();
    expect(refusal.message).toContain("a writer holds it; none of their leases has an end");
  });

  test("shows the limit in the way, its pattern, and its reason", async () => {
    await server.client.limitAll("why/*", 0, { reason: "night shift" });
    const paused = await server.client.refusal({ name: "why/a" });
    expect(paused).toMatchObject({
      reason: RefusalReason.PAUSED,
      message: expect.stringMatching(/limit is 0, by the pattern "why\/\*" \(reason: night shift\)/),
      limit: {
        permits: 0,
        source: LimitSource.PATTERN,
        pattern: "why/*",
        version: 1n,
        reason: "night shift",
      },
    });
    await server.client.limit("why/b", 2, { reason: "two seats" });
    expect(await server.client.refusal({ name: "why/b", permits: 3 })).toMatchObject({
      reason: RefusalReason.NEVER_FITS,
      message: expect.stringMatching(/limit is 2 \(reason: two seats\)/),
      limit: { permits: 2, source: LimitSource.NAME, pattern: "", version: 1n, reason: "two seats" },
    });
    await server.client.lease({ name: "why/b", permits: 2 });
    expect((await server.client.refusal({ name: "why/b" })).limit).toBeUndefined();
  });

  test("reports that a request can never fit, whether or not it would wait", async () => {
    for (const whenBusy of WHEN_BUSY) {
      expect(await server.client.refusal({ name: "small", permits: 2, whenBusy })).toMatchObject({
        reason: RefusalReason.NEVER_FITS,
        message: '2 permits of "small" can never be granted: its limit is 1.',
        holders: [],
      });
    }
  });

  test("reports a full queue", async () => {
    const { client } = await serverOfTest({ rules: { queueMax: 1 } });
    await client.lease({ name: "full" });
    await client.ticket({ name: "full" });
    const refusal = await client.refusal({ name: "full", whenBusy: { case: "enqueue", value: {} } });
    expect(refusal).toMatchObject({ reason: RefusalReason.QUEUE_FULL });
  });
});

describe("a ticket", () => {
  test("has its place and how long it is kept", async () => {
    await server.client.limit("queue", 5);
    await server.client.lease({ name: "queue", permits: 5 });
    const first = await server.client.ticket({ name: "queue", permits: 3, requestId: "q-1" });
    const second = await server.client.ticket({
      name: "queue",
      whenBusy: { case: "enqueue", value: { maxWait: seconds(4) } },
    });
    expect(first).toMatchObject({ lockName: "queue", ahead: 0, permitsAhead: 0n, queueLength: 1 });
    expect(first.keptFor).toMatchObject({ seconds: 10n, nanos: 0 });
    expect(second).toMatchObject({ ahead: 1, permitsAhead: 3n, queueLength: 2, keptFor: { seconds: 4n } });
    const again = await server.client.ticket({ name: "queue", permits: 3, requestId: "q-1" });
    expect(again).toMatchObject({ ticketId: first.ticketId, ahead: 0, queueLength: 2 });
  });

  test("becomes a lease with the same id, which the same request finds", async () => {
    const held = await server.client.lease({ name: "poll" });
    const request = { name: "poll", requestId: "poll-1", whenBusy: { case: "enqueue" as const, value: {} } };
    const ticket = await server.client.ticket(request);
    await call("release", { leaseId: held.leaseId });
    const lease = await server.client.lease(request);
    expect(lease.leaseId).toBe(ticket.ticketId);
    expect(lease.fencingToken).toBe(2n);
  });
});

describe("a repeated request id", () => {
  test("gets the same lease and token", async () => {
    const request = { name: "again", requestId: "again-1" };
    const [first, second] = [await server.client.lease(request), await server.client.lease(request)];
    expect([second.leaseId, second.fencingToken]).toEqual([first.leaseId, first.fencingToken]);
  });

  test("gets the end of its claim", async () => {
    const { leaseId } = await server.client.lease({ name: "over", requestId: "over-1" });
    await call("release", { leaseId });
    expect(await server.client.ended({ name: "over", requestId: "over-1" })).toMatchObject({
      reason: EndReason.RELEASED,
      message: '"over": the lease was released.',
    });
    await server.client.lease({ name: "over", requestId: "over-2" });
    await server.client.force("over", "stuck");
    expect(await server.client.ended({ name: "over", requestId: "over-2" })).toMatchObject({
      reason: EndReason.FORCE_RELEASED,
      message: expect.stringContaining("stuck"),
    });
  });

  test("for another request is an error", async () => {
    await server.client.lease({ name: "mine", requestId: "reused" });
    for (const other of [{ name: "other" }, { name: "mine", mode: Mode.SHARED }]) {
      await expect(call("acquire", { ...other, requestId: "reused" })).rejects.toMatchObject({
        code: "ALREADY_EXISTS",
        reason: "REQUEST_ID_REUSED",
      });
    }
  });
});

describe("a call that waits", () => {
  test("is answered with the lease when the holder releases", async () => {
    const held = await server.client.lease({ name: "wait" });
    const waiting = call("acquire", { name: "wait", ...WAIT });
    await server.event((event) => event.kind === "enqueued" && event.claim.lockId === lockIdOf(held.leaseId));
    await call("release", { leaseId: held.leaseId });
    expect(leaseIn(await waiting)).toMatchObject({ lockName: "wait", fencingToken: 2n });
  });

  test("is refused when max_wait has passed, and gets the holder", async () => {
    await server.client.lease({ name: "too-long", terms: { owner: "slow" } });
    const ended = await server.client.ended({
      name: "too-long",
      whenBusy: { case: "wait", value: { maxWait: { seconds: 0n, nanos: 50_000_000 } } },
    });
    expect(ended).toMatchObject({ reason: EndReason.TIMED_OUT, holders: [{ owner: "slow" }] });
  });

  test("leaves the queue if it is cancelled and could not come back", async () => {
    const { lockId, abort, waiting } = await blocked("cancelled-no-id", "");
    abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    const end = await server.event((event) => event.kind === "ended" && event.claim.lockId === lockId);
    expect(end).toMatchObject({ was: "waiting", claim: { endReason: "cancelled" } });
  });

  test("keeps its place if it is cancelled and can come back by its request id", async () => {
    const { abort, waiting, held } = await blocked("cancelled-id", "cancelled-id-1");
    abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    await until(() => server.engine.waiterCount === 0);
    const again = call("acquire", { name: "cancelled-id", requestId: "cancelled-id-1", ...WAIT });
    await call("release", { leaseId: held });
    expect(leaseIn(await again).fencingToken).toBe(2n);
  });

  test("leaves when its deadline passes", async () => {
    const held = await server.client.lease({ name: "deadline" });
    const waiting = call("acquire", { name: "deadline", ...WAIT }, { timeout: DEADLINE_MS });
    await expect(waiting).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    const end = await server.event(
      (event) => event.kind === "ended" && event.claim.lockId === lockIdOf(held.leaseId),
    );
    expect(end).toMatchObject({ was: "waiting", claim: { endReason: "cancelled" } });
    await until(() => server.calls.some(({ code }) => code === "DEADLINE_EXCEEDED"));
  });

  async function blocked(name: string, requestId: string) {
    const { leaseId } = await server.client.lease({ name });
    const lockId = lockIdOf(leaseId);
    const controller = new AbortController();
    const waiting = call("acquire", { name, requestId, ...WAIT }, { signal: controller.signal });
    waiting.catch(() => {});
    await server.event((event) => event.kind === "enqueued" && event.claim.lockId === lockId);
    return { lockId, held: leaseId, waiting, abort: () => controller.abort() };
  }
});

test("a lease that its caller never received is given back", async () => {
  const gate = Promise.withResolvers<void>();
  const slow = await serverOfTest({
    wrapEngine: (engine) =>
      replacing(engine, {
        async acquire(...args) {
          const answer = await engine.acquire(...args);
          await gate.promise;
          return answer;
        },
      }),
  });
  const controller = new AbortController();
  const { signal } = controller;
  const lost = slow.client.call("acquire", { name: "unheard" }, { signal });
  const kept = slow.client.call("acquire", { name: "kept", requestId: "k" }, { signal });
  const both = Promise.allSettled([lost, kept]);
  await until(() => slow.events.filter(({ kind }) => kind === "granted").length === 2);
  controller.abort();
  expect(await both).toMatchObject([
    { reason: expect.any(RowlockError) },
    { reason: expect.any(RowlockError) },
  ]);
  // The connection keeps messages in order: once this call is answered, everything sent before has arrived.
  await slow.client.call("getLock", { name: "nobody" }).catch(() => {});
  gate.resolve();
  const end = await slow.event(({ kind }) => kind === "ended");
  expect(end).toMatchObject({ claim: { endReason: "cancelled", requestId: expect.stringMatching(/^\0/) } });
  await until(() => slow.calls.length >= 2);
  expect(slow.events.filter(({ kind }) => kind === "ended")).toHaveLength(1);
  expect(slow.calls.map(({ code }) => code)).toEqual(expect.arrayContaining(["CANCELLED", "CANCELLED"]));
});

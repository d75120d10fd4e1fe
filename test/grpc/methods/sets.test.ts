// Claims for several locks through a real client, on every database: why they wait, and how they end.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EndReason, type WaitCause } from "#proto/rowlock/v1/lock_pb.js";
import { type FreshDatabase, testDatabases } from "../../support/database.ts";
import { startServer, type TestServer } from "../../support/harness.ts";
import { named, queued, seconds, withTtl } from "../../support/test-calls.ts";

const TTL = withTtl(60);
const by = (owner: string) => ({ terms: { ...TTL, owner } });
const also = (...names: string[]) => names.map((name) => ({ name }));

describe.each(testDatabases())("on $label", ({ fresh }) => {
  let database: FreshDatabase;
  let server: TestServer;
  beforeAll(async () => {
    database = await fresh();
    server = await startServer({ url: database.url });
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const call: TestServer["client"]["call"] = (...args) => server.client.call(...args);
  const explain = (target: object) =>
    call("explainWait", { target } as Parameters<typeof call<"explainWait">>[1]);
  const causesOf = ({ causes }: { causes: readonly WaitCause[] }) =>
    causes.map(({ cause, lockName }) => [lockName, cause.case]);
  const numberAt = async (name: string, owner: string) =>
    (await server.client.shown(name)).waiters.find((waiter) => waiter.owner === owner)?.ticketNumber ?? 0n;

  describe("ExplainWait", () => {
    test("names each lock with something in the way, by the ticket and by a claim at any of them", async () => {
      await server.client.lease({ name: "why/b", ...by("anna") });
      await server.client.ticket({ name: "why/b", ...by("bert") });
      await call("updateRecord", {
        name: "why/c",
        newNotBefore: { case: "notBeforeIn", value: seconds(600) },
      });
      const { ticketId, waitsFor } = await server.client.ticket({
        ...{ name: "why/a", also: also("why/b", "why/c") },
        ...by("carl"),
      });
      expect(waitsFor).toBe("why/b");
      const explained = await explain({ case: "ticketId", value: ticketId });
      expect(causesOf(explained)).toEqual([
        ["why/b", "held"],
        ["why/b", "queued"],
        ["why/c", "notBefore"],
      ]);
      expect(explained.lock?.name).toBe("why/a");
      expect(explained.claim).toMatchObject({
        lockName: "why/a",
        also: [{ lockName: "why/b" }, { lockName: "why/c" }],
      });
      expect(explained.estimate).toBeUndefined();
      expect(explained.summary).toMatch(
        /^at "why\/b": 2nd in the queue, held by anna until .* UTC unless renewed \(about \d+ s left\); at "why\/c": 1st in the queue, not due until .* UTC \(in \d+ (s|min)\)$/,
      );
      for (const lockName of ["why/a", "why/b", "why/c"]) {
        const ticketNumber = await numberAt(lockName, "carl");
        const again = await explain({ case: "claim", value: { lockName, ticketNumber } });
        expect(causesOf(again)).toEqual(causesOf(explained));
        expect(again.lock?.name).toBe(lockName);
        expect(again.claim).toMatchObject({ lockName, ticketNumber, owner: "carl" });
      }
    });

    test("says that the first one waits for another lock, to those behind it and to those who would come", async () => {
      await server.client.lease({ name: "head/b", ...by("anna") });
      await server.client.ticket({ name: "head/a", also: also("head/free", "head/b"), ...by("set") });
      const { ticketId } = await server.client.ticket({ name: "head/a", ...by("behind") });
      const explained = await explain({ case: "ticketId", value: ticketId });
      expect(explained.causes).toMatchObject([
        {
          lockName: "",
          cause: {
            case: "queued",
            value: {
              ahead: 1,
              first: [{ owner: "set", also: [{ lockName: "head/free" }, { lockName: "head/b" }] }],
            },
          },
        },
      ]);
      expect(explained.summary).toBe('2nd in the queue; the first one waits for "head/b"');
      expect(explained.estimate).toBeUndefined();
      const { summary } = await call("explainWait", named("head/a"));
      expect(summary).toBe('2 wait for it; the first one waits for "head/b"');
    });

    test("estimates the wait where one lock alone is in the way", async () => {
      for (let count = 0; count < 6; count++) {
        const { leaseId } = await server.client.lease({ name: "est/b", ...by("quick") });
        await call("release", { leaseId });
      }
      await server.client.lease({ name: "est/b", ...by("quick") });
      const { ticketId } = await server.client.ticket({ name: "est/a", also: also("est/b"), ...by("set") });
      const { estimate, summary } = await explain({ case: "ticketId", value: ticketId });
      expect(estimate?.leases).toBeGreaterThanOrEqual(5);
      expect(summary).toMatch(/^at "est\/b": 1st in the queue, held by quick .*; likely to last /);
    });

    test("names a pool once, with the sum of the permits there", async () => {
      await call("setLimit", {
        target: { case: "pool", value: "pooled/*" },
        newLimit: { case: "limit", value: 2 },
      });
      const { leaseId } = await server.client.lease({ name: "pooled/x", ...TTL, ...by("anna") });
      const { ticketId, pool, waitsFor } = await server.client.ticket({
        ...{ name: "pooled/a", also: also("pooled/b") },
        ...by("set"),
      });
      expect([pool, waitsFor]).toEqual(["pooled/*", ""]);
      const explained = await explain({ case: "ticketId", value: ticketId });
      expect(explained.causes).toMatchObject([
        { lockName: "", cause: { case: "pool", value: { waitsHere: true, limit: { permits: 2 } } } },
      ]);
      expect(explained.summary).toMatch(
        /^1st in the queue of the pool pooled\/\*; the pool pooled\/\* has 1 of 2 /,
      );
      await call("release", { leaseId });
    });
  });

  describe("a claim for several locks", () => {
    test("that is refused shows the lock in the way, and what is of that lock", async () => {
      await server.client.limit("no/b", 2, { reason: "two" });
      const refusal = await server.client.refusal({
        name: "no/a",
        also: [{ name: "no/b", permits: 3 }],
        terms: TTL,
      });
      expect(refusal).toMatchObject({ lockName: "no/b", limit: { permits: 2 } });
      expect(refusal.message).toBe('3 permits of "no/b" can never be granted: its limit is 2 (reason: two).');
      await server.client.lease({ name: "no/b", permits: 2, ...by("anna") });
      const busy = await server.client.refusal({ name: "no/a", also: also("no/b"), terms: TTL });
      expect(busy).toMatchObject({ lockName: "no/b", holders: [{ lockName: "no/b", owner: "anna" }] });
    });

    test("that waited in vain is told which lock was in the way, and not one that would fit", async () => {
      const late = (name: string, ...others: string[]) =>
        server.client.ended({
          ...{ name, also: also(...others), terms: TTL },
          whenBusy: { case: "wait", value: { maxWait: { seconds: 0n, nanos: 50_000_000 } } },
        });
      await server.client.limit("late/roomy", 2);
      await server.client.lease({ name: "late/roomy", ...by("beside") });
      await server.client.lease({ name: "late/b", ...by("anna") });
      const ended = await late("late/roomy", "late/free", "late/b");
      expect(ended).toMatchObject({ reason: EndReason.TIMED_OUT, lockName: "late/b" });
      expect(ended.message).toMatch(/^"late\/b": max_wait has passed/);
      expect(ended.holders.map(({ owner }) => owner)).toEqual(["beside", "anna"]);
      await server.client.limit("late/paused", 0, { reason: "spring clean" });
      expect(await late("late/b", "late/paused")).toMatchObject({
        ...{ lockName: "late/paused", limit: { permits: 0 } },
        message: expect.stringMatching(/^"late\/paused": .* paused, .*spring clean/),
      });
      // Of one lock, it is the only one.
      expect(await late("late/b")).toMatchObject({ reason: EndReason.TIMED_OUT, lockName: "" });
    });

    test("that asks for more than a pool has, in all, is told so", async () => {
      const target = { case: "pool", value: "small/*" } as const;
      await call("setLimit", { target, newLimit: { case: "limit", value: 2 }, reason: "few" });
      const also = [{ name: "big/x" }, { name: "small/b", permits: 2 }];
      const { message, lockName } = await server.client.refusal({ name: "small/a", also, terms: TTL });
      expect(message).toBe(
        '3 permits can never be granted: the pool "small/*" with its limit of 2 for all names under it (reason: few).',
      );
      expect(lockName).toBe("small/a");
    });

    test("that ends because of one of its locks names that one, and its limit", async () => {
      await server.client.limit("end/b", 3);
      const { leaseId } = await server.client.lease({ name: "end/b", permits: 3, ...by("anna") });
      const stream = server.client.wait(
        queued({ name: "end/a", also: [{ name: "end/b", permits: 2 }], terms: TTL }),
      );
      await stream.position();
      await server.client.limit("end/b", 1);
      await call("release", { leaseId });
      const end = await stream.ended();
      expect(end).toMatchObject({ lockName: "end/b", endedBy: "", limit: { permits: 1 } });
      expect(end.message).toMatch(/^"end\/b": 2 permits can no longer be granted/);
      const { claims } = await call("listClaims", { locks: { case: "lockName", value: "end/a" } });
      expect(claims).toMatchObject([
        { lockName: "end/a", also: [{ lockName: "end/b", permits: 2 }], end: { lockName: "end/b" } },
      ]);
    });

    test("that has waited in vain shows who holds its locks, and the one that is paused", async () => {
      await server.client.lease({ name: "vain/a", ...by("anna") });
      await server.client.lease({ name: "vain/b", ...by("bert") });
      await server.client.limit("vain/b", 0, { reason: "broken" });
      const maxWait = { seconds: 0n, nanos: 20_000_000 };
      const end = await server.client
        .wait(queued({ name: "vain/a", also: also("vain/b"), terms: TTL, maxWait }))
        .ended();
      expect(end.holders).toMatchObject([
        { lockName: "vain/a", owner: "anna" },
        { lockName: "vain/b", owner: "bert" },
      ]);
      expect(end.message).toMatch(
        /^"vain\/b": max_wait has passed .* paused, as its limit is 0 \(reason: broken\)/,
      );
    });
  });
});

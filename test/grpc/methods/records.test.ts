// Lock records through a real client: Acquire and Release with record terms and results, UpdateRecord, DeleteRecord, and
// records in listings.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EndReason, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { TestServer } from "../../support/harness.ts";
import { expectLeft, startServer } from "../../support/harness.ts";
import { queued, seconds, WHEN_BUSY } from "../../support/test-calls.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const call: TestServer["client"]["call"] = (...args) => server.client.call(...args);
const recordOf = async (name: string) => (await server.client.shown(name)).record;
const { NOT_BEFORE, EXHAUSTED, STATUS_MISMATCH } = RefusalReason;
const { RELEASED, FAILED, FORCE_RELEASED } = EndReason;

describe("a lock", () => {
  test("without a policy shows no record", async () => {
    const { leaseId } = await server.client.lease({ name: "plain" });
    await call("release", { leaseId });
    expect(await recordOf("plain")).toBeUndefined();
    expect(await recordOf("never named")).toBeUndefined();
  });

  test("is granted at most once in an interval, and returns when again", async () => {
    const lease = await server.client.lease({
      name: "hourly",
      terms: { minInterval: seconds(3_600), owner: "cron@a" },
    });
    await call("release", { leaseId: lease.leaseId });
    const refusal = await server.client.refusal({ name: "hourly" });
    expect(refusal).toMatchObject({ reason: NOT_BEFORE, status: "", holders: [] });
    expectLeft(refusal.retryAfter, 3_600);
    const record = await recordOf("hourly");
    expect(record).toMatchObject({
      notBefore: { seconds: (lease.grantedAt?.seconds ?? 0n) + 3_600n, nanos: lease.grantedAt?.nanos },
      lastRun: { owner: "cron@a", fencingToken: 1n, grantedAt: lease.grantedAt, endReason: RELEASED },
    });
    expect(record?.attemptsLeft).toBeUndefined();
    expect((await call("listLocks", { prefix: "hourly" })).locks[0]?.record).toEqual(record);
  });

  test("whose run has failed rests, and shows both runs and the status of each in the history", async () => {
    const ask = { name: "failing", terms: { backoff: { first: seconds(60) } } };
    const good = await server.client.lease({ ...ask, terms: { ...ask.terms, owner: "good" } });
    await call("release", { leaseId: good.leaseId, status: "done" });
    const bad = await server.client.lease({ ...ask, terms: { ...ask.terms, owner: "bad" } });
    expect(await call("release", { leaseId: bad.leaseId, failed: true })).toMatchObject({ released: true });
    expect(await server.client.refusal(ask)).toMatchObject({ reason: NOT_BEFORE });
    expect(await recordOf("failing")).toMatchObject({
      failures: 1,
      lastRun: { owner: "bad", endReason: FAILED, status: "done" },
      lastSuccess: { owner: "good", endReason: RELEASED, fencingToken: 1n },
    });
    const { claims } = await call("listClaims", { locks: { case: "lockName", value: "failing" } });
    expect(claims.map(({ end }) => [end?.reason, end?.status])).toEqual([
      [FAILED, "done"],
      [RELEASED, "done"],
    ]);
  });

  test("that was lost has a delay and a status, and an operator's reason elsewhere", async () => {
    const terms = { lockDelay: seconds(60), statusIfLost: "failed", ifStatus: ["", "failed"] };
    const ask = { name: "lost", terms };
    await server.client.lease(ask);
    await server.client.force("lost", "stuck");
    expect(await recordOf("lost")).toMatchObject({
      status: "failed",
      lastRun: { endReason: FORCE_RELEASED, status: "failed" },
    });
    expect(await server.client.refusal(ask)).toMatchObject({ reason: NOT_BEFORE });
    await call("updateRecord", { name: "lost", newNotBefore: { case: "unsetNotBefore", value: {} } });
    const refusal = await server.client.refusal({ ...ask, terms: { ifStatus: ["todo"] } });
    expect(refusal).toMatchObject({ reason: STATUS_MISMATCH, status: "failed" });
    expect(refusal.message).toContain('"failed"');
    await server.client.lease(ask);
  });

  test("without attempts left refuses even callers that would wait, until a release sets new attempts", async () => {
    await call("updateRecord", { name: "tries", newAttemptsLeft: { case: "attemptsLeft", value: 1 } });
    const { leaseId } = await server.client.lease({ name: "tries" });
    for (const whenBusy of WHEN_BUSY) {
      const refusal = await server.client.refusal({ name: "tries", whenBusy });
      expect(refusal).toMatchObject({ reason: EXHAUSTED });
    }
    await call("release", { leaseId, attemptsLeft: 5, status: "done", coolDown: seconds(0) });
    expect(await recordOf("tries")).toMatchObject({ attemptsLeft: 5, status: "done" });
    const lease = await server.client.lease({ name: "tries", terms: { ifStatus: ["done"] } });
    expect(lease.fencingToken).toBe(2n);
  });

  test("is granted to a waiter when it is due, and ends a waiter whose status condition then fails", async () => {
    await call("updateRecord", {
      name: "soon",
      newNotBefore: { case: "notBeforeIn", value: { seconds: 0n, nanos: 400_000_000 } },
      status: "a",
    });
    const wait = (status: string) =>
      server.client.wait(queued({ name: "soon", terms: { ifStatus: [status] } }));
    const [mismatched, fitting] = [wait("b"), wait("a")];
    expect(await mismatched.ended()).toMatchObject({ reason: EndReason.STATUS_MISMATCH, status: "a" });
    const lease = await fitting.granted();
    const notBefore = (await recordOf("soon"))?.notBefore;
    const at = ({ seconds: s = 0n, nanos = 0 } = {}) => Number(s) * 1e9 + nanos;
    expect(at(lease.grantedAt)).toBeGreaterThanOrEqual(at(notBefore));
  });
});

describe("Release", () => {
  test("of a ticket that waits does not describe a run", async () => {
    await server.client.lease({ name: "ticket" });
    const { ticketId } = await server.client.ticket({ name: "ticket" });
    const release = call("release", { leaseId: ticketId, status: "done" });
    await expect(release).rejects.toMatchObject({ code: "FAILED_PRECONDITION", reason: "NOT_GRANTED_YET" });
    expect((await call("getLock", { name: "ticket" })).lock).toMatchObject({ waiterCount: 1 });
    expect(await call("release", { leaseId: ticketId })).toMatchObject({ released: true });
  });

  test("of a lease that has ended changes nothing", async () => {
    const { leaseId } = await server.client.lease({ name: "twice" });
    await call("release", { leaseId, status: "done" });
    expect(await call("release", { leaseId, status: "failed" })).toMatchObject({ released: false });
    expect(await recordOf("twice")).toMatchObject({ status: "done" });
  });
});

test("UpdateRecord creates an unused lock, and returns its record", async () => {
  const atNoon = { seconds: 1_000_000_000n, nanos: 1_000 };
  const { record } = await call("updateRecord", {
    name: "made",
    newNotBefore: { case: "notBefore", value: atNoon },
    newAttemptsLeft: { case: "attemptsLeft", value: 3 },
    status: "todo",
  });
  expect(record).toMatchObject({ notBefore: atNoon, attemptsLeft: 3, status: "todo" });
  expect(await recordOf("made")).toEqual(record);
  const unset = { newAttemptsLeft: { case: "unsetAttemptsLeft" as const, value: {} } };
  const { record: later } = await call("updateRecord", { name: "made", ...unset });
  expect(later).toMatchObject({ notBefore: atNoon, status: "todo", version: (record?.version ?? 0n) + 1n });
  expect((await recordOf("made"))?.attemptsLeft).toBeUndefined();
});

describe("DeleteRecord", () => {
  test("deletes the record once the lock has no holders or waiters", async () => {
    await call("updateRecord", { name: "deleted", status: "todo" });
    const { leaseId } = await server.client.lease({ name: "deleted" });
    const inUse = { code: "FAILED_PRECONDITION", reason: "LOCK_IN_USE" };
    await expect(call("deleteRecord", { name: "deleted" })).rejects.toMatchObject(inUse);
    await call("release", { leaseId });
    const version = (await recordOf("deleted"))?.version ?? 0n;
    const wrong = call("deleteRecord", { name: "deleted", expectedVersion: version - 1n });
    await expect(wrong).rejects.toMatchObject({ metadata: { version: String(version) } });
    const right = await call("deleteRecord", { name: "deleted", expectedVersion: version });
    expect(right).toMatchObject({ deleted: true });
    expect(await recordOf("deleted")).toBeUndefined();
    expect(await call("deleteRecord", { name: "deleted" })).toMatchObject({ deleted: false });
    expect((await server.client.lease({ name: "deleted" })).fencingToken).toBe(2n);
  });

  test("of an unused lock creates none", async () => {
    expect(await call("deleteRecord", { name: "nobody's" })).toMatchObject({ deleted: false });
    const same = await call("deleteRecord", { name: "nobody's", expectedVersion: 0n });
    expect(same).toMatchObject({ deleted: false });
    const wrong = call("deleteRecord", { name: "nobody's", expectedVersion: 1n });
    await expect(wrong).rejects.toMatchObject({ reason: "VERSION_MISMATCH", metadata: { version: "0" } });
    expect((await call("listLocks", { prefix: "nobody's" })).locks).toEqual([]);
  });
});

// Renew, Release, SetLimit, GetLock, ListLocks, ListLimits and ForceRelease through a real client.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClaimState, EndReason, LimitSource, Mode } from "#proto/rowlock/v1/lock_pb.js";
import type { TestServer } from "../../support/harness.ts";
import { expectLeft, startServer } from "../../support/harness.ts";
import { named, pagesOf, seconds, withTtl } from "../../support/test-calls.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const call: TestServer["client"]["call"] = (...args) => server.client.call(...args);
const matching = (value: string) => ({ target: { case: "pattern" as const, value } });
const UNKNOWN_ID = "zzzz.1.abcdefghijklmnopqrstuv";

describe("Renew", () => {
  test("sets the end to now + TTL, as requested or as before, and keeps the token", async () => {
    const lease = await server.client.lease({ name: "renew", terms: withTtl(100) });
    const { lease: longer } = await call("renew", { leaseId: lease.leaseId, ttl: seconds(500) });
    expect(longer).toMatchObject({ leaseId: lease.leaseId, fencingToken: 1n });
    expectLeft(longer?.ttl, 500);
    const { lease: same } = await call("renew", { leaseId: lease.leaseId });
    expectLeft(same?.ttl, 500);
  });

  test("leaves a lease without end unchanged, or gives it an end", async () => {
    const { leaseId } = await server.client.lease({
      name: "renew-endless",
      terms: { lasting: { case: "noExpiry", value: {} } },
    });
    expect((await call("renew", { leaseId })).lease?.ttl).toBeUndefined();
    expectLeft((await call("renew", { leaseId, ttl: seconds(50) })).lease?.ttl, 50);
  });

  test("of an ended lease is refused for good, with the reason of its end", async () => {
    const { leaseId } = await server.client.lease({ name: "renew-lost" });
    await call("release", { leaseId });
    await expect(call("renew", { leaseId })).rejects.toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "LEASE_LOST",
      end: { reason: "RELEASED" },
    });
  });

  test("of a ticket or of an unknown id is an error", async () => {
    await server.client.lease({ name: "renew-ticket" });
    const { ticketId } = await server.client.ticket({ name: "renew-ticket" });
    await expect(call("renew", { leaseId: ticketId })).rejects.toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "NOT_GRANTED_YET",
    });
    const unknown = { code: "NOT_FOUND", reason: "UNKNOWN_CLAIM" };
    await expect(call("renew", { leaseId: UNKNOWN_ID })).rejects.toMatchObject(unknown);
    const wrongSecret = `${ticketId.slice(0, -22)}${"A".repeat(22)}`;
    await expect(call("renew", { leaseId: wrongSecret })).rejects.toMatchObject(unknown);
  });
});

describe("Release", () => {
  test("ends a lease once, and grants to the next", async () => {
    const { leaseId } = await server.client.lease({ name: "release" });
    expect(await call("release", { leaseId })).toMatchObject({ released: true });
    expect(await call("release", { leaseId })).toMatchObject({ released: false });
    expect((await server.client.lease({ name: "release" })).fencingToken).toBe(2n);
  });

  test("of a ticket leaves the queue", async () => {
    await server.client.lease({ name: "release-ticket" });
    const { ticketId } = await server.client.ticket({ name: "release-ticket" });
    expect(await call("release", { leaseId: ticketId })).toMatchObject({ released: true });
    expect((await call("getLock", { name: "release-ticket" })).lock?.waiterCount).toBe(0);
  });

  test("of an unknown id is an error", async () => {
    await expect(call("release", { leaseId: UNKNOWN_ID })).rejects.toMatchObject({
      code: "NOT_FOUND",
      reason: "UNKNOWN_CLAIM",
    });
  });
});

describe("SetLimit", () => {
  test("sets the limit of a name, and returns what is held and whether it drains", async () => {
    const idle = { limit: 3, version: 1n, heldPermits: 0n, waiterCount: 0n, draining: false };
    expect(await server.client.limit("limit", 3)).toMatchObject(idle);
    await server.client.lease({ name: "limit", permits: 2 });
    await server.client.ticket({ name: "limit", permits: 2 });
    const drains = { limit: 1, version: 2n, heldPermits: 2n, draining: true };
    expect(await server.client.limit("limit", 1)).toMatchObject(drains);
  });

  test("with an outdated version changes nothing, and returns the present one", async () => {
    await server.client.limit("versions", 2, { expectedVersion: 0n });
    for (const target of [named("versions"), matching("versions*")]) {
      const change = call("setLimit", {
        ...target,
        newLimit: { case: "limit", value: 9 },
        expectedVersion: 7n,
      });
      await expect(change).rejects.toMatchObject({
        code: "ABORTED",
        reason: "VERSION_MISMATCH",
        metadata: { version: target.target.case === "name" ? "1" : "0" },
      });
    }
    const { lock } = await call("getLock", { name: "versions" });
    expect(lock?.limit).toMatchObject({ permits: 2, version: 1n });
  });

  test("of a pattern applies to the names that match it, unless a name or a longer pattern has a limit", async () => {
    const answer = await server.client.limitAll("etl/*", 4, { reason: "night" });
    expect(answer).toMatchObject({ limit: 4, version: 1n });
    await server.client.lease({ name: "etl/a", permits: 4 });
    const { lock } = await call("getLock", { name: "etl/a" });
    const night = { permits: 4, source: LimitSource.PATTERN, pattern: "etl/*", version: 1n, reason: "night" };
    expect(lock?.limit).toMatchObject(night);
    const less = { limit: 2, version: 2n, heldPermits: 4n, draining: true };
    expect(await server.client.limitAll("etl/*", 2)).toMatchObject(less);
    expect(await server.client.limitAll("etl/*", null)).toMatchObject({ limit: 1, version: 3n });
  });
});

describe("GetLock", () => {
  test("shows holders and waiters, and no secret", async () => {
    await server.client.limit("show", 2, { reason: "two at a time" });
    const held = await server.client.lease({
      name: "show",
      requestId: "secret-1",
      terms: { owner: "a", labels: { job: "load" } },
    });
    await server.client.lease({ name: "show", terms: { lasting: { case: "noExpiry", value: {} } } });
    await server.client.ticket({ name: "show", mode: Mode.EXCLUSIVE, terms: { owner: "w" } });
    const { lock } = await call("getLock", { name: "show" });
    expect(lock).toMatchObject({
      name: "show",
      limit: { permits: 2, source: LimitSource.NAME, version: 1n, reason: "two at a time" },
      heldPermits: 2n,
      holderCount: 2,
      waiterCount: 1,
      draining: false,
      lastFencingToken: 2n,
      holders: [
        {
          ticketNumber: 1n,
          state: ClaimState.HELD,
          owner: "a",
          labels: { job: "load" },
          fencingToken: 1n,
          expiresAt: held.expiresAt,
          grantedAt: held.grantedAt,
        },
        { ticketNumber: 2n, state: ClaimState.HELD, fencingToken: 2n },
      ],
      waiters: [
        { ticketNumber: 3n, state: ClaimState.WAITING, mode: Mode.EXCLUSIVE, owner: "w", fencingToken: 0n },
      ],
    });
    expect(lock?.holders[1]?.expiresAt).toBeUndefined();
    expect(lock?.waiters[0]?.grantedAt).toBeUndefined();
    const shown = JSON.stringify(lock, (_, value) => (typeof value === "bigint" ? String(value) : value));
    expect(shown).not.toContain(held.leaseId.split(".")[2]);
    expect(shown).not.toContain("secret-1");
  });

  test("of an unused name shows what would apply to it, and creates no lock", async () => {
    await server.client.limitAll("unused/*", 0, { reason: "night" });
    const idle = { heldPermits: 0n, holderCount: 0, waiterCount: 0, draining: false, lastFencingToken: 0n };
    const { lock } = await call("getLock", { name: "unused/1" });
    expect(lock).toMatchObject({ name: "unused/1", ...idle, holders: [], waiters: [] });
    expect(lock?.limit).toMatchObject({ permits: 0, pattern: "unused/*", version: 1n, reason: "night" });
    expect((await call("getLock", { name: "nobody" })).lock?.limit).toMatchObject({
      permits: 1,
      source: LimitSource.DEFAULT,
      version: 0n,
    });
    expect((await call("listLocks", { prefix: "unused/" })).locks).toEqual([]);
  });
});

test("ListLocks ends a page early instead of making it larger than clients accept", async () => {
  const labels = Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [`${index}`.padEnd(63, "k"), "v".repeat(255)]),
  );
  const owner = "o".repeat(255);
  await server.client.limitAll("large/*", 100);
  const locks = Array.from({ length: 30 }, (_, index) => `large/${String(index).padStart(2, "0")}`);
  for (const name of locks) {
    await Promise.all(
      Array.from({ length: 10 }, () => server.client.lease({ name, terms: { owner, labels } })),
    );
  }
  const pages = await pagesOf((pageToken) => call("listLocks", { prefix: "large/", pageToken }));
  expect(pages.flatMap((page) => page.locks.map(({ name }) => name))).toEqual(locks);
  expect(pages).toHaveLength(2);
});

describe("ListLimits", () => {
  const settings = async (prefix: string, pageSize: number) => {
    const pages = await pagesOf((pageToken) => call("listLimits", { prefix, pageSize, pageToken }));
    return pages.map(({ limits }) => limits.map(({ target }) => `${target.case} ${target.value}`));
  };

  test("lists limits of patterns and names with version and reason, without removed limits", async () => {
    await server.client.limitAll("set/*", 5);
    await server.client.limitAll("set/*", 0, { reason: "all stand still" });
    await server.client.limit("set/a", 7, { reason: "seven" });
    await server.client.limit("set/gone", 7);
    await server.client.limit("set/gone", null);
    await server.client.limitAll("set/gone/*", 7);
    await server.client.limitAll("set/gone/*", null);
    await server.client.ticket({ name: "set/without" });
    expect(await call("listLimits", { prefix: "set/" })).toMatchObject({
      limits: [
        { target: { case: "pattern", value: "set/*" }, limit: 0, version: 2n, reason: "all stand still" },
        { target: { case: "name", value: "set/a" }, limit: 7, version: 1n, reason: "seven" },
      ],
      nextPageToken: "",
    });
  });

  test("lists patterns and then names in order of their bytes, page by page", async () => {
    const patterns = ["page/*", "page/!*", "page/\uffff*", "page/\u{1f512}*"];
    const names = ["page/b", "page/a*", "page/\uffff", "page/\u{1f512}"];
    for (const pattern of patterns) await server.client.limitAll(pattern, 2);
    for (const name of names) await server.client.limit(name, 2);
    const all = [
      ...["pattern page/*", "pattern page/!*", "pattern page/\uffff*", "pattern page/\u{1f512}*"],
      ...["name page/a*", "name page/b", "name page/\uffff", "name page/\u{1f512}"],
    ];
    expect(await settings("page/", 3)).toEqual([all.slice(0, 3), all.slice(3, 6), all.slice(6)]);
    expect(await settings("page/", 4)).toEqual([all.slice(0, 4), all.slice(4)]);
    expect(await settings("page/", 100)).toEqual([all]);
    expect(await settings("page/b", 100)).toEqual([["name page/b"]]);
    expect(await settings("page/*", 100)).toEqual([["pattern page/*"]]);
    expect(await settings("nothing", 1)).toEqual([[]]);
  });
});

describe("ForceRelease", () => {
  test("ends all holders of a name, and grants to the waiters", async () => {
    const held = await server.client.lease({ name: "force", terms: { owner: "stuck" } });
    const { ticketId } = await server.client.ticket({ name: "force" });
    const { ended } = await call("forceRelease", { ...named("force"), reason: "host is gone" });
    expect(ended).toMatchObject([
      { ticketNumber: 1n, owner: "stuck", state: ClaimState.ENDED, end: { note: "host is gone" } },
    ]);
    expect(ended[0]?.grantedAt).toBeDefined();
    await expect(call("renew", { leaseId: held.leaseId })).rejects.toMatchObject({
      reason: "LEASE_LOST",
      end: { reason: "FORCE_RELEASED", note: "host is gone", endedBy: expect.stringContaining("127.0.0.1") },
    });
    expect((await call("renew", { leaseId: ticketId })).lease?.fencingToken).toBe(2n);
  });

  test("ends one claim, and nothing the second time", async () => {
    await server.client.lease({ name: "force-one" });
    await server.client.ticket({ name: "force-one" });
    const target = { case: "claim" as const, value: { lockName: "force-one", ticketNumber: 2n } };
    expect((await call("forceRelease", { target, reason: "r" })).ended).toMatchObject([
      { state: ClaimState.ENDED, end: { reason: EndReason.FORCE_RELEASED } },
    ]);
    expect((await call("forceRelease", { target, reason: "r" })).ended).toEqual([]);
  });

  test("of an unused lock is an error", async () => {
    await expect(call("forceRelease", { ...named("nobody"), reason: "r" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      reason: "UNKNOWN_LOCK",
    });
  });
});

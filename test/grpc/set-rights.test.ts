// What callers see of a claim for several locks of which they may read only some, in every answer that shows claims of others;
// and what such a claim counts in quotas.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Claim } from "#proto/rowlock/v1/lock_pb.js";
import { until } from "../support/harness.ts";
import { CARRIERS, startTenantsServer, type TenantsServer } from "../support/tenants.ts";
import { queued, type TestCalls, withTtl } from "../support/test-calls.ts";

const POLICY = `
rules:
  - { who: token:root, may: [read, use, operate, admin], on: "*" }
  - { who: token:reader, may: [read, use, operate], on: mine/* }
  - { who: token:reader, may: [read], on: also/* }
  - { who: token:user, may: [use], on: "*" }
  - { who: token:bounded, may: [read, use], on: "*" }
quotas:
  - { who: token:bounded, claims: 5, waiters: 3 }
`;
const TTL = withTtl(60);

let server: TenantsServer;
let root: TestCalls;
let reader: TestCalls;
beforeAll(async () => {
  server = await startTenantsServer(POLICY, ["root", "reader", "user", "bounded"]);
  root = server.clientOf("root");
  reader = server.clientOf("reader");
});
afterAll(() => server.stop());

const further = (...names: string[]) => names.map((name) => ({ name }));
const namesOf = (claim: Claim | undefined) => claim?.also.map(({ lockName }) => lockName);

/** A set holds, another one waits. The reader may read the first two of three locks. */
async function scene(at: string) {
  const names = [`mine/${at}`, `also/${at}`, `hidden/${at}`] as const;
  const [name, ...others] = names;
  const request = { name, also: further(...others), terms: { ...TTL, owner: "root" } };
  const { leaseId } = await root.lease(request);
  const { ticketId } = await root.ticket(request);
  onTestFinished(async () => {
    for (const id of [ticketId, leaseId]) await root.call("release", { leaseId: id }).catch(() => {});
  });
  return { names, name, leaseId, ticketId };
}

describe("a caller that may read two of three locks sees these two", () => {
  const SEEN = ["also/"];
  const seen = (claims: readonly Claim[]) => claims.map(namesOf);
  const only = (at: string) => SEEN.map((prefix) => prefix + at);

  test("in GetLock and ListLocks", async () => {
    const { name } = await scene("listed");
    const lock = await reader.shown(name);
    expect(seen([...lock.holders, ...lock.waiters])).toEqual([only("listed"), only("listed")]);
    const { locks } = await reader.call("listLocks", { prefix: name });
    expect(locks.flatMap(({ holders, waiters }) => seen([...holders, ...waiters]))).toEqual([
      only("listed"),
      only("listed"),
    ]);
    expect(namesOf((await root.shown(name)).holders[0])).toEqual(["also/listed", "hidden/listed"]);
  });

  test("in WatchLocks", async () => {
    const { name } = await scene("watched");
    const watch = reader.watch(name);
    await watch.complete();
    const lock = watch.locks.get(name);
    expect(seen([...(lock?.holders ?? []), ...(lock?.waiters ?? [])])).toEqual([
      only("watched"),
      only("watched"),
    ]);
    watch.cancel();
  });

  test("in ListClaims, also of those that have ended, and why", async () => {
    const { name, leaseId } = await scene("history");
    await root.call("updateRecord", {
      name: "hidden/history",
      newAttemptsLeft: { case: "attemptsLeft", value: 0 },
    });
    await root.call("release", { leaseId });
    const listed = async (client: TestCalls) => {
      const { claims } = await client.call("listClaims", { locks: { case: "lockName", value: name } });
      return claims.map((claim) => [namesOf(claim), claim.end?.lockName]);
    };
    await until(async () => (await listed(root)).every(([, at]) => at !== undefined));
    expect(await listed(root)).toEqual([
      [["also/history", "hidden/history"], "hidden/history"],
      [["also/history", "hidden/history"], ""],
    ]);
    expect(await listed(reader)).toEqual([
      [only("history"), ""],
      [only("history"), ""],
    ]);
  });

  test("in the holders of a refusal, and of a wait that was in vain", async () => {
    const { name } = await scene("refused");
    const { holders } = await reader.refusal({ name, terms: TTL });
    expect(seen(holders)).toEqual([only("refused")]);
    const maxWait = { seconds: 0n, nanos: 20_000_000 };
    const ended = await reader.wait(queued({ name, terms: TTL, maxWait })).ended();
    expect(seen(ended.holders)).toEqual([only("refused")]);
  });

  test("in ForceRelease", async () => {
    const { name } = await scene("forced");
    const { ended } = await reader.force(name);
    expect(seen(ended)).toEqual([only("forced")]);
  });

  test("in ExplainWait, which says that another lock is in the way, too", async () => {
    const { name, ticketId } = await scene("why");
    const [waiter] = (await root.shown(name)).waiters;
    const target = {
      case: "claim",
      value: { lockName: name, ticketNumber: waiter?.ticketNumber ?? 0n },
    } as const;
    const { claim, causes, summary } = await reader.call("explainWait", { target });
    expect(namesOf(claim)).toEqual(only("why"));
    expect(causes.map(({ lockName }) => lockName)).toEqual(["mine/why", "also/why"]);
    for (const { cause } of causes)
      expect(cause.case === "held" && seen(cause.value.holders).flat()).not.toContain("hidden/why");
    expect(summary).toMatch(/^at "mine\/why": .*; at "also\/why": .*; another lock is in its way$/);
    // Its own caller has named all of them, and learns of each what a refusal would say.
    const own = await server
      .clientOf("user")
      .call("explainWait", { target: { case: "ticketId", value: ticketId } });
    expect(own.causes).toMatchObject([
      { lockName: "mine/why", cause: { value: { holders: [], holderCount: 1 } } },
      { lockName: "also/why", cause: { value: { holders: [], holderCount: 1 } } },
      { lockName: "hidden/why", cause: { value: { holders: [], holderCount: 1 } } },
    ]);
  });
});

test("which lock the first one waits for is for callers that may read that lock", async () => {
  for (const name of ["hidden/head", "also/head"]) await root.lease({ name, terms: TTL });
  await root.ticket({ name: "mine/head", also: further("hidden/head", "also/head"), terms: TTL });
  const target = { case: "name", value: "mine/head" } as const;
  const seenBy = async (client: TestCalls) => {
    const { causes, summary } = await client.call("explainWait", { target });
    const [cause] = causes.map((each) => each.cause);
    return [cause?.case === "queued" && cause.value.first.map(namesOf), summary];
  };
  expect(await seenBy(root)).toEqual([
    [["hidden/head", "also/head"]],
    '1 waits for it; the first one waits for "hidden/head" and "also/head"',
  ]);
  expect(await seenBy(reader)).toEqual([
    [["also/head"]],
    '1 waits for it; the first one waits for "also/head"',
  ]);
});

test("who may not read a lock that it has named is told its name where it is in the way", async () => {
  await root.lease({ name: "hidden/own", terms: TTL });
  const user = server.clientOf("user");
  const request = { name: "mine/own", also: further("hidden/own"), terms: TTL };
  expect(await user.refusal(request)).toMatchObject({ lockName: "hidden/own", holders: [] });
  await root.ticket({ name: "hidden/own", terms: TTL });
  expect(await user.ticket(request)).toMatchObject({ waitsFor: "hidden/own" });
});

test("a name without the right to use it refuses the claim", async () => {
  const asked = reader.call("acquire", { name: "mine/used", also: further("also/used"), terms: TTL });
  await expect(asked).rejects.toMatchObject({ reason: "RIGHT_MISSING" });
});

test.each(Object.entries(CARRIERS))(
  "each of its locks counts in the quotas of its caller (%s)",
  async (at, Kind) => {
    const bounded = server.clientOf("bounded", Kind);
    const locks = (count: number) => ({
      ...{
        name: `${at}/0`,
        also: Array.from({ length: count - 1 }, (_, index) => ({ name: `${at}/${index + 1}` })),
      },
      terms: TTL,
    });
    await expect(bounded.call("acquire", locks(6))).rejects.toMatchObject({
      metadata: { bound: "quota_claims" },
    });
    const waiting = bounded.call("acquire", { ...locks(4), whenBusy: { case: "enqueue", value: {} } });
    await expect(waiting).rejects.toMatchObject({ metadata: { bound: "quota_waiters" } });
    const stream = bounded.wait(queued(locks(4)));
    expect(await stream.failure()).toMatchObject({ metadata: { bound: "quota_waiters" } });
    const { leaseId } = await bounded.lease(locks(5));
    await bounded.call("release", { leaseId });
  },
);

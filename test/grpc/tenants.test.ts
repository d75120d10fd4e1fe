// What one tenant can take from the others: waits, captures that wait, renewals.

import { afterEach, describe, expect, test } from "vitest";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { Usage } from "../../server/access/usage.ts";
import { RENEWALS_SPARE } from "../../server/grpc/grpc-bounds.ts";
import type { GrpcServerOptions } from "../../server/grpc/server.ts";
import { changedStore } from "../support/changed-store.ts";
import { until } from "../support/harness.ts";
import { NO_BOUND } from "../support/no-bound.ts";
import { CARRIERS, startTenantsServer, type TenantsServer } from "../support/tenants.ts";
import {
  captureOf,
  comeBack,
  lasting,
  named,
  queued,
  seconds,
  type TestCalls,
} from "../support/test-calls.ts";

const POLICY = `
rules:
  - { who: [token:greedy, token:polite], may: [read, use, operate], on: "*" }
quotas:
  - { who: token:greedy, waiters: 3 }
  - { who: token:polite, claims: 4 }
`;
const MINUTE = lasting(60);
const LONG = seconds(600);
const TEN_MINUTES = lasting(600);

let server: TenantsServer;
afterEach(() => server.stop());

async function start(grpc: Partial<GrpcServerOptions> = {}): Promise<void> {
  server = await startTenantsServer(POLICY, ["greedy", "polite"], { grpc });
}

const used = (name: string) => server.grpc.bounds().find(({ bound }) => bound === name)?.used;
const waitsAre = (count: number) => until(() => used("server_waits") === count);
/** The bound that refuses the call, or another reason. */
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => "none",
    (error: RowlockError) => {
      if (error.reason === "OVERLOADED") expect(error.retryAfterMs).toBeGreaterThan(0);
      return error.metadata.bound ?? error.reason;
    },
  );
/** Ends with the server. */
const endless = (call: Promise<unknown>) => void call.catch(() => {});

describe.each(["call", "session"] as const)("captures that wait, by %s", (carrier) => {
  const clientOf = (name: string) => server.clientOf(name, CARRIERS[carrier]);
  const capture = (client: TestCalls, name: string, maxLeases = 1) =>
    client.capture([name], { maxLeases, maxWait: LONG, terms: MINUTE });

  test("count as waiters of their caller, over all its connections, until they end", async () => {
    await start();
    const { leaseId } = await clientOf("polite").lease({ name: "held", terms: TEN_MINUTES });
    const clients = ["greedy", "greedy", "greedy"].map(clientOf) as [TestCalls, TestCalls, TestCalls];
    const waits = clients.map((client) => capture(client, "held"));
    await waitsAre(3);
    expect(await refusalOf(capture(clients[0], "held"))).toBe("quota_waiters");
    // Places in queues count together with them.
    const place = { name: "held", whenBusy: { case: "enqueue" as const, value: {} }, terms: MINUTE };
    expect(await refusalOf(clients[1].call("acquire", place))).toBe("quota_waiters");
    await clientOf("polite").call("release", { leaseId });
    const [taken] = await Promise.race(waits);
    await waitsAre(2);
    endless(capture(clients[0], "held"));
    await waitsAre(3);
    expect(taken?.lockName).toBe("held");
    for (const wait of waits) endless(wait);
  });

  test("take nothing beyond the claims of their caller, and keep nobody else waiting for that", async () => {
    const usage = new Usage();
    await start({ usage });
    const { leaseId } = await clientOf("greedy").lease({ name: "held", terms: TEN_MINUTES });
    const polite = clientOf("polite");
    const full = capture(polite, "held", 2);
    await waitsAre(1);
    usage.decided("token:polite", 3, 0);
    const other = capture(clientOf("greedy"), "held", 2);
    await waitsAre(2);
    await clientOf("greedy").call("release", { leaseId });
    const leases = await other;
    expect(leases.map(({ lockName }) => lockName)).toEqual(["held"]);
    usage.decided("token:polite", -1, 0);
    await clientOf("greedy").call("release", { leaseId: leases[0]?.leaseId ?? "" });
    expect((await full).map(({ lockName }) => lockName)).toEqual(["held"]);
  });
});

test.each(["call", "session"] as const)(
  "a request id of another caller is another id, for a lock and for a capture, by %s",
  async (carrier) => {
    await start();
    const [polite, greedy] = ["polite", "greedy"].map((name) => server.clientOf(name, CARRIERS[carrier])) as [
      TestCalls,
      TestCalls,
    ];
    const asked = { maxLeases: 1, terms: MINUTE, requestId: "job-17" } as const;
    const leases = await polite.capture(["theirs"], asked);
    const theirs = await polite.lease({ name: "lock", requestId: "job-18" });
    expect(await greedy.refusal({ name: "lock", requestId: "job-18" })).toMatchObject({
      reason: RefusalReason.BUSY,
    });
    expect(await polite.lease({ name: "lock", requestId: "job-18" })).toMatchObject({
      leaseId: theirs.leaseId,
      requestId: "job-18",
    });
    const taken = async (name: string) => await greedy.call("capture", captureOf([name], asked));
    expect(await taken("theirs")).toMatchObject({ leases: [], isRepeated: false });
    expect(await taken("mine")).toMatchObject({ leases: [{ lockName: "mine", requestId: "job-17" }] });
    const again = await polite.capture(["theirs"], asked);
    expect(again.map(({ leaseId }) => leaseId)).toEqual(leases.map(({ leaseId }) => leaseId));
    await polite.call("release", { leaseId: leases[0]?.leaseId ?? "" });
    expect(await taken("theirs")).toMatchObject({ leases: [{ lockName: "mine" }], isRepeated: true });
  },
);

test("the waits of one caller are bounded by its share, over all carriers and connections", async () => {
  await start({ capacity: { ...NO_BOUND, waits: 10, principalWaits: 4 } });
  const polite = server.clientOf("polite");
  await polite.lease({ name: "held", terms: TEN_MINUTES });
  const connections = ["call", "session"] as const;
  const [byCall, bySession] = connections.map((carrier) => server.clientOf("polite", CARRIERS[carrier])) as [
    TestCalls,
    TestCalls,
  ];
  const wait = { name: "held", whenBusy: { case: "wait" as const, value: {} }, terms: MINUTE };
  endless(byCall.call("acquire", wait));
  endless(bySession.call("acquire", wait));
  const watch = byCall.watch("");
  await watch.complete();
  const capture = captureOf(["held"], { maxWait: LONG, terms: MINUTE });
  endless(bySession.call("capture", capture));
  await waitsAre(4);
  expect(used("principal_waits")).toBe(4);
  expect(await refusalOf(byCall.call("acquire", wait))).toBe("principal_waits");
  expect(await refusalOf(bySession.call("capture", capture))).toBe("principal_waits");
  expect(await refusalOf(server.clientOf("polite").watch("").complete())).toBe("principal_waits");
  const stream = server.clientOf("polite", CARRIERS.session).wait(queued({ name: "held", terms: MINUTE }));
  expect(await refusalOf(stream.position())).toBe("principal_waits");
  watch.cancel();
  await waitsAre(3);
  endless(byCall.call("acquire", wait));
  await waitsAre(4);
  endless(server.clientOf("greedy").call("acquire", wait));
  await waitsAre(5);
});

describe.each(["call", "session"] as const)(
  "renewals far beyond what the leases ask for, by %s",
  (carrier) => {
    const clientOf = (name: string) => server.clientOf(name, CARRIERS[carrier]);

    test("are refused with a time to come back, over all connections, and those of others are not", async () => {
      await start();
      const clients = ["greedy", "greedy"].map(clientOf) as [TestCalls, TestCalls];
      const { leaseId } = await clients[0].lease({ name: "mine", terms: TEN_MINUTES });
      const { leaseId: theirs } = await clientOf("polite").lease({ name: "theirs", terms: MINUTE });
      const seen = new Map<string, number>();
      // Only calls that come faster than the allowance is given back can use it up.
      for (let round = 0; round < 200 && !seen.has("client_renewals"); round++) {
        const renewals = Array.from({ length: 50 }, (_, at) =>
          clients[(at % 2) as 0 | 1].call("renew", { leaseId }),
        );
        for (const refusal of await Promise.all(renewals.map(refusalOf)))
          seen.set(refusal, (seen.get(refusal) ?? 0) + 1);
      }
      expect([...seen.keys()].sort()).toEqual(["client_renewals", "none"]);
      expect(seen.get("none")).toBeGreaterThanOrEqual(RENEWALS_SPARE);
      const other = clientOf("polite");
      expect(await refusalOf(other.call("renew", { leaseId: theirs }))).toBe("none");
      // The lease itself has lost nothing.
      await until(async () => (await refusalOf(clients[1].call("renew", { leaseId }))) === "none");
    });
  },
);

test.each(["call", "session"] as const)(
  "guesses at the ids of others are refused after a while, whether their locks exist or not, by %s",
  async (carrier) => {
    server = await startTenantsServer(
      `rules: [{ who: token:polite, may: [use], on: theirs }, { who: token:greedy, may: [use], on: mine }]`,
      ["greedy", "polite"],
    );
    const polite = server.clientOf("polite");
    const { leaseId } = await polite.lease({ name: "theirs", terms: MINUTE });
    const greedy = server.clientOf("greedy", CARRIERS[carrier]);
    for (const guess of [leaseId, leaseId.replace(/^[^.]+/, "zzz")]) {
      const refusalOfGuess = () => refusalOf(greedy.call("renew", { leaseId: guess }));
      await until(async () => (await refusalOfGuess()) === "RIGHT_MISSING");
      const seen = new Set<string>();
      for (let round = 0; round < 200 && !seen.has("client_renewals"); round++) {
        for (const refusal of await Promise.all(Array.from({ length: 50 }, refusalOfGuess)))
          seen.add(refusal);
      }
      seen.delete("RIGHT_MISSING");
      expect([...seen]).toEqual(["client_renewals"]);
      await until(async () => (await refusalOfGuess()) === "RIGHT_MISSING");
    }
    expect(await refusalOf(polite.call("renew", { leaseId }))).toBe("none");
  },
);

describe.each(["call", "session"] as const)("what others have set and done, by %s", (carrier) => {
  const RIGHTS = `
rules:
  - { who: token:root, may: [read, use, operate, admin], on: "*" }
  - { who: token:reader, may: [read, use], on: team/a/* }
  - { who: token:blind, may: [use, operate], on: team/a/* }
  - { who: token:waiter, may: [use], on: team/a/* }
  - { who: token:whole, may: [read], on: [team/*, other] }
`;
  const SECRETS = ["team/*", "a secret reason", "token:root", "rowlock_dba", "4711"];
  const NAME = "team/a/x";
  /** The secrets in an answer or error. */
  const told = (answer: unknown) => {
    const text = JSON.stringify(answer, (_key, value) => (typeof value === "bigint" ? String(value) : value));
    return SECRETS.filter((secret) => text.includes(secret));
  };
  const outcome = (call: Promise<unknown>) =>
    call.catch((error: RowlockError) => ({ ...error, message: error.message }));

  async function begin() {
    server = await startTenantsServer(RIGHTS, ["root", "reader", "blind", "waiter", "whole"], {
      wrapStore: changedStore(() => ({
        rowHolder: async () => ({ connectionId: 4_711n, user: "rowlock_dba" }),
      })),
    });
    const root = server.clientOf("root");
    const pattern = (value: string, limit: number) =>
      root.limitAll(value, limit, { reason: "a secret reason" });
    await pattern("team/*", 1);
    const clientOf = (name: string) => server.clientOf(name, CARRIERS[carrier]);
    return { root, pattern, clientOf };
  }

  test("the limit of a pattern is a bare number for whoever may not read all names that it covers", async () => {
    const { pattern, clientOf } = await begin();
    const [reader, blind, whole] = ["reader", "blind", "whole"].map(clientOf) as TestCalls[] as [
      TestCalls,
      TestCalls,
      TestCalls,
    ];
    await blind.lease({ name: NAME, terms: { ...TEN_MINUTES, owner: "holder" } });
    const { ticketId } = await blind.ticket({ name: NAME, terms: TEN_MINUTES });
    await pattern("team/*", 0);
    const watch = async (client: TestCalls) => {
      const watched = client.watch("");
      const lock = await watched.shows(NAME);
      watched.cancel();
      return lock;
    };
    const byReader = (client: TestCalls) => [
      client.call("getLock", { name: NAME }),
      client.call("listLocks", {}),
      client.call("listLimits", {}),
      client.call("listClaims", {}),
      client.call("listChanges", { locks: { case: "lockName", value: NAME } }),
      client.call("explainWait", named(NAME)),
      watch(client),
    ];
    const byUser = (client: TestCalls) => [
      client.call("acquire", { name: NAME, permits: 5, terms: MINUTE }),
      client.call("acquire", {
        name: NAME,
        whenBusy: { case: "wait", value: { maxWait: { seconds: 0n, nanos: 50e6 } } },
        terms: MINUTE,
      }),
      client.wait(queued({ name: NAME, maxWait: { seconds: 0n, nanos: 50e6 }, terms: MINUTE })).ended(),
      client.call("capture", captureOf([NAME], { terms: MINUTE })),
    ];
    const byOperator = [
      blind.call("explainWait", comeBack(ticketId)),
      outcome(blind.limit(NAME, 3, { expectedVersion: 7n })),
      outcome(blind.limit(NAME, null)),
      blind.put(NAME),
    ];
    for (const call of [...byReader(reader), ...byUser(reader), ...byUser(blind), ...byOperator])
      expect(told(await call)).toEqual([]);
    const paused = await reader.refusal({ name: NAME, terms: MINUTE });
    expect(paused.limit).toMatchObject({ permits: 0, pattern: "", reason: "", version: 0n });
    expect(paused.message).toContain("its limit is 0.");
    const wholly = await Promise.all(byReader(whole).filter((_, at) => ![2, 3].includes(at)));
    for (const answer of wholly)
      expect(told(answer)).toEqual(expect.arrayContaining(["team/*", "a secret reason"]));
  });

  test("a waiter that may not see the lock learns what is in the way, and nothing of others", async () => {
    const { root, pattern, clientOf } = await begin();
    const waiter = clientOf("waiter");
    await root.lease({ name: NAME, terms: { ...TEN_MINUTES, owner: "a secret reason" } });
    const { ticketId } = await waiter.ticket({ name: NAME, terms: { ...TEN_MINUTES, owner: "own" } });
    const byTicket = await waiter.call("explainWait", comeBack(ticketId));
    expect(told(byTicket)).toEqual([]);
    expect(byTicket).toMatchObject({ claim: { owner: "own" }, lock: { lastFencingToken: 0n } });
    expect(byTicket.estimate).toBeUndefined();
    const held = byTicket.causes.find(({ cause }) => cause.case === "held")?.cause.value;
    expect(held).toMatchObject({ holders: [], holderCount: 1 });
    expect(held).not.toHaveProperty("firstEndsAt.seconds");
    await pattern("team/*", 0);
    expect(told(await root.call("explainWait", named(NAME)))).toEqual(SECRETS);
  });

  test("the database's user and connection that hold rows are shown to whoever may operate the lock", async () => {
    const { root, clientOf } = await begin();
    await root.lease({ name: NAME, terms: TEN_MINUTES });
    const rows = async (client: TestCalls) => {
      const { causes, summary } = await client.call("explainWait", named(NAME));
      const cause = causes.find((each) => each.cause.case === "rows")?.cause.value;
      return { cause, isTold: summary.includes("rowlock_dba") };
    };
    const hidden = { cause: { connectionId: 0n, user: "" }, isTold: false };
    expect(await rows(clientOf("reader"))).toMatchObject(hidden);
    const told = { cause: { connectionId: 4_711n, user: "rowlock_dba" }, isTold: true };
    expect(await rows(clientOf("root"))).toMatchObject(told);
  });

  test("an operator that may not see the lock is not told whose claim it has ended, or who ran last", async () => {
    const { root, clientOf } = await begin();
    const lease = {
      name: NAME,
      terms: { ...TEN_MINUTES, owner: "a secret reason", labels: { run: "4711" } },
    };
    await root.lease(lease);
    const blind = clientOf("blind");
    const { ended } = await blind.force(NAME);
    expect(ended).toHaveLength(1);
    expect(told(ended)).toEqual([]);
    await root.put(NAME);
    const { leaseId } = await root.lease(lease);
    await root.call("release", { leaseId, status: "done" });
    expect(told(await blind.put(NAME))).toEqual([]);
    await root.lease(lease);
    expect(told((await root.force(NAME)).ended)).toEqual(["a secret reason", "token:root", "4711"]);
  });
});

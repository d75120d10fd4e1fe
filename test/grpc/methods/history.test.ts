// ListClaims, ListChanges and ExplainWait through a real client, on every database.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim, WaitCause } from "#proto/rowlock/v1/lock_pb.js";
import { ChangeKind, ClaimState, EndReason, Mode } from "#proto/rowlock/v1/lock_pb.js";
import type { RequestOf } from "../../../clients/typescript/src/bare/index.ts";
import { type FreshDatabase, testDatabases } from "../../support/database.ts";
import { startServer, type TestServer } from "../../support/harness.ts";
import { openPlainConnection } from "../../support/mysql-stage.ts";
import { comeBack, named, pagesOf, queued, seconds, withTtl } from "../../support/test-calls.ts";

const TTL = withTtl(60);
const of = (value: string) => ({ locks: { case: "lockName", value } }) as const;
const under = (value: string) => ({ locks: { case: "prefix", value } }) as const;
const UNKNOWN_ID = "zzzz.1.abcdefghijklmnopqrstuv";

describe.each(testDatabases())("on $label", ({ fresh, kind }) => {
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
  /** Takes the lock for an owner and gives it back; returns the token. */
  async function run(name: string, owner: string, more: object = {}): Promise<bigint> {
    const { leaseId, fencingToken } = await server.client.lease({
      name,
      terms: { ...TTL, ...more, owner },
    });
    await call("release", { leaseId });
    return fencingToken;
  }
  const shown = ({ lockName, owner, state }: Claim) => `${ClaimState[state]} ${lockName} ${owner}`;

  describe("ListClaims", () => {
    test("shows how a claim was granted and how it ended, with its owner and token", async () => {
      const fencingToken = await run("past/one", "anna", { labels: { job: "7" } });
      const { claims, nextPageToken, searchedBackTo } = await call("listClaims", of("past/one"));
      expect(claims).toMatchObject([
        {
          ...{
            lockName: "past/one",
            ticketNumber: 1n,
            state: ClaimState.ENDED,
            mode: Mode.PERMIT,
            permits: 1,
          },
          ...{ owner: "anna", labels: { job: "7" }, fencingToken, provisional: false },
          end: { reason: EndReason.RELEASED, note: "", endedBy: "" },
        },
      ]);
      const [claim] = claims as [Claim];
      const [requested, granted, ended] = [claim.requestedAt, claim.grantedAt, claim.end?.endedAt].map(us);
      expect(requested).toBeLessThanOrEqual(granted as number);
      expect(granted).toBeLessThanOrEqual(ended as number);
      expect(claim.expiresAt).toBeUndefined();
      expect([nextPageToken, searchedBackTo]).toEqual(["", undefined]);
    });

    test("shows who force-released a claim and why, and which server kept the place of one that waited", async () => {
      const name = "past/forced";
      await server.client.lease({ name, terms: { ...TTL, owner: "stuck" } });
      const stream = server.client.wait(queued({ name, terms: { ...TTL, owner: "next" } }));
      await stream.position();
      await server.client.force(name, "hung");
      const { leaseId } = await stream.granted();
      await call("release", { leaseId });
      const { claims } = await call("listClaims", of(name));
      expect(claims).toMatchObject([
        { owner: "next", end: { reason: EndReason.RELEASED }, replica: String(server.engine.replica) },
        { owner: "stuck", end: { reason: EndReason.FORCE_RELEASED, note: "hung" }, replica: "" },
      ]);
      expect(claims[1]?.end?.endedBy).toContain("127.0.0.1");
    });

    test("lists live claims before ended ones, by name or prefix, page after page", async () => {
      for (const name of ["pages/b", "pages/a"])
        for (const owner of ["first", "second"]) await run(name, owner);
      for (const name of ["pages/b", "pages/a"]) {
        await server.client.lease({ name, terms: { ...TTL, owner: "holder" } });
        await server.client.ticket({ name, terms: { ...TTL, owner: "waiter" } });
      }
      const all = [
        ...["HELD pages/a holder", "WAITING pages/a waiter", "HELD pages/b holder", "WAITING pages/b waiter"],
        ...["ENDED pages/a second", "ENDED pages/a first", "ENDED pages/b second", "ENDED pages/b first"],
      ];
      for (const pageSize of [1, 3, 1_000]) {
        const pages = await pagesOf((pageToken) =>
          call("listClaims", { ...under("pages/"), pageSize, pageToken }),
        );
        for (const { claims } of pages) expect(claims.length).toBeLessThanOrEqual(pageSize);
        expect(pages.flatMap(({ claims }) => claims.map(shown))).toEqual(all);
      }
      const { claims } = await call("listClaims", of("pages/a"));
      expect(claims.map(shown)).toEqual(all.filter((each) => each.includes("pages/a")));
    });

    test("filters by owner, labels, state and end", async () => {
      await run("filter/a", "anna", { labels: { team: "x", job: "1" } });
      await run("filter/b", "bert", { labels: { team: "x" } });
      const held = await server.client.lease({ name: "filter/c", terms: { ...TTL, owner: "anna" } });
      await server.client.force("filter/c");
      expect(held.lockName).toBe("filter/c");
      await server.client.lease({ name: "filter/d", terms: { ...TTL, owner: "anna" } });
      const found = async (request: object) =>
        (await call("listClaims", { ...under("filter/"), ...request })).claims.map(
          ({ lockName }) => lockName,
        );
      expect(await found({ owner: "anna" })).toEqual(["filter/d", "filter/c", "filter/a"]);
      expect(await found({ labels: { team: "x" } })).toEqual(["filter/b", "filter/a"]);
      expect(await found({ labels: { team: "x", job: "1" } })).toEqual(["filter/a"]);
      expect(await found({ principal: "token:nobody" })).toEqual([]);
      expect(await found({ states: [ClaimState.HELD] })).toEqual(["filter/d"]);
      expect(await found({ endReasons: [EndReason.FORCE_RELEASED] })).toEqual(["filter/c"]);
    });

    test("says who held a lock at a time, and what ended in a time", async () => {
      const name = "past/times";
      for (const owner of ["first", "second", "third"]) {
        const { leaseId } = await server.client.lease({ name, terms: { ...TTL, owner: owner } });
        // The clock of SQLite moves in milliseconds, and a lease that ends in the one of its grant was held at no time.
        await sleep(2);
        await call("release", { leaseId });
      }
      const all = (await call("listClaims", of(name))).claims;
      const second = all[1] as Claim;
      const owners = async (request: RequestOf<"listClaims">) =>
        (await call("listClaims", request)).claims.map(({ owner }) => owner);
      const heldAt = (at: ReturnType<typeof seconds> | undefined) =>
        ({ locks: { case: "heldAt", value: { lockName: name, ...(at && { at }) } } }) as const;
      expect(second.owner).toBe("second");
      expect(await owners(heldAt(second.grantedAt))).toEqual(["second"]);
      expect(await owners(heldAt(seconds(1)))).toEqual([]);
      await expect(owners(heldAt(undefined))).rejects.toMatchObject({
        violations: [{ field: "held_at.at" }],
      });
      expect(await owners({ ...heldAt(second.grantedAt), until: second.end?.endedAt })).toEqual([]);
      for (const target of [of(name), under(name)]) {
        expect(await owners({ ...target, from: second.end?.endedAt })).toEqual(["third", "second"]);
        expect(await owners({ ...target, until: second.end?.endedAt })).toEqual(["first"]);
      }
    });

    test("refuses a token of another request", async () => {
      for (const owner of ["first", "second"]) await run("tokens/a", owner);
      const { nextPageToken: pageToken } = await call("listClaims", { ...under("tokens/"), pageSize: 1 });
      const other = call("listClaims", { ...under("tokens/a"), pageSize: 1, pageToken });
      await expect(other).rejects.toMatchObject({ violations: [{ field: "page_token" }] });
      const same = await call("listClaims", { ...under("tokens/"), pageSize: 5, pageToken });
      expect(same.claims).toMatchObject([{ owner: "first" }]);
    });
  });

  describe("ListChanges", () => {
    test("shows who changed what, from what to what, and why", async () => {
      const name = "changed/one";
      await server.client.limit(name, 2, { reason: "more" });
      await server.client.limit(name, null);
      await server.client.limitAll("changed/*", 3, { reason: "night" });
      await server.client.put(name, { newAttemptsLeft: { case: "attemptsLeft", value: 4 } });
      await server.client.lease({ name, terms: { ...TTL, owner: "anna" } });
      await server.client.force(name, "hung");
      const { changes, nextPageToken } = await call("listChanges", of(name));
      expect(nextPageToken).toBe("");
      const lockName = { case: "lockName", value: name };
      expect(changes.map(({ $typeName: _, changedAt: __, changedBy: ___, ...rest }) => rest)).toMatchObject([
        {
          target: lockName,
          reason: "hung",
          what: {
            case: "forcedRelease",
            value: { claim: { lockName: name, owner: "anna", state: ClaimState.HELD, ticketNumber: 1n } },
          },
        },
        {
          target: lockName,
          reason: "",
          what: {
            case: "record",
            value: { to: { status: "new", attemptsLeft: 4, version: expect.any(BigInt) } },
          },
        },
        {
          target: { case: "pattern", value: "changed/*" },
          reason: "night",
          what: { case: "limit", value: { to: 3 } },
        },
        { target: lockName, reason: "", what: { case: "limit", value: { from: 2 } } },
        { target: lockName, reason: "more", what: { case: "limit", value: { to: 2 } } },
      ]);
      const times = changes.map(({ changedAt }) => us(changedAt));
      expect(times).toEqual([...times].sort((a, b) => b - a));
      expect(new Set(changes.map(({ changedBy }) => changedBy)).size).toBe(1);
      expect(changes[0]?.changedBy).toContain("127.0.0.1");
    });

    test("filters by prefix, kind, time and who, page after page", async () => {
      for (let limit = 1; limit <= 5; limit++) await server.client.limit(`steps/${limit}`, limit);
      await server.client.put("steps/1");
      const limits = { ...under("steps/"), kinds: [ChangeKind.LIMIT] };
      const pages = await pagesOf((pageToken) => call("listChanges", { ...limits, pageSize: 2, pageToken }));
      const found = pages.flatMap((page) =>
        page.changes.map(({ what }) => what.case === "limit" && what.value.to),
      );
      expect(found).toEqual([5, 4, 3, 2, 1]);
      const { changes } = await call("listChanges", limits);
      const third = changes[2];
      const countOf = async (request: object) =>
        (await call("listChanges", { ...limits, ...request })).changes.length;
      expect(await countOf({ from: third?.changedAt })).toBe(3);
      expect(await countOf({ until: third?.changedAt })).toBe(2);
      expect(await countOf({ changedBy: third?.changedBy })).toBe(5);
      expect(await countOf({ changedBy: "somebody else" })).toBe(0);
      expect(await countOf({ kinds: [ChangeKind.POLICY] })).toBe(0);
      await call("setLimit", {
        target: { case: "pool", value: "steps/*" },
        newLimit: { case: "limit", value: 9 },
      });
      const [ofPool] = (await call("listChanges", limits)).changes;
      expect(ofPool).toMatchObject({
        target: { case: "pool", value: "steps/*" },
        what: { value: { to: 9 } },
      });
    });
  });

  describe("ExplainWait", () => {
    const causesOf = (causes: readonly WaitCause[]) => causes.map(({ cause }) => cause.case);

    test("of a free lock finds no cause", async () => {
      const explained = await call("explainWait", named("why/free"));
      expect(explained).toMatchObject({ causes: [], summary: "free: a request would be granted at once" });
      expect(explained.lock).toMatchObject({ name: "why/free", holders: [], waiters: [] });
      expect([explained.claim, explained.estimate]).toEqual([undefined, undefined]);
      expect((await call("listLocks", { prefix: "why/free" })).locks).toEqual([]);
    });

    test("says who holds the lock and who waits before, by name, ticket and number alike", async () => {
      const name = "why/held";
      await server.client.limitAll("why/h*", 1, { reason: "night shift" });
      await server.client.lease({ name, terms: { ...TTL, owner: "anna" } });
      await server.client.ticket({ name, terms: { ...TTL, owner: "bert" } });
      const { ticketId } = await server.client.ticket({ name, terms: { ...TTL, owner: "carl" } });
      const target = { lockName: name, ticketNumber: 3n };
      for (const asked of [
        { case: "ticketId", value: ticketId },
        { case: "claim", value: target },
      ] as const) {
        const { claim, causes, summary } = await call("explainWait", { target: asked });
        expect(claim).toMatchObject({ owner: "carl", ticketNumber: 3n, state: ClaimState.WAITING });
        expect(causes).toMatchObject([
          { cause: { case: "held", value: { holders: [{ owner: "anna" }], holderCount: 1 } } },
          { cause: { case: "queued", value: { ahead: 1, permitsAhead: 1n, first: [{ owner: "bert" }] } } },
        ]);
        expect(summary).toMatch(
          /^2nd in the queue; held by anna until .* UTC unless renewed \(about \d+ s left\); limit 1 from why\/h\* \(set .* UTC by .*127\.0\.0\.1.*: "night shift"\)$/,
        );
      }
      const { claim, causes } = await call("explainWait", named(name));
      expect(claim).toBeUndefined();
      expect(causes).toMatchObject([{ cause: { case: "held" } }, { cause: { value: { ahead: 2 } } }]);
    });

    test("says who paused a lock, when and why", async () => {
      const name = "why/paused";
      await server.client.limit(name, 0, { reason: "broken" });
      const { causes, summary } = await call("explainWait", named(name));
      expect(causes).toMatchObject([
        { cause: { case: "limit", value: { limit: { permits: 0, reason: "broken" } } } },
      ]);
      const [limit] = causes.map(({ cause }) => (cause.case === "limit" ? cause.value : null));
      expect(limit?.setBy).toContain("127.0.0.1");
      expect(us(limit?.setAt)).toBeGreaterThan(0);
      expect(summary).toMatch(/^paused: limit 0 \(set .* UTC by .*: "broken"\)$/);
    });

    test("says who paused a lock, although its rate was changed since", async () => {
      const name = "why/paused and rated";
      await server.client.limit(name, 0, { reason: "broken" });
      const explain = async () => {
        const { causes, summary } = await call("explainWait", named(name));
        return { summary, cause: causes[0]?.cause.value as { setAt?: object; setBy?: string } };
      };
      const before = await explain();
      await server.client.rate({ name }, { permits: 1, per: seconds(1) }, { reason: "slower" });
      const after = await explain();
      expect(after.cause.setBy).toContain("127.0.0.1");
      expect(after.cause.setAt).toEqual(before.cause.setAt);
      expect(after.summary).toBe(before.summary);
    });

    test("says what the record of the lock forbids", async () => {
      const name = "why/record";
      const notBeforeIn = seconds(600);
      await call("updateRecord", {
        name,
        status: "done",
        newAttemptsLeft: { case: "attemptsLeft", value: 0 },
        newNotBefore: { case: "notBeforeIn", value: notBeforeIn },
      });
      const { causes, estimate } = await call("explainWait", named(name));
      expect(causesOf(causes)).toEqual(["notBefore", "exhausted"]);
      expect(estimate).toBeUndefined();
    });

    test("estimates the wait from recent leases, once there are five", async () => {
      const name = "why/estimate";
      for (let count = 0; count < 4; count++) await run(name, "quick");
      await server.client.lease({ name, terms: TTL });
      const { ticketId } = await server.client.ticket({ name, terms: TTL });
      const explain = () => call("explainWait", comeBack(ticketId));
      expect((await explain()).estimate).toBeUndefined();
      await server.client.force(name, "next");
      await expect(explain()).rejects.toMatchObject({ reason: "UNKNOWN_CLAIM" });
      await call("release", { leaseId: ticketId });
      await server.client.lease({ name, terms: TTL });
      const { estimate, causes, summary } = await call("explainWait", named(name));
      expect(causesOf(causes)).toEqual(["held"]);
      expect(estimate).toMatchObject({ leases: 5 });
      const [low, median, high] = [estimate?.low, estimate?.median, estimate?.high].map(us);
      expect(low).toBeLessThanOrEqual(median as number);
      expect(median).toBeLessThanOrEqual(high as number);
      expect(summary).toMatch(/; likely to last /);
    });

    test("of what does not wait is an error", async () => {
      const unknown = { code: "NOT_FOUND", reason: "UNKNOWN_CLAIM" };
      const { leaseId } = await server.client.lease({ name: "why/not", terms: TTL });
      const { ticketId } = await server.client.ticket({ name: "why/not", terms: TTL });
      const wrongSecret = `${ticketId.slice(0, -22)}${"A".repeat(22)}`;
      for (const value of [leaseId, UNKNOWN_ID, wrongSecret])
        await expect(call("explainWait", comeBack(value))).rejects.toMatchObject(unknown);
      for (const lockName of ["why/not", "why/nobody"]) {
        const value = { lockName, ticketNumber: 9n };
        const target = { case: "claim", value } as const;
        await expect(call("explainWait", { target })).rejects.toMatchObject(unknown);
      }
    });

    test.runIf(kind !== "sqlite")("names the transaction that holds the rows of the lock", async () => {
      const name = "why/rows";
      await server.client.lease({ name, terms: TTL });
      const { ticketId } = await server.client.ticket({ name, terms: TTL });
      const plain = await openPlainConnection(database.url);
      try {
        await plain.run("BEGIN");
        await plain.run("SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE", [
          (await server.store.find([name])).get(name),
        ]);
        const { causes, summary } = await call("explainWait", comeBack(ticketId));
        // MySQL keeps what tells it in performance_schema, which may be off.
        const [row] = await plain.run("SELECT @@performance_schema AS is_on");
        const tells = kind !== "mysql" || Number((row as { is_on: unknown }).is_on) === 1;
        expect(causesOf(causes)).toEqual(tells ? ["rows", "held"] : ["held"]);
        if (!tells) return;
        const connectionId = BigInt(plain.id);
        expect(causes[0]?.cause.value).toMatchObject({ connectionId });
        expect(summary).toContain(`connection ${connectionId} of `);
      } finally {
        await plain.run("ROLLBACK");
        plain.close();
      }
    });
  });
});

/** A timestamp or a duration in microseconds. */
function us(time: { readonly seconds: bigint; readonly nanos: number } | undefined): number {
  return time ? Number(time.seconds) * 1e6 + time.nanos / 1e3 : Number.NaN;
}

// Rates and spends through a real client, by single calls and in a session.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ClaimState, EndReason, LimitSource, Mode, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { startServer, type TestServer } from "../../support/harness.ts";
import { CARRIERS, startTenantsServer } from "../../support/tenants.ts";
import {
  named,
  queued,
  seconds,
  type TestCalls,
  violationsIn,
  WHEN_BUSY,
  withTtl,
} from "../../support/test-calls.ts";

const HOURLY = { permits: 1, per: seconds(3_600), burst: 3 };
const QUICK = { permits: 20, per: seconds(1), burst: 1 };
const ENQUEUE = { whenBusy: { case: "enqueue", value: {} } } as const;
const of = (value: string) => ({ locks: { case: "lockName", value } }) as const;
const WAIT = { whenBusy: { case: "wait", value: {} } } as const;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe.each(Object.entries(CARRIERS))("by %s", (carrier, Client) => {
  let client: TestCalls;
  beforeAll(() => {
    client = new Client(server.address);
  });
  afterAll(() => client.close());
  const nameOf = (name: string) => `${carrier}/${name}`;

  describe("a spend", () => {
    test("is answered with what it took, once, whatever it would do if it had to wait", async () => {
      for (const [index, whenBusy] of WHEN_BUSY.entries()) {
        const name = nameOf(`at once ${index}`);
        const request = {
          name,
          permits: 2,
          requestId: `${carrier} ${index}`,
          whenBusy,
          terms: { owner: "me" },
        };
        await client.limit(name, 5);
        const spent = await client.spend(request);
        expect(spent).toMatchObject({
          lockName: name,
          permits: 2,
          fencingToken: 1n,
          requestId: request.requestId,
        });
        expect(Math.abs(Number(spent.spentAt?.seconds) - Date.now() / 1_000)).toBeLessThan(5);
        expect(await client.spend(request)).toEqual(spent);
        expect(await client.shown(name)).toMatchObject({
          heldPermits: 0n,
          lastFencingToken: 1n,
          holders: [],
        });
        const reused = client.call("acquire", { ...request, spendOnly: false });
        await expect(reused).rejects.toMatchObject({ reason: "REQUEST_ID_REUSED" });
      }
    });

    test("that waits in its call is answered when the rate allows it", async () => {
      const name = nameOf("waits");
      await client.rate({ name }, QUICK);
      const first = await client.spend({ name });
      const second = await client.spend({ name, ...WAIT });
      expect(second.fencingToken).toBe(first.fencingToken + 1n);
      expect(us(second.spentAt) - us(first.spentAt)).toBeGreaterThanOrEqual(50_000);
    });

    test("that waits in the queue gets its place with the time that the rate takes, and then what it took", async () => {
      const name = nameOf("queued");
      await client.limit(name, 3);
      await client.rate({ name }, HOURLY);
      await client.spend({ name, permits: 3 });
      const stream = client.wait(queued({ name, spendOnly: true, permits: 2, requestId: `${carrier} q` }));
      const place = await stream.position();
      expect(place).toMatchObject({ ahead: 0, permitsAhead: 0n });
      expect(Number(place.rateWait?.seconds)).toBeGreaterThanOrEqual(7_190);
      expect(Number(place.rateWait?.seconds)).toBeLessThanOrEqual(7_200);
      const behind = await client.ticket({ name });
      expect(Number(behind.rateWait?.seconds)).toBeGreaterThanOrEqual(10_790);
      await client.rate({ name }, null);
      expect(await stream.spent()).toMatchObject({ lockName: name, permits: 2, requestId: `${carrier} q` });
      const again = client.wait(queued({ name, spendOnly: true, permits: 2, requestId: `${carrier} q` }));
      expect((await again.spent()).fencingToken).toBe(2n);
    });

    test("that was given a ticket is found as spent by it, and there is nothing to renew or release", async () => {
      const name = nameOf("ticket");
      await client.limit(name, 3);
      await client.rate({ name }, HOURLY);
      await client.spend({ name, permits: 3 });
      const request = { name, spendOnly: true, requestId: `${carrier} t`, ...ENQUEUE };
      const { ticketId } = await client.ticket(request);
      const { claims } = await client.call("listClaims", of(name));
      expect(claims).toMatchObject([
        { state: ClaimState.WAITING, spendOnly: true },
        { state: ClaimState.ENDED, end: { reason: EndReason.SPENT }, spendOnly: true, permits: 3 },
      ]);
      await client.rate({ name }, null);
      const following = client.wait({ target: { case: "ticketId", value: ticketId } });
      expect(await following.spent()).toMatchObject({ lockName: name, fencingToken: 2n });
      expect((await client.spend(request)).fencingToken).toBe(2n);
      expect(await client.call("release", { leaseId: ticketId })).toMatchObject({ released: false });
      const renewed = client.call("renew", { leaseId: ticketId });
      await expect(renewed).rejects.toMatchObject({ code: "FAILED_PRECONDITION" });
    });
  });

  describe("a refusal", () => {
    test("for the rate has the exact time after which a try is granted, and the rate with its reason", async () => {
      const name = nameOf("refused");
      await client.rate({ name }, { ...HOURLY, burst: 1 }, { reason: "The provider asks for it." });
      await client
        .lease({ name, terms: withTtl(60) })
        .then(({ leaseId }) => client.call("release", { leaseId }));
      const refusal = await client.refusal({ name });
      expect(refusal).toMatchObject({
        reason: RefusalReason.RATE,
        message: expect.stringMatching(
          /is granted at a rate of 1 per 3600 s \(reason: The provider asks for it\.\)\. Wait in its queue, or try again in /,
        ),
        holders: [],
        rate: {
          rate: { permits: 1, per: { seconds: 3_600n }, burst: 1 },
          ...{ source: LimitSource.NAME, pattern: "", version: 1n, reason: "The provider asks for it." },
        },
      });
      expect(refusal.limit).toBeUndefined();
      expect(Number(refusal.retryAfter?.seconds)).toBeGreaterThanOrEqual(3_590);
      expect(Number(refusal.retryAfter?.seconds)).toBeLessThanOrEqual(3_600);
    });

    test("of more permits than the burst names the burst, for new requests and for a waiter", async () => {
      const name = nameOf("burst");
      await client.limit(name, 10);
      await client.rate({ name }, HOURLY);
      for (const whenBusy of WHEN_BUSY) {
        const refusal = await client.refusal({ name, permits: 4, whenBusy });
        expect(refusal).toMatchObject({ reason: RefusalReason.NEVER_FITS, rate: { rate: { burst: 3 } } });
        expect(refusal.message).toMatch(
          /^4 permits of ".*" can never be granted: it has a rate of .*, whose burst is 3\.$/,
        );
        expect(refusal.limit).toBeUndefined();
      }
      await client.spend({ name, permits: 3 });
      const stream = client.wait(queued({ name, permits: 3 }));
      await stream.position();
      await client.rate({ name }, { ...HOURLY, burst: 2 });
      expect(await stream.ended()).toMatchObject({ reason: EndReason.NEVER_FITS });
    });
  });

  test("a rate is set beside the limit, with one version for both, and shown wherever a limit is", async () => {
    const name = nameOf("set");
    await client.limit(name, 4, { reason: "four" });
    const set = await client.rate(
      { name },
      { permits: 5, per: seconds(60), burst: 0 },
      { reason: "five", expectedVersion: 1n },
    );
    expect(set).toMatchObject({
      limit: 4,
      version: 2n,
      rate: { permits: 5, per: { seconds: 60n }, burst: 5 },
    });
    const outdated = client.rate({ name }, null, { expectedVersion: 1n });
    await expect(outdated).rejects.toMatchObject({ reason: "VERSION_MISMATCH" });
    await client.spend({ name, permits: 2 });
    expect(await client.shown(name)).toMatchObject({
      limit: { permits: 4, version: 2n },
      rate: {
        rate: { permits: 5, burst: 5 },
        source: LimitSource.NAME,
        version: 2n,
        reason: "five",
        available: 3,
      },
    });
    const pattern = `${nameOf("only")}/*`;
    expect(await client.rate({ pattern }, HOURLY)).toMatchObject({
      limit: 1,
      version: 1n,
      rate: { permits: 1 },
    });
    const { limits } = await client.call("listLimits", { prefix: carrier, pageSize: 1_000 });
    expect(limits).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ target: { case: "pattern", value: pattern }, limit: 0, rateOnly: true }),
        expect.objectContaining({
          target: { case: "name", value: name },
          limit: 4,
          rateOnly: false,
          version: 2n,
        }),
      ]),
    );
    await client.call("setLimit", {
      ...named(name),
      newLimit: { case: "unsetLimit", value: {} },
      newRate: { case: "unsetRate", value: {} },
      reason: "over",
    });
    const { changes } = await client.call("listChanges", of(name));
    expect(changes.map(({ reason, what }) => [reason, what.value])).toMatchObject([
      ["over", { from: 4, rateFrom: { permits: 5, burst: 5 } }],
      ["five", { from: 4, to: 4, rateTo: { permits: 5, per: { seconds: 60n }, burst: 5 } }],
      ["four", { to: 4 }],
    ]);
    expect(changes[0]?.what.value).not.toHaveProperty("rateTo", expect.anything());
  });
});

test("the mistakes of a rate and of a spend are named all at once", async () => {
  const { client } = server;
  const fieldsOf = async (call: Promise<unknown>) =>
    Object.keys(violationsIn((await call.catch((error: unknown) => error)) as never)).toSorted();
  const rate = { permits: 0, per: { seconds: 0n, nanos: 5 }, burst: 1_000_001 };
  expect(await fieldsOf(client.rate({ name: "" }, rate))).toEqual([
    "name",
    "rate.burst",
    "rate.per",
    "rate.permits",
  ]);
  expect(await fieldsOf(client.call("setLimit", named("a")))).toEqual(["limit"]);
  const slow = { permits: 1, per: seconds(24 * 86_400), burst: 200 };
  expect(await fieldsOf(client.rate({ name: "a" }, slow))).toEqual(["rate.burst"]);
  const terms = {
    ...withTtl(60),
    ...{
      minInterval: seconds(1),
      lockDelay: seconds(1),
      statusIfLost: "lost",
      ifStatus: ["new"],
      owner: "me",
    },
  };
  const mode = Mode.SHARED;
  const ofLeases = ["mode", "terms.lock_delay", "terms.min_interval", "terms.status_if_lost", "terms.ttl"];
  expect(await fieldsOf(client.call("acquire", { name: "a", mode, spendOnly: true, terms }))).toEqual(
    ofLeases,
  );
  const stream = client.wait(queued({ name: "a", mode, spendOnly: true, terms }));
  expect(Object.keys(violationsIn(await stream.failure())).toSorted()).toEqual(
    ofLeases.map((field) => `request.${field}`),
  );
});

test("a caller that may not see all names of a pattern sees its rate as bare numbers", async () => {
  const policy =
    "rules: [{ who: token:root, may: [read, use, operate], on: '*' }, { who: token:user, may: [read, use], on: 'llm/mine/*' }]";
  const tenants = await startTenantsServer(policy, ["root", "user"]);
  onTestFinished(() => tenants.stop());
  const [root, user] = [tenants.clientOf("root"), tenants.clientOf("user")];
  await root.rate({ pattern: "llm/*" }, HOURLY, { reason: "a secret contract" });
  const name = "llm/mine/a";
  await user.spend({ name, permits: 1 });
  await user.limit(name, 1).catch(() => {});
  await root.spend({ name });
  await root.spend({ name });
  const [refusal, lock] = [await user.refusal({ name, terms: withTtl(60) }), await user.shown(name)];
  const forRoot = await root.refusal({ name });
  const ticket = await user.ticket({ name, terms: withTtl(60) });
  const { causes } = await user.call("explainWait", { target: { case: "ticketId", value: ticket.ticketId } });
  const cause = causes.find(({ cause }) => cause.case === "rate")?.cause.value as
    | { rate?: object }
    | undefined;
  const bare = {
    rate: { permits: 1, burst: 3 },
    source: LimitSource.PATTERN,
    pattern: "",
    version: 0n,
    reason: "",
  };
  for (const shown of [refusal.rate, lock.rate, cause?.rate]) expect(shown).toMatchObject(bare);
  expect(refusal.message).not.toMatch(/llm\/\*|secret/);
  expect(forRoot.rate).toMatchObject({ pattern: "llm/*", version: 1n, reason: "a secret contract" });
});

function us(at: { readonly seconds: bigint; readonly nanos: number } | undefined): number {
  return Number(at?.seconds ?? 0n) * 1_000_000 + (at?.nanos ?? 0) / 1_000;
}

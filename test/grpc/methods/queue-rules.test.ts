// Queue rules through a real client: what is set and shown, and what a superseded waiter hears.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EndReason, LimitSource, RefusalReason, WhenFull } from "#proto/rowlock/v1/lock_pb.js";
import { startServer, type TestServer } from "../../support/harness.ts";
import { CARRIERS, startTenantsServer } from "../../support/tenants.ts";
import { named, type TestCalls, violationsIn } from "../../support/test-calls.ts";

const NEWEST = { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING };
const ENQUEUE = { whenBusy: { case: "enqueue", value: {} } } as const;
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

  test("they are set, shown, listed and removed beside the limit and the rate", async () => {
    const name = `${carrier}/set`;
    const set = await client.call("setLimit", {
      ...named(name),
      newQueueRules: { case: "queueRules", value: { waitingMax: 3 } },
      reason: "three pushes",
    });
    const rules = { waitingMax: 3, whenFull: WhenFull.REFUSE };
    expect(set).toMatchObject({ limit: 1, version: 1n, queueRules: rules });
    expect(await client.shown(name)).toMatchObject({
      queueRules: { rules, source: LimitSource.NAME, version: 1n, reason: "three pushes" },
    });
    const { limits } = await client.call("listLimits", { prefix: name });
    expect(limits).toMatchObject([{ rateOnly: true, queueRules: rules }]);
    const { changes } = await client.call("listChanges", { locks: { case: "lockName", value: name } });
    expect(changes[0]?.what).toMatchObject({ case: "limit", value: { queueRulesTo: rules } });
    const none = await client.call("setLimit", {
      ...named(name),
      newQueueRules: { case: "unsetQueueRules", value: {} },
    });
    expect([none.version, none.queueRules]).toEqual([2n, undefined]);
  });

  test("shares are set, shown and removed, with a bound and without one", async () => {
    const name = `${carrier}/shared`;
    const set = (value: object) =>
      client.call("setLimit", { ...named(name), newQueueRules: { case: "queueRules", value } });
    const alone = { waitingMax: 0, whenFull: WhenFull.REFUSE, shareBy: "principal" };
    expect(await set({ shareBy: "principal" })).toMatchObject({ queueRules: alone });
    const both = { waitingMax: 9, whenFull: WhenFull.REFUSE, shareBy: "label:tenant" };
    expect(await set({ waitingMax: 9, shareBy: "label:tenant" })).toMatchObject({ queueRules: both });
    expect(await client.shown(name)).toMatchObject({ queueRules: { rules: both } });
    const { changes } = await client.call("listChanges", { locks: { case: "lockName", value: name } });
    const value = { queueRulesFrom: alone, queueRulesTo: both };
    expect(changes[0]?.what).toMatchObject({ case: "limit", value });
  });

  test.each([
    ["tenant", "share_by"],
    ["label:", "share_by"],
    [`label:${"k".repeat(64)}`, "share_by"],
  ])("shares by %j are refused", async (shareBy, field) => {
    const value = { waitingMax: 1, shareBy };
    const bad = client.call("setLimit", { ...named("x"), newQueueRules: { case: "queueRules", value } });
    const fields = violationsIn((await bad.catch((error: unknown) => error)) as never);
    expect(Object.keys(fields)).toEqual([`queue_rules.${field}`]);
  });

  test("a head start is for those within the rules, and shown with these", async () => {
    const name = `${carrier}/head-start`;
    const value = { headStartMax: { seconds: 60n } };
    const rules = { waitingMax: 0, headStartMax: { seconds: 60n } };
    const set = await client.call("setLimit", {
      ...named(name),
      newQueueRules: { case: "queueRules", value },
    });
    expect(set).toMatchObject({ queueRules: rules });
    const { leaseId } = await client.lease({ name });
    const waits = [0n, 30n].map(async (seconds) => {
      const headStart = { seconds };
      return { seconds, answer: await client.call("acquire", { name, headStart, ...WAIT }) };
    });
    for (let waiting = 0; waiting < 2; ) waiting = (await client.shown(name)).waiterCount;
    await client.call("release", { leaseId });
    const first = await Promise.race(waits);
    expect(first).toMatchObject({ seconds: 30n, answer: { outcome: { case: "lease" } } });
    const { leaseId: next } = first.answer.outcome.value as { leaseId: string };
    await client.call("release", { leaseId: next });
    await Promise.all(waits);
    const several = client.call("acquire", {
      name,
      headStart: { seconds: 1n },
      also: [{ name: `${name}/b` }],
    });
    expect(Object.keys(violationsIn((await several.catch((error: unknown) => error)) as never))).toEqual([
      "head_start",
    ]);
  });

  test("of two orders one must be chosen", async () => {
    const value = { ...NEWEST, shareBy: "principal" };
    const bad = client.call("setLimit", { ...named("x"), newQueueRules: { case: "queueRules", value } });
    const fields = violationsIn((await bad.catch((error: unknown) => error)) as never);
    expect(fields).toMatchObject({ "queue_rules.when_full": expect.stringMatching(/set one of them/) });
  });

  test("a wait that is superseded ends with that, and a repeat of its request is told so", async () => {
    const name = `${carrier}/newest`;
    await client.call("setLimit", {
      ...named(name),
      newQueueRules: { case: "queueRules", value: NEWEST },
    });
    await client.lease({ name });
    const requestId = `${carrier}-push-1`;
    const older = client.call("acquire", { name, requestId, ...WAIT });
    // Not in the same transaction as the next one, so that it has waited.
    for (let waiting = 0; waiting < 1; ) waiting = (await client.shown(name)).waiterCount;
    const newer = await client.call("acquire", { name, ...ENQUEUE });
    expect(newer.outcome).toMatchObject({ case: "ticket", value: { ahead: 0 } });
    const ended = { case: "ended", value: { reason: EndReason.SUPERSEDED } };
    expect((await older).outcome).toMatchObject(ended);
    expect((await client.call("acquire", { name, requestId, ...ENQUEUE })).outcome).toMatchObject(ended);
  });

  test("all faults are said at once, and a pool takes none", async () => {
    const bad = client.call("setLimit", {
      target: { case: "pool", value: `${carrier}/*` },
      newQueueRules: { case: "queueRules", value: { waitingMax: 0, whenFull: 9 as WhenFull } },
    });
    const fields = Object.keys(violationsIn((await bad.catch((error: unknown) => error)) as never));
    expect(fields).toEqual(["queue_rules", "queue_rules.waiting_max", "queue_rules.when_full"]);
  });
});

test("who may use the lock and not supersede is told what it takes, and ends the own wait", async () => {
  const policy = `
rules:
  - { who: token:root, may: [read, use, supersede, operate], on: "*" }
  - { who: token:guest, may: [use], on: "*" }
`;
  const tenants = await startTenantsServer(policy, ["root", "guest"]);
  try {
    const [root, guest] = [tenants.clientOf("root"), tenants.clientOf("guest")];
    await root.call("setLimit", {
      ...named("deploy"),
      newQueueRules: { case: "queueRules", value: NEWEST },
    });
    await root.lease({ name: "deploy" });
    const own = await guest.call("acquire", { name: "deploy", requestId: "g-1", ...ENQUEUE });
    expect(own.outcome.case).toBe("ticket");
    expect((await guest.call("acquire", { name: "deploy", ...ENQUEUE })).outcome.case).toBe("ticket");
    expect((await root.call("acquire", { name: "deploy", ...ENQUEUE })).outcome.case).toBe("ticket");
    const refused = await guest.call("acquire", { name: "deploy", ...ENQUEUE });
    expect(refused.outcome).toMatchObject({
      case: "refusal",
      value: { reason: RefusalReason.QUEUE_FULL, queueRules: { rules: NEWEST } },
    });
    expect((refused.outcome.value as { message: string }).message).toContain("the right supersede");
  } finally {
    await tenants.stop();
  }
});

test("the label by which a lock is shared is the one that the policy fixes, and no caller's word", async () => {
  const policy = `
rules:
  - { who: "*", may: [read, use, operate], on: "*" }
labels:
  - { who: "token:acme-*", set: { tenant: acme } }
  - { who: token:bolt, set: { tenant: bolt } }
`;
  const tenants = await startTenantsServer(policy, ["acme-1", "acme-2", "bolt", "guest"]);
  try {
    const [first, second, bolt, guest] = ["acme-1", "acme-2", "bolt", "guest"].map((who) =>
      tenants.clientOf(who),
    ) as [TestCalls, TestCalls, TestCalls, TestCalls];
    const name = "gpu";
    await first.call("setLimit", {
      ...named(name),
      newLimit: { case: "limit", value: 2 },
      newQueueRules: { case: "queueRules", value: { shareBy: "label:tenant" } },
    });
    const held = await first.lease({ name });
    await second.lease({ name });
    const waits = [first, second, bolt].map((client) => client.call("acquire", { name, ...WAIT }));
    for (let waiting = 0; waiting < 3; ) waiting = (await first.shown(name)).waiterCount;
    const { waiters } = await first.shown(name);
    const tenant = (of: string) => ({ labels: { tenant: of } });
    // The first of each, and then the others.
    expect(waiters).toMatchObject([tenant("acme"), tenant("bolt"), tenant("acme")]);
    await first.call("release", { leaseId: held.leaseId });
    expect((await waits[2])?.outcome.case).toBe("lease");
    // Those of the other tenant wait on.
    for (const wait of waits) wait.catch(() => {});
    for (const client of [bolt, guest]) {
      const chosen = client.call("acquire", { name, terms: { labels: { tenant: "acme" } } });
      await expect(chosen).rejects.toMatchObject({
        code: "PERMISSION_DENIED",
        message: expect.stringMatching(/fixes labels: token:\w+ has .* for "tenant", so leave it out/),
      });
    }
    const capture = guest.call("capture", {
      from: { case: "names", value: { names: [name] } },
      maxLeases: 1,
      terms: { labels: { tenant: "acme" } },
    });
    await expect(capture).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    const said = await bolt.call("acquire", {
      name: "other",
      terms: { labels: { tenant: "bolt", job: "7" } },
    });
    expect(said.outcome.case).toBe("lease");
  } finally {
    await tenants.stop();
  }
});

test("a head start takes its right", async () => {
  const policy = `
rules:
  - { who: "*", may: [read, use], on: "*" }
  - { who: token:root, may: [head_start], on: "gpu*" }
`;
  const tenants = await startTenantsServer(policy, ["root", "guest"]);
  try {
    const headStart = { seconds: 9n };
    const ask = (who: string, name: string) => tenants.clientOf(who).call("acquire", { name, headStart });
    expect((await ask("root", "gpu")).outcome.case).toBe("lease");
    for (const [who, name] of [
      ["guest", "gpu/2"],
      ["root", "disk"],
    ] as const)
      await expect(ask(who, name)).rejects.toMatchObject({
        reason: "RIGHT_MISSING",
        message: expect.stringMatching(/needs the right `head_start`/),
      });
  } finally {
    await tenants.stop();
  }
});

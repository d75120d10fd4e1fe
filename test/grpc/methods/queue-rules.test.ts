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

// A claim for several locks in a session: one lease, one renewal, one report of its end, whichever of its rows the server decides first.

import { describe, expect, test } from "vitest";
import { EndReason, type Lease } from "#proto/rowlock/v1/lock_pb.js";
import { serverOfTest as start } from "../../support/harness.ts";
import {
  acquire,
  type BareSession,
  type Command,
  sessionOfTest as open,
  release,
  wait,
} from "../../support/session-client.ts";
import { named, withTtl } from "../../support/test-calls.ts";

const TTL = withTtl(60);
const further = (...names: string[]) => names.map((name) => ({ name }));
const renewAll = (...leases: readonly Lease[]) =>
  ({ case: "renewLeases", value: { leases: leases.map(({ leaseId }) => ({ leaseId })) } }) as Command;

const lostIn = (session: BareSession) => session.responses.flatMap(({ lost }) => lost);

/** The names in the order in which they are used first, which is the order of their rows. */
async function started(...names: readonly string[]) {
  const server = await start();
  for (const name of names) {
    const { leaseId } = await server.client.lease({ name, terms: TTL });
    await server.client.call("release", { leaseId });
  }
  return { server, client: server.client, session: open(server.client) };
}

async function renewed(session: BareSession, lease: Lease) {
  const result = await session.last(session.askOne(renewAll(lease)));
  return result.case === "renewLeases" ? result.value.leases.map(({ outcome }) => outcome) : [];
}

describe.each([
  ["the lead is the first row", ["a", "b", "c"]],
  ["the lead is the last row", ["c", "b", "a"]],
])("a lease of several locks in a session, where %s", (_, order) => {
  const request = { name: "a", also: further("b", "c"), terms: TTL };

  test("is renewed as one, and its loss by a further name is reported once", async () => {
    const { client, session, server } = await started(...order);
    const lease = await session.leaseOf(session.askOne(acquire(request)));
    expect(lease).toMatchObject({ lockName: "a", also: [{ lockName: "b" }, { lockName: "c" }] });
    expect(await renewed(session, lease)).toMatchObject([
      { case: "lease", value: { leaseId: lease.leaseId } },
    ]);
    await client.force("b");
    const lost = await session.firstOf("lost");
    const { leaseId } = lease;
    expect(lost).toMatchObject([
      { leaseId, lockName: "a", end: { reason: EndReason.FORCE_RELEASED, note: "a test" } },
    ]);
    // Whatever else the server had to say of it would have come by now.
    expect(await renewed(session, lease)).toMatchObject([{ case: "error" }]);
    expect(lostIn(session)).toHaveLength(1);
    for (const name of order) expect((await client.shown(name)).holderCount).toBe(0);
    expect(server.events.filter(({ kind }) => kind === "ended")).toHaveLength(order.length + 3);
  });

  test("is no loss when its client gives it back", async () => {
    const { client, session } = await started(...order);
    const lease = await session.leaseOf(session.askOne(acquire(request)));
    expect(await session.last(session.askOne(release(lease.leaseId)))).toMatchObject({
      value: { released: true },
    });
    await session.leaseOf(session.askOne(acquire({ name: "a", terms: TTL })));
    expect(lostIn(session)).toEqual([]);
    expect((await client.shown("b")).holderCount).toBe(0);
  });

  test("is confirmed once after a wait, and all of its rows with it", async () => {
    const { client, session } = await started(...order);
    const { leaseId } = await client.lease({ name: "c", terms: TTL });
    session.keepAlive(20);
    const call = session.askOne(wait(request));
    expect(await session.ticketOf(call)).toMatchObject({ lockName: "a", waitsFor: "a", ahead: 0 });
    await client.call("release", { leaseId });
    const lease = await session.leaseOf(call);
    expect(lease).toMatchObject({ provisional: true, also: [{ fencingToken: 2n }, { fencingToken: 3n }] });
    const [confirmed] = await session.firstOf("confirmed");
    expect(confirmed).toMatchObject({
      leaseId: lease.leaseId,
      provisional: false,
      also: [{ lockName: "b" }, { lockName: "c" }],
    });
    for (const name of order)
      expect((await client.shown(name)).holders).toMatchObject([
        { provisional: false, expiresAt: confirmed?.expiresAt },
      ]);
    expect(lostIn(session)).toEqual([]);
    await client.call("forceRelease", { ...named("c"), reason: "a test" });
    expect(await session.firstOf("lost")).toHaveLength(1);
  });
});

// A rate holds across servers: what one server grants, the other counts, and waiters of a server that is gone are granted by
// the others.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SPENDS } from "../../server/core/claim.ts";
import type { Rate } from "../../server/core/rate.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { until } from "../support/until.ts";

const SECOND_US = 1_000_000;

describe.each(testDatabases())("a rate on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;

  beforeAll(async () => {
    replicas = await startReplicas(database, 2, { graceUs: 30 * SECOND_US, attachedForUs: 30 * SECOND_US });
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    await replicas.stop();
    expect(replicas.all.flatMap((replica) => replica.failures)).toEqual([]);
  });

  const setRate = ({ engine }: Replica, name: string, rate: Rate | null) =>
    engine.ask({ verb: "set_limit", name, rate, expectedVersion: undefined, reason: "" });

  test("is spent by all servers together, in order, and never faster than it allows", async () => {
    const rate: Rate = { permits: 20, perUs: SECOND_US, burst: 3 };
    await setRate(here, "together", rate);
    const who = Array.from({ length: 15 }, follower);
    const asked: bigint[] = [];
    for (const [index, each] of who.entries()) {
      const { engine } = index % 2 === 0 ? here : there;
      const { outcome } = await engine.acquire(ask("together", { ttlUs: SPENDS }), each);
      if (outcome.kind === "ended") each.settled(outcome.claim, 0);
      asked.push((outcome as { claim: { ticketNumber: bigint } }).claim.ticketNumber);
    }
    const told = (await Promise.all(who.map(({ toldClaim }) => toldClaim))).map(({ claim }) => claim);
    expect(told.map(({ endReason }) => endReason)).toEqual(told.map(() => "spent"));
    expect(told.map(({ ticketNumber }) => ticketNumber)).toEqual(asked);
    const tokens = told.map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    // What the servers do not know of the database's clock.
    const unsureUs = 100_000;
    const atUs = told.map(({ grantedAtUs }) => grantedAtUs ?? 0);
    for (let from = 0; from < atUs.length; from++)
      for (let to = from + 1; to < atUs.length; to++) {
        const spanUs = (atUs[to] as number) - (atUs[from] as number) + unsureUs;
        expect(to - from + 1).toBeLessThanOrEqual(rate.burst + (rate.permits * spanUs) / rate.perUs);
      }
  });

  test("of a pattern that is set here applies there at once", async () => {
    const spend = async ({ engine }: Replica) =>
      (await engine.acquire(ask("llm/model", { ttlUs: SPENDS, mayWait: false }), null)).outcome;
    expect((await spend(there)).kind).toBe("ended");
    await here.engine.setLimitRule(
      "llm/",
      { rate: { permits: 1, perUs: 3_600 * SECOND_US, burst: 1 } },
      undefined,
      "",
    );
    expect((await spend(there)).kind).toBe("ended");
    expect(await spend(here)).toMatchObject({ kind: "refused", reason: "rate", rate: { pattern: "llm/*" } });
    expect(await spend(there)).toMatchObject({ kind: "refused", reason: "rate", rate: { pattern: "llm/*" } });
  });

  test("grants to the waiter of a server that is gone, because the others look at each lock that wakes", async () => {
    await setRate(there, "gone", { permits: 1, perUs: 2 * SECOND_US, burst: 1 });
    claimOf(await here.engine.acquire(ask("gone", { ttlUs: SPENDS }), null), "ended");
    const ticket = claimOf(await here.engine.acquire(ask("gone", { ttlUs: SPENDS }), null), "waiting");
    await here.engine.stop();
    const now = async () => (await there.store.claims([ticket])).claims[0];
    expect((await now())?.state).toBe("waiting");
    await until(async () => (await now())?.state === "ended");
    expect(await now()).toMatchObject({ endReason: "spent", fencingToken: 2n });
  });
});

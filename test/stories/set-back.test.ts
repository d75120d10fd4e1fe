// The rows of a database are set back to an earlier state, as when a snapshot is restored, while servers run on them.
// A server must not trust what it remembers of rows that no longer exist.

import { createConnection } from "mysql2/promise";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { reportLeftOut, testServers } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const TABLES = ["lock", "claim", "limit_rule", "meta"];

const servers = testServers();

reportLeftOut(servers);

describe.each(servers)("rows of $label that are set back", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;

  beforeEach(async () => {
    replicas = await startReplicas(database, 2);
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterEach(() => replicas?.stop());

  async function run(...statements: string[]): Promise<void> {
    const connection = await createConnection({ uri: replicas.url });
    for (const statement of statements) await connection.query(statement);
    await connection.end();
  }

  const takeSnapshot = () =>
    run(...TABLES.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM rowlock_${table}`));
  const setBack = () =>
    run(
      "START TRANSACTION",
      ...TABLES.map((table) => `DELETE FROM rowlock_${table}`),
      ...TABLES.map((table) => `INSERT INTO rowlock_${table} SELECT * FROM kept_${table}`),
      "COMMIT",
    );
  const setLimit = ({ engine }: Replica) => engine.ask(asks.setLimit("a", 1, undefined, ""));
  const take = async ({ engine }: Replica) => claimOf(await engine.acquire(ask("a"), null), "held");

  test("give a lost lease no power over the lease that has its number now", async () => {
    await here.engine.ask(asks.release(await take(here)));
    await takeSnapshot();
    const lost = await take(here);
    await setBack();
    const lease = await take(there);
    expect(lease.ticketNumber).toBe(lost.ticketNumber);

    expect((await here.engine.ask(asks.release(lost))).outcome.kind).toBe("unknown_claim");
    expect((await here.engine.ask(asks.renew(lost, undefined))).outcome.kind).toBe("unknown_claim");
    expect(claimOf(await there.engine.ask(asks.renew(lease, undefined)), "held").fencingToken).toBe(
      lease.fencingToken,
    );
    expect(await here.store.checkInvariants(5)).toEqual([]);
  });

  test("are read again by servers that knew the later rows, so that no token is issued twice", async () => {
    await setLimit(here);
    await takeSnapshot();
    // As many transactions as the other server is about to make.
    for (let turn = 0; turn < 2; turn++) await setLimit(here);
    await setBack();
    const first = await take(there);
    await there.engine.ask(asks.release(first));

    const second = await take(here);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await here.store.checkInvariants(5)).toEqual([]);
  });

  test("bring back other limit rules, which servers read", async () => {
    await takeSnapshot();
    await here.engine.setLimitRule("a", { limit: 3 }, undefined, "");
    await here.engine.ask(asks.release(await take(here)));
    await setBack();
    await there.engine.setLimitRule("a", { limit: 1 }, undefined, "");
    await take(there);

    const refused = await here.engine.acquire(ask("a", { mayWait: false }), null);
    expect(refused.outcome).toMatchObject({ kind: "refused", reason: "busy", limit: { limit: 1 } });
  });

  test("end a waiter whose place is gone, and show it nothing of the claim that has its number now", async () => {
    const lease = await take(there);
    await takeSnapshot();
    const waiter = follower();
    const lost = claimOf(await here.engine.acquire(ask("a"), waiter), "waiting");
    await setBack();
    const next = follower();
    const waiting = claimOf(await there.engine.acquire(ask("a"), next), "waiting");
    expect(waiting.ticketNumber).toBe(lost.ticketNumber);
    await there.engine.ask(asks.release(lease));

    const told = (await waiter.toldClaim).claim;
    expect(told).toMatchObject({ state: "ended", secret: lost.secret });
    expect((await next.toldClaim).claim).toMatchObject({ state: "held", secret: waiting.secret });
  });
});

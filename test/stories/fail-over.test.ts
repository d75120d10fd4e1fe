// The database fails over to a lagging copy on another server: no token repeats or falls, nothing is granted while a
// lease that only the old server knew may still be held, and waiters are granted afterwards.

import { createConnection, type RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { freshDatabase, reportLeftOut, testServers } from "../support/database.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import { startPrivateServer } from "../support/mysql-family/private-server.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const PAUSE_US = 700_000;
const TABLES = ["lock", "claim", "limit_rule", "replica", "meta"];

const servers = testServers();

reportLeftOut(servers);

describe.each(servers)("a copy of $label that lags", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;
  let copy: { readonly url: string; readonly stop: () => Promise<void> };
  let copies: Store[];
  let promoted = false;

  beforeAll(async () => {
    copy = await startCopy();
    await migrateUp(copy.url);
    copies = [await openStore(copy.url), await openStore(copy.url)];
    const stores = [...copies];
    const wrap = (store: Store) => switched(store, stores.shift() as Store, () => promoted);
    replicas = await startReplicas(database, 2, {}, wrap, PAUSE_US);
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    promoted = false;
    await replicas?.stop();
    for (const store of copies ?? []) await store.close();
    await copy?.stop();
  });

  test("issues no token twice, nor any lease while a lost one may be held", async () => {
    const names = ["a", "b", "c"];
    const highest = new Map(names.map((name) => [name, 0n]));
    const takeTurns = async (engine: Replica["engine"]) => {
      for (const name of names) {
        const lease = claimOf(await engine.acquire(ask(name, { ttlUs: 1_000_000 }), null), "held");
        expect(lease.fencingToken).toBeGreaterThan(highest.get(name) as bigint);
        highest.set(name, lease.fencingToken);
        await engine.ask(asks.release(lease));
      }
    };
    await takeTurns(here.engine);
    const known = claimOf(await here.engine.acquire(ask("known"), null), "held");
    await copyRows(replicas.url, copy.url);
    for (let turn = 0; turn < 5; turn++) await takeTurns(turn % 2 ? here.engine : there.engine);
    const lost = claimOf(await here.engine.acquire(ask("lost"), null), "held");

    promoted = true;
    const askedMs = performance.now();
    const waiter = follower();
    const refused = await there.engine.acquire(ask("a", { mayWait: false }), null);
    expect(refused.outcome).toMatchObject({ kind: "refused", reason: "failed_over" });
    expect((refused.outcome as { forUs: number }).forUs).toBeLessThanOrEqual(PAUSE_US);
    claimOf(await here.engine.acquire(ask("lost"), waiter), "waiting");
    expect((await here.engine.ask(asks.renew(lost, undefined))).outcome.kind).toBe("unknown_claim");
    expect(claimOf(await there.engine.ask(asks.renew(known, undefined)), "held").fencingToken).toBe(
      known.fencingToken,
    );

    const granted = (await waiter.toldClaim).claim;
    expect(granted.state).toBe("held");
    expect(performance.now() - askedMs).toBeGreaterThanOrEqual(PAUSE_US / 1_000);
    expect(granted.fencingToken).toBeGreaterThan(lost.fencingToken);
    for (let turn = 0; turn < 3; turn++) await takeTurns(turn % 2 ? here.engine : there.engine);
    expect(await here.store.checkInvariants(5)).toEqual([]);
    // One of the engines reported it; the other may have come only after that.
    const noted = [here, there].flatMap(({ failures }) => failures);
    expect(noted.length).toBeGreaterThan(0);
    expect(noted.map((failure) => (failure as { loop: string }).loop)).toEqual(noted.map(() => "fail_over"));
  });
});

/** The old server's store until the copy is promoted, then the copy's store. */
function switched(old: Store, successor: Store, isPromoted: () => boolean): Store {
  return new Proxy(old, {
    get(_target, name) {
      const store = isPromoted() ? successor : old;
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
}

/** A database on its own server, with its own server identity. MariaDB starts faster than MySQL. */
async function startCopy(): Promise<{ url: string; stop: () => Promise<void> }> {
  const binaries = await ownBinaries();
  const flavour = binaries.has("mariadb") ? "mariadb" : "mysql";
  const binary = binaries.get(flavour);
  if (!binary) {
    throw new Error("A second server is needed: install mariadb-server, or name one in ROWLOCK_TEST_MYSQLD.");
  }
  const { server, stop } = await startPrivateServer(binary, flavour);
  return { url: (await freshDatabase(server)).url, stop };
}

async function copyRows(fromUrl: string, toUrl: string): Promise<void> {
  const options = { supportBigNumbers: true, bigNumberStrings: true, rowsAsArray: true };
  const from = await createConnection({ uri: fromUrl, ...options });
  const to = await createConnection({ uri: toUrl, ...options });
  for (const table of TABLES) {
    await to.query(`DELETE FROM rowlock_${table}`);
    const [rows] = await from.query<RowDataPacket[]>(`SELECT * FROM rowlock_${table}`);
    if (rows.length > 0) await to.query(`INSERT INTO rowlock_${table} VALUES ?`, [rows]);
  }
  await from.end();
  await to.end();
}

// A server's readiness follows from decisions of its own, also while a stranger's transaction holds the row of facts.
// Users see no trace of these decisions.

import { afterEach, describe, expect, test } from "vitest";
import { probeName } from "../../server/core/lock.ts";
import { Readiness } from "../../server/ops/readiness.ts";
import type { LockView } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { freshDatabase, mysqlFamily, reportLeftOut, testDatabases } from "../support/database.ts";
import { openPlainConnection, until } from "../support/mysql-stage.ts";
import { ask, claimOf, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const TIMEOUT_MS = 1_000;

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

async function replicasOn(database: Parameters<typeof startReplicas>[0], count: number): Promise<Replicas> {
  const replicas = await startReplicas(database, count);
  undo.push(() => replicas.stop());
  return replicas;
}

function readinessOf({ engine }: Replica): Readiness {
  const readiness = new Readiness({
    probe: () => engine.probe(),
    recent: () => engine.recent,
    timeoutMs: TIMEOUT_MS,
    freshMs: 0,
  });
  engine.onTrouble = () => void readiness.check();
  return readiness;
}

describe.each(testDatabases())("on $label, probes of several servers", (database) => {
  test("leave no trace that a user sees", async () => {
    const { all } = await replicasOn(database, 2);
    const [here, there] = all as [Replica, Replica];
    const watch = here.engine.watchLocks("");
    const named: string[] = [];
    const follow = (async () => {
      for (;;) named.push(...(await watch.next()).locks.map(({ lock }) => lock.name));
    })().catch(() => {});
    for (let round = 0; round < 3; round++)
      await Promise.all([here.engine.probe(), here.engine.probe(), there.engine.probe()]);
    await there.engine.acquire(ask("seen"), null);
    await until(() => named.includes("seen"));
    watch.close(new Error("The test is over."));
    await follow;
    expect([...new Set(named)]).toEqual(["seen"]);

    const listed: string[] = [];
    for (const order of ["name", "longest_wait"] as const) {
      const query = { prefix: "", afterName: null, max: 100, busyOnly: false, order };
      for await (const { lock } of here.engine.views(query)) listed.push(lock.name);
    }
    expect(listed).toEqual(["seen"]);
    const events = [...here.events, ...there.events].map((event) => event.kind);
    expect(events).toEqual(["granted"]);
    expect((await here.store.checkInvariants(10)).filter(({ severity }) => severity === "error")).toEqual([]);
    // The probes' ended claims have no retention: a purge deletes all of them at once.
    await here.store.purgeClaims(Number.MAX_SAFE_INTEGER, 1_000);
    for (const { id } of [here, there]) {
      const { lock } = (await here.store.view(probeName(id), 0)) as LockView;
      const issued = Number(lock.nextTicket) - 1;
      expect(issued).toBeGreaterThanOrEqual(2);
      const keys = Array.from({ length: issued }, (_, index) => ({
        lockId: lock.id,
        ticketNumber: BigInt(index + 1),
      }));
      expect((await here.store.claims(keys)).claims).toEqual([]);
    }
    expect([...here.failures, ...there.failures]).toEqual([]);
  });
});

const servers = mysqlFamily();
reportLeftOut(servers);

describe.each(servers)("on $flavour $version, a server", (server) => {
  test.each(["FOR UPDATE", "LOCK IN SHARE MODE"])(
    "is ready exactly while names can be created and waits begin, beside a transaction that reads the facts %s",
    async (lock) => {
      const replicas = await replicasOn({ fresh: () => freshDatabase(server) }, 1);
      const [here] = replicas.all as [Replica];
      const lease = claimOf(await here.engine.acquire(ask("held"), null), "held");
      const readiness = readinessOf(here);
      const told: boolean[] = [];
      readiness.subscribe(({ ready }) => told.push(ready));
      expect(await readiness.check()).toEqual({ ready: true });

      const foreign = await openPlainConnection(replicas.url);
      undo.push(() => foreign.close());
      await foreign.run("START TRANSACTION");
      await foreign.run(`SELECT * FROM rowlock_meta WHERE id = 1 ${lock}`);
      const isExclusive = lock === "FOR UPDATE";
      const refused = here.engine.acquire(ask("new"), null).then(
        () => false,
        () => true,
      );
      // A command that succeeds must not hide one that fails.
      let renewals = 0;
      const renewing = (async () => {
        for (let isOver = false; !isOver; ) {
          await here.engine.ask(asks.renew(lease, undefined));
          renewals += 1;
          isOver = isExclusive ? told.includes(false) : renewals >= 20;
        }
      })();
      expect(await refused).toBe(isExclusive);
      await renewing;
      await foreign.run("COMMIT");
      await until(async () => (await readiness.check()).ready);
      expect(told).toEqual(isExclusive ? [false, true] : []);
    },
  );
});

// A transaction that the server has silently rolled back, as a Galera node does in the middle of a trip: here the
// connection itself rolls it back just before the trip that writes.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../../../server/core/claim.ts";
import { DatabaseClock } from "../../../../server/core/database-clock.ts";
import { openConnection } from "../../../../server/storage/mysql/connection/connect.ts";
import { type Connection, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { LockCache } from "../../../../server/storage/mysql/lock-cache.ts";
import { RuleCache } from "../../../../server/storage/mysql/meta.ts";
import { transactOn } from "../../../../server/storage/mysql/transaction/transact.ts";
import type { Loaded, Store, StoreObserver, Writes } from "../../../../server/storage/store.ts";
import { mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import type { Stage } from "../../../support/mysql-stage.ts";
import { openStage, refusal } from "../../../support/mysql-stage.ts";
import {
  addClaims,
  changeLock,
  load,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  raised,
} from "../../../support/store-fixture.ts";

const clock = new DatabaseClock();
const UNOBSERVED: StoreObserver = { statement() {}, transaction() {}, connection() {} };

const mariadbs = mysqlFamily().filter(({ flavour }) => flavour === "mariadb");

reportLeftOut(mariadbs);

describe.each(mariadbs)("on $flavour $version", (server) => {
  let stage: Stage;
  let store: Store;
  let connection: Connection;
  /** The trip before which the transaction is lost. */
  let lostBefore = "";

  beforeAll(async () => {
    stage = await openStage(server);
    store = await stage.store();
    ({ connection } = await openConnection(stage.address, UNOBSERVED));
    const run = connection.run.bind(connection);
    connection.run = async (trip) => {
      if (trip.name === lostBefore) {
        const rollback = new Trip("rollback");
        rollback.add("ROLLBACK");
        await run(rollback);
      }
      return run(trip);
    };
  });
  afterAll(async () => {
    connection?.destroy(new Error("The test is over."));
    await stage?.close();
  });

  const decideOn = (ids: bigint[], claims: readonly Claim[], decide: (loaded: Loaded) => Writes) =>
    transactOn(connection, { ...NO_PLAN, locks: planned(...ids), claims }, decide, {
      rules: new RuleCache(),
      cache: new LockCache(clock),
      clock,
      observer: UNOBSERVED,
    });

  test.each(["save_commit", "save"])(
    "nothing is written by a %s after it, and the decision is retryable",
    async (trip) => {
      const id = await lockId(store, `lost before ${trip}`);
      // The first one is in the guard row.
      const claims = (await addClaims(store, id, { state: "held" }, {})) as [Claim, Claim];
      const added: Claim = { ...claims[1], ticketNumber: 3n, requestId: `added after ${trip}` };
      const before = await load(store, { locks: planned(id), claims });
      const attempt = (adds: boolean) => {
        let round = 0;
        return decideOn([id], claims, (loaded) => {
          for (const each of loaded.claims) each.deadlineUs = Number(each.deadlineUs) + 1;
          return {
            ...NO_CHANGES,
            locks: raised(loaded),
            added: adds && round === 0 ? [added] : [],
            changed: loaded.claims,
            again: trip === "save" && round++ === 0 ? [id] : [],
          };
        });
      };
      lostBefore = trip;
      for (const adds of [true, false]) {
        expect(await refusal(attempt(adds))).toMatchObject({ kind: "transient" });
      }
      const after = await load(store, { locks: planned(id), claims: [...claims, added] });
      expect(after.claims).toEqual(before.claims);
      expect(after.claims).toHaveLength(2);
      expect(after.locks.get(id)?.revision).toBe((before.locks.get(id)?.revision as bigint) + 1n);
      lostBefore = "";
      await attempt(true);
      expect((await load(store, { locks: planned(id), claims: [...claims, added] })).claims).toHaveLength(3);
      // Corrects the counters, so that the database is sound again.
      await changeLock(store, id, (lock) => {
        lock.nextTicket = 4n;
        lock.waiting = 2;
        lock.waitingPermits = 2;
      });
      expect(await store.checkInvariants(10)).toEqual([]);
    },
  );
});

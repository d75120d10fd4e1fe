// Rows that no longer exist when a transaction writes its decision about them, as when an operator sets the rows back:
// here the connection itself changes them just before the trip that writes.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../../../server/core/claim.ts";
import { DatabaseClock } from "../../../../server/core/database-clock.ts";
import { openConnection } from "../../../../server/storage/mysql/connection/connect.ts";
import { type Connection, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { LockCache } from "../../../../server/storage/mysql/lock-cache.ts";
import { RuleCache } from "../../../../server/storage/mysql/meta.ts";
import { transactOn } from "../../../../server/storage/mysql/transaction/transact.ts";
import type { Store, StoreObserver } from "../../../../server/storage/store.ts";
import { RECORD } from "../../../support/claims.ts";
import { mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import type { Stage } from "../../../support/mysql-stage.ts";
import { openStage, refusal } from "../../../support/mysql-stage.ts";
import {
  addClaims,
  changeLock,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  raised,
  readClaim,
} from "../../../support/store-fixture.ts";

const UNOBSERVED: StoreObserver = { statement() {}, transaction() {}, connection() {} };

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let stage: Stage;
  let store: Store;
  let connection: Connection;
  /** The statement to run just before rows are written. */
  let before: [sql: string, id: bigint] | null = null;

  beforeAll(async () => {
    stage = await openStage(server);
    store = await stage.store();
    ({ connection } = await openConnection(stage.address, UNOBSERVED));
    const run = connection.run.bind(connection);
    connection.run = async (trip) => {
      if (before && (trip.commits || trip.name === "save")) {
        const tamper = new Trip("tamper");
        tamper.add(...before);
        before = null;
        await run(tamper);
      }
      return run(trip);
    };
  });
  afterAll(async () => {
    connection?.destroy(new Error("The test is over."));
    await stage?.close();
  });

  const CASES = [
    ["a guard row is gone", "DELETE FROM rowlock_lock WHERE id = ?"],
    ["a record is gone", "DELETE FROM rowlock_record WHERE lock_id = ?"],
    ["a claim is gone", "DELETE FROM rowlock_claim WHERE lock_id = ? AND ticket_number = 2"],
    [
      "a claim is another one",
      "UPDATE rowlock_claim SET secret = REVERSE(secret) WHERE lock_id = ? AND ticket_number = 2",
    ],
    ["a claim that ends is gone", "DELETE FROM rowlock_claim WHERE lock_id = ? AND ticket_number = 3"],
    [
      "a claim that ends is another one",
      "UPDATE rowlock_claim SET secret = REVERSE(secret) WHERE lock_id = ? AND ticket_number = 3",
    ],
  ] as const;

  test.each(CASES)("nothing is written if %s, and the decision is retryable", async (what, sql) => {
    for (const goesOn of [false, true]) {
      const id = await lockId(store, `${what} ${goesOn}`);
      // The first one is in the guard row.
      const claims = (await addClaims(store, id, { state: "held" }, {}, {})) as [Claim, Claim, Claim];
      await changeLock(store, id, (lock) => Object.assign(lock, { record: RECORD }));
      const added: Claim = { ...claims[1], ticketNumber: 4n, requestId: `${what} ${goesOn}` };
      const clock = new DatabaseClock();
      const context = { rules: new RuleCache(), cache: new LockCache(clock), clock, observer: UNOBSERVED };
      before = [sql, id];
      let round = 0;
      const writing = transactOn(
        connection,
        { ...NO_PLAN, locks: planned(id), claims },
        (loaded) => {
          const [first, second, third] = loaded.claims.toSorted((a, b) =>
            Number(a.ticketNumber - b.ticketNumber),
          );
          Object.assign(first ?? {}, { deadlineUs: loaded.nowUs + 1 });
          Object.assign(second ?? {}, { deadlineUs: loaded.nowUs + 1 });
          Object.assign(third ?? {}, {
            state: "ended",
            endReason: "cancelled",
            deadlineUs: loaded.nowUs + 1,
          });
          for (const lock of loaded.locks.values()) lock.record = { ...RECORD, status: `changed ${round}` };
          const again = goesOn && round++ === 0 ? [id] : [];
          return { ...NO_CHANGES, locks: raised(loaded), added: [added], changed: loaded.claims, again };
        },
        context,
      );
      expect(await refusal(writing)).toMatchObject({ kind: "transient", reason: "changed" });
      for (const claim of claims) expect(await readClaim(store, claim)).toEqual(claim);
      expect((await store.claims([added])).claims).toEqual([]);
      expect((await store.view(`${what} ${goesOn}`, 0))?.lock.revision).toBe(2n);
    }
  });
});

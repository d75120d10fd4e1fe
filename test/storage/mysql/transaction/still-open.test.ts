// Decisions whose transaction or rows are gone when they are written: a Galera node silently rolls a transaction back in
// the middle of a trip, and an operator sets rows back. Here the connection itself does so at that moment.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../../../server/core/claim.ts";
import { DatabaseClock } from "../../../../server/core/database-clock.ts";
import { openConnection } from "../../../../server/storage/mysql/connection/connect.ts";
import { type Connection, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { LockCache } from "../../../../server/storage/mysql/lock-cache.ts";
import { RuleCache } from "../../../../server/storage/mysql/meta.ts";
import { transactOn } from "../../../../server/storage/mysql/transaction/transact.ts";
import type { Store } from "../../../../server/storage/store.ts";
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
} from "../../../support/store-fixture.ts";

const UNOBSERVED = { statement() {}, transaction() {}, connection() {} };
const TRIPS = ["save_commit", "save"] as const;

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let stage: Stage;
  let store: Store;
  let connection: Connection;
  /** What happens to a trip instead of being sent as it is, once. */
  let meddle: { readonly trip: string; readonly as: (trip: Trip) => Promise<unknown[]> } | null = null;
  let send: Connection["run"];

  beforeAll(async () => {
    stage = await openStage(server);
    store = await stage.store();
    const plain = await stage.connection();
    await plain.run(
      "CREATE TABLE many (id INT); INSERT INTO many VALUES (1), (2), (3); CREATE TABLE counted (id INT)",
    );
    ({ connection } = await openConnection(stage.address, UNOBSERVED));
    send = connection.run.bind(connection);
    connection.run = async (trip) => {
      if (trip.name !== meddle?.trip) return send(trip);
      const { as } = meddle;
      meddle = null;
      return (await as(trip)) as Awaited<ReturnType<Connection["run"]>>;
    };
  });
  afterAll(async () => {
    connection?.destroy(new Error("The test is over."));
    await stage?.close();
  });

  /** A lock with a record, a holder in its guard row and two waiters; and a decision that changes and adds all kinds. */
  async function scene(name: string, trip: (typeof TRIPS)[number]) {
    const id = await lockId(store, name);
    const claims = (await addClaims(store, id, { state: "held" }, {}, {})) as [Claim, Claim, Claim];
    await changeLock(store, id, (lock) => Object.assign(lock, { record: RECORD }));
    const added: Claim = { ...claims[1], ticketNumber: 4n, requestId: name };
    const clock = new DatabaseClock();
    const context = { rules: new RuleCache(), cache: new LockCache(clock), clock, observer: UNOBSERVED };
    const decide = () => {
      let round = 0;
      return transactOn(
        connection,
        { ...NO_PLAN, locks: planned(id), claims },
        (loaded) => {
          const deadlineUs = loaded.nowUs + 1;
          const [first, second, third] = loaded.claims.toSorted((a, b) =>
            Number(a.ticketNumber - b.ticketNumber),
          );
          for (const claim of [first, second]) Object.assign(claim ?? {}, { deadlineUs });
          Object.assign(third ?? {}, { state: "ended", endReason: "cancelled", deadlineUs });
          for (const lock of loaded.locks.values()) lock.record = { ...RECORD, status: `changed ${round}` };
          const again = trip === "save" && round === 0 ? [id] : [];
          const adds = round++ === 0 ? [added] : [];
          const changed = adds.length > 0 ? loaded.claims : [];
          return { ...NO_CHANGES, locks: raised(loaded), added: adds, changed, again };
        },
        context,
      );
    };
    const isUntouched = async (theirs = claims) => {
      expect((await store.claims([...claims, added])).claims).toEqual(theirs);
      const { lock } = (await store.view(name, 0)) ?? {};
      expect(lock).toMatchObject({ revision: 2n, record: RECORD });
    };
    return { id, decide, isUntouched };
  }

  // Only MariaDB runs Galera, and only its statements can ask whether a transaction is open.
  test.runIf(server.flavour === "mariadb").each(TRIPS)(
    "nothing is written by a %s before or in which the transaction is rolled back, and the decision is retryable",
    async (name) => {
      for (let at = 0, statements = 2; at < statements - 1; at++) {
        const { decide, isUntouched } = await scene(`rolled back in ${name} at ${at}`, name);
        const as = async (trip: Trip) => {
          const parts = trip.text.split(";\n");
          statements = parts.length;
          const torn = new Trip(name);
          for (const [index, part] of parts.entries()) {
            // As many rows as the write before it had: Galera answers that one as done.
            const [, rows = 0] = /ROW_COUNT\(\) (?:=|<>) (\d+)/.exec(part) ?? [];
            if (index === at) torn.add("ROLLBACK");
            if (index === at) torn.add(`INSERT INTO counted SELECT id FROM many LIMIT ${rows}`);
            if (part !== "COMMIT") torn.add(part);
          }
          if (trip.commits) torn.addCommit();
          return (await send(torn)).toSpliced(at, 2);
        };
        meddle = { trip: name, as };
        expect(await refusal(decide())).toMatchObject({ kind: "transient" });
        await isUntouched();
        connection.inTransaction = false;
      }
    },
  );

  test.each([
    ["a guard row is gone", "DELETE FROM rowlock_lock WHERE id = ?"],
    ["a record is gone", "DELETE FROM rowlock_record WHERE lock_id = ?"],
    ["a claim is gone", "DELETE FROM rowlock_claim WHERE lock_id = ? AND ticket_number = 2"],
    [
      "a claim is another one",
      "UPDATE rowlock_claim SET secret = '' WHERE lock_id = ? AND ticket_number = 2",
    ],
    ["a claim that ends is gone", "DELETE FROM rowlock_claim WHERE lock_id = ? AND ticket_number = 3"],
    [
      "a claim that ends is another one",
      "UPDATE rowlock_claim SET secret = '' WHERE lock_id = ? AND ticket_number = 3",
    ],
  ])("nothing is written if %s, and the decision is retryable", async (what, sql) => {
    for (const name of TRIPS) {
      const { id, decide, isUntouched } = await scene(`${what} in ${name}`, name);
      const as = async (trip: Trip) => {
        const tamper = new Trip("tamper");
        tamper.add(sql, id);
        await send(tamper);
        return send(trip);
      };
      meddle = { trip: name, as };
      expect(await refusal(decide())).toMatchObject({ kind: "transient", reason: "changed" });
      await isUntouched();
    }
  });
});

// What others do in the database: transactions that hold rows or lock them in the other order, and an operator who ends
// connections.

import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../history/clock.ts";
import { used } from "../house/database.ts";
import { LOCKS } from "../work/locks.ts";
import { type Fault, SHORT_MS } from "./fault.ts";

/** Shorter than any server waits for a row. */
const MOMENT_MS = 1_800;
const STORMERS = 4;
/** Between the rows that a foreign transaction locks, so that others lock some of them meanwhile. */
const STORM_PAUSE_S = 0.02;
const LOOK_EVERY_MS = 20;

const names = LOCKS.map((name) => `'${name}'`).join(", ");

const GUARDS = `SELECT id FROM rowlock_lock WHERE name IN (${names}) FOR UPDATE`;

function held(what: string, statement: string, forMs: number): Fault {
  return {
    name: `a foreign transaction holds ${what} for ${forMs / 1e3} s`,
    needs: "database server",
    async strike({ database }) {
      const daemon = await used(database);
      await daemon.hold([statement], forMs);
    },
  };
}

const endedConnections: Fault = {
  name: "the connections of all servers are ended in the database",
  needs: "database server",
  async strike({ database }) {
    const daemon = await used(database);
    const own =
      "SELECT id FROM information_schema.processlist WHERE user = 'rowlock' AND id <> CONNECTION_ID()";
    for (const { id } of await daemon.run(own)) {
      // It may have ended by itself meanwhile.
      await daemon.run(`KILL ${id}`).catch(() => {});
    }
  },
};

const endedTransactions: Fault = {
  name: "connections are ended in the middle of a transaction",
  needs: "database server",
  async strike({ database }) {
    const daemon = await used(database);
    const open =
      "SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx WHERE trx_mysql_thread_id > 0";
    const untilMs = monotonicMs() + SHORT_MS;
    while (monotonicMs() < untilMs) {
      for (const { id } of await daemon.run(open)) {
        // It may have ended by itself meanwhile.
        await daemon.run(`KILL ${id}`).catch(() => {});
      }
      await sleep(LOOK_EVERY_MS);
    }
  },
};

const deadlockStorm: Fault = {
  name: "foreign transactions lock guard rows in the other order",
  needs: "database server",
  async strike({ database }) {
    const daemon = await used(database);
    const rows = await daemon.run(`SELECT id FROM rowlock_lock WHERE name IN (${names}) ORDER BY id DESC`);
    const statements = rows.flatMap(({ id }) => [
      `SELECT id FROM rowlock_lock WHERE id = ${id} FOR UPDATE`,
      `DO SLEEP(${STORM_PAUSE_S})`,
    ]);
    const untilMs = monotonicMs() + SHORT_MS;
    const storm = async () => {
      // It is meant to be the victim of a deadlock now and then.
      while (monotonicMs() < untilMs) await daemon.hold(statements, 0).catch(() => {});
    };
    await Promise.all(Array.from({ length: STORMERS }, storm));
  },
};

export const ROW_FAULTS: readonly Fault[] = [
  held("guard rows", GUARDS, MOMENT_MS),
  held("guard rows", GUARDS, SHORT_MS),
  held("the row of facts", "SELECT * FROM rowlock_meta FOR UPDATE", SHORT_MS),
  endedConnections,
  endedTransactions,
  deadlockStorm,
];

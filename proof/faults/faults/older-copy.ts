// An older copy of the rows that takes the place of the newer ones, as when a replica that lags is promoted: what was
// acknowledged meanwhile is lost, and the rows say that another server has written them.

import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../house/daemon.ts";
import { used } from "../house/database.ts";
import type { Fault } from "./fault.ts";

/** How much the copy lags: long enough for every server to have decided about every busy lock. */
const LAG_MS = 5_000;
const COPY = "rowlock_copy";
/** Its rows are locked before those of other tables, as by any decision: so the copy is of one moment. */
const FIRST = "rowlock_lock";

export const olderCopy: Fault = {
  name: "an older copy of the rows takes over",
  needs: "database server",
  losesCommits: true,
  async strike({ database }) {
    const daemon = await used(database);
    const tables = await tablesOf(daemon);
    await daemon.run(`CREATE DATABASE IF NOT EXISTS ${COPY}`);
    for (const table of tables) await daemon.run(`CREATE TABLE IF NOT EXISTS ${COPY}.${table} LIKE ${table}`);
    await daemon.together(tables.flatMap((table) => replaced(`${COPY}.${table}`, table)));
    await sleep(LAG_MS);
    await daemon.together([
      ...tables.flatMap((table) => replaced(table, `${COPY}.${table}`)),
      "UPDATE rowlock_meta SET server_identity = 'the server that had the copy'",
    ]);
  },
};

async function tablesOf(daemon: Daemon): Promise<string[]> {
  const rows = await daemon.run(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
  );
  const names = rows.map(({ name }) => String(name));
  return [FIRST, ...names.filter((name) => name !== FIRST)];
}

const replaced = (table: string, by: string) => [
  `DELETE FROM ${table}`,
  `INSERT INTO ${table} SELECT * FROM ${by}`,
];

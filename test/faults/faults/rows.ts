// What others do in the database: transactions that hold rows, and an operator who ends connections.

import { LOCKS } from "../work/locks.ts";
import { type Fault, SHORT_MS } from "./fault.ts";

const names = LOCKS.map((name) => `'${name}'`).join(", ");

function held(what: string, statement: string): Fault {
  return {
    name: `a foreign transaction holds ${what}`,
    needs: "database server",
    async strike({ database: { daemon } }) {
      await daemon?.hold([statement], SHORT_MS);
    },
  };
}

const endedConnections: Fault = {
  name: "the connections of all servers are ended in the database",
  needs: "database server",
  async strike({ database: { daemon } }) {
    const own =
      "SELECT id FROM information_schema.processlist WHERE user = 'rowlock' AND id <> CONNECTION_ID()";
    for (const { id } of (await daemon?.run(own)) ?? []) {
      // It may have ended by itself meanwhile.
      await daemon?.run(`KILL ${id}`).catch(() => {});
    }
  },
};

export const ROW_FAULTS: readonly Fault[] = [
  held("guard rows", `SELECT id FROM rowlock_lock WHERE name IN (${names}) FOR UPDATE`),
  held("the row of facts", "SELECT * FROM rowlock_meta FOR UPDATE"),
  endedConnections,
];

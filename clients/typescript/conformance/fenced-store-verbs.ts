// The two functions of examples/fenced-store.ts, each called on its own connection.

import { type Connection, createConnection } from "mysql2/promise";
import { fencedWrite, guardedWrite } from "../examples/fenced-store.ts";
import type { Verb } from "./verb.ts";

export const fencedStoreVerbs: Readonly<Record<string, Verb>> = {
  fencedWrite: ({ url, table, key, value, token }) =>
    connected(url, (connection) => fencedWrite(connection, table, key, value, BigInt(token))),
  guardedWrite: ({ url, lockName, token, table, key, value }) =>
    connected(url, (connection) => guardedWrite(connection, lockName, BigInt(token), table, key, value)),
};

async function connected(url: string, write: (on: Connection) => Promise<boolean>): Promise<object> {
  const connection = await createConnection(url);
  try {
    return { written: await write(connection) };
  } finally {
    await connection.end();
  }
}

// The database of a run, with what faults need of it.

import { readFile } from "node:fs/promises";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { freshSqlite } from "../../support/fresh-database.ts";
import type { Flavour } from "../../support/mysql-family/found-server.ts";
import { ownBinaries } from "../../support/mysql-family/own-binaries.ts";
import { startPrivateServer } from "../../support/mysql-family/private-server.ts";

export interface Database {
  readonly label: string;
  /** How many Rowlock servers it can have. */
  readonly servers: number;
  /** null: it is a part of the server's process. */
  readonly daemon: Daemon | null;
  /** With the port of the given line, if it has a daemon. */
  urlAt(port: number): string;
  stop(): Promise<void>;
}

/** A database server, which something starts again when it ends. */
export interface Daemon {
  readonly port: number;
  pid(): Promise<number>;
  /** Runs the statements on one connection, holds what they locked for the time, and rolls back. */
  hold(statements: readonly string[], forMs: number): Promise<void>;
  run(statement: string): Promise<RowDataPacket[]>;
}

export async function openDatabase(name: string, flags: readonly string[] = []): Promise<Database> {
  if (name === "sqlite") {
    const file = await freshSqlite();
    return { label: "SQLite", servers: 1, daemon: null, urlAt: () => file.url, stop: () => file.drop() };
  }
  return await openMysql(name as Flavour, flags);
}

async function openMysql(flavour: Flavour, flags: readonly string[]): Promise<Database> {
  const binary = (await ownBinaries()).get(flavour);
  if (!binary) throw new Error(`There is no ${flavour} here: install it, or name it in ROWLOCK_TEST_MYSQLD.`);
  const { server, stop } = await startPrivateServer(binary, flavour, { isRestarted: true, flags });
  const at = (port: number) =>
    Object.assign(new URL(server.url), { pathname: "/rowlock", port: String(port) }).href;
  const port = Number(new URL(server.url).port);
  await onConnection(server.url, (run) => run("CREATE DATABASE rowlock"));
  const [file] = await onConnection(server.url, (run) => run("SELECT @@pid_file AS path"));
  const url = at(port);
  return {
    label: `${flavour === "mariadb" ? "MariaDB" : "MySQL"} ${server.version}`,
    servers: 3,
    daemon: {
      port,
      pid: async () => Number(await readFile(String(file?.path), "utf8")),
      hold: (statements, forMs) =>
        onConnection(url, async (run) => {
          await run("START TRANSACTION");
          for (const statement of statements) await run(statement);
          await new Promise((resolve) => setTimeout(resolve, forMs));
        }),
      run: (statement) => onConnection(url, (run) => run(statement)),
    },
    urlAt: at,
    stop,
  };
}

async function onConnection<Result>(
  uri: string,
  work: (run: (statement: string) => Promise<RowDataPacket[]>) => Promise<Result>,
): Promise<Result> {
  const connection = await createConnection({ uri, connectTimeout: 2_000 });
  connection.on("error", () => {});
  try {
    return await work(async (statement) => (await connection.query<RowDataPacket[]>(statement))[0]);
  } finally {
    connection.destroy();
  }
}

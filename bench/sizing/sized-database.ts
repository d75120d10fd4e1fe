// A private database of one kind, empty and with durable settings, and what it takes on the disk.

import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { ownBinaries } from "../../test/support/mysql-family/own-binaries.ts";
import { startPrivateServer } from "../../test/support/mysql-family/private-server.ts";
import { makeCacheFolder } from "../cache-folder.ts";
import { databasePids } from "../cpu-time.ts";
import { NotHere } from "../systems/system.ts";

export const KINDS = ["sqlite", "mariadb", "mysql"] as const;
export type Kind = (typeof KINDS)[number];

const PAGE_BYTES = 16_384;

export interface SizedDatabase {
  /** With its version. */
  readonly label: string;
  readonly url: string;
  /** A folder for what its Rowlock servers leave behind; removed with the database, however this process ends. */
  readonly folder: string;
  /** Bytes of pages in use, by table without its prefix, with indexes. No Rowlock server may use the database. */
  tableBytes(): Promise<ReadonlyMap<string, number>>;
  /** Bytes of the binary log so far; undefined: there is none. */
  binlogBytes(): Promise<number | undefined>;
  /** Connections that are open now, without this one; undefined: it has none. */
  connections(): Promise<number | undefined>;
  /** The processes of the database server. */
  pids(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

/** Throws a NotHere if no binary of this kind is installed or named. */
export async function startSizedDatabase(kind: Kind, flags: readonly string[] = []): Promise<SizedDatabase> {
  const directory = makeCacheFolder("rowlock-sizing-");
  const remove = () => rm(directory, { recursive: true, force: true });
  const folder = join(directory, "servers");
  await mkdir(folder);
  if (kind === "sqlite") return sqlite(join(directory, "rowlock.db"), folder, remove);
  const binary = (await ownBinaries()).get(kind);
  if (binary === undefined) {
    await remove();
    throw new NotHere(`no ${kind} server is installed or named`);
  }
  const { server, stop } = await startPrivateServer(binary, kind, {
    parent: directory,
    flags: ["--log-bin=binlog", ...flags],
  });
  await ask(server.url, "CREATE DATABASE rowlock");
  const url = `${server.url}/rowlock`;
  return {
    label: `${kind === "mysql" ? "MySQL" : "MariaDB"} ${server.version}`,
    url,
    folder,
    tableBytes: () => mysqlTables(url),
    async binlogBytes() {
      const logs = await ask(url, "SHOW BINARY LOGS");
      return logs.reduce((sum, { File_size }) => sum + Number(File_size), 0);
    },
    async connections() {
      const [row] = await ask(url, "SHOW STATUS LIKE 'Threads_connected'");
      return Number(row?.Value) - 1;
    },
    pids: databasePids,
    async stop() {
      await stop();
      await remove();
    },
  };
}

function sqlite(file: string, folder: string, remove: () => Promise<void>): SizedDatabase {
  return {
    label: `SQLite ${process.versions.sqlite}`,
    url: `sqlite:${file}`,
    folder,
    async tableBytes() {
      const database = new DatabaseSync(file);
      const rows = database
        .prepare(
          `SELECT m.tbl_name AS name, sum(s.pgsize) AS bytes FROM dbstat s JOIN sqlite_schema m ON m.name = s.name
           WHERE m.tbl_name LIKE 'rowlock%' GROUP BY m.tbl_name`,
        )
        .all();
      database.close();
      return new Map(rows.map(({ name, bytes }) => [short(String(name)), Number(bytes)]));
    },
    binlogBytes: async () => undefined,
    connections: async () => undefined,
    pids: async () => [],
    stop: remove,
  };
}

/** Counts leaf pages that are in use: a file grows in steps of up to 4 MiB, which would hide a small table. */
async function mysqlTables(url: string): Promise<Map<string, number>> {
  const tables = await ask(
    url,
    "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE' AND Tables_in_rowlock LIKE 'rowlock%'",
  );
  await ask(url, `ANALYZE TABLE ${tables.map(({ Tables_in_rowlock }) => Tables_in_rowlock).join(", ")}`);
  const rows = await ask(
    url,
    `SELECT table_name AS name, SUM(stat_value) AS pages FROM mysql.innodb_index_stats
     WHERE database_name = 'rowlock' AND stat_name = 'n_leaf_pages' GROUP BY table_name`,
  );
  return new Map(rows.map(({ name, pages }) => [short(String(name)), Number(pages) * PAGE_BYTES]));
}

const short = (table: string) => table.replace(/^rowlock_/, "");

async function ask(uri: string, sql: string): Promise<RowDataPacket[]> {
  const connection = await createConnection({ uri });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    connection.destroy();
  }
}

/** Bytes that these processes have written to files. */
export async function writtenBytes(pids: readonly number[]): Promise<number> {
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/io`, "utf8")));
  return texts.reduce((sum, text) => sum + Number(/^write_bytes: (\d+)$/m.exec(text)?.[1]), 0);
}

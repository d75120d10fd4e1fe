// Rowlock with default settings, on each of its databases.

import { join } from "node:path";
import { type MysqlAddress, parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { startLateProxy } from "../../test/support/late-proxy.ts";
import type { Flavour } from "../../test/support/mysql-family/found-server.ts";
import { bareMysqlTransactions, bareSqliteTransactions } from "../bare-transactions.ts";
import { startChildServer } from "./child-server.ts";
import type { StartedSystem, System } from "./system.ts";

/** This checkout. */
const OWN = join(import.meta.dirname, "../..");
const LISTENS = /gRPC\s+(\S+)(?:[\s\S]*?HTTP\s+http:\/\/(\S+))?[\s\S]*?metrics\s+http:\/\/(\S+?)\/metrics/;
const OVER_HTTP = ["--http-listen", "127.0.0.1:0"];

export const rowlockOnSqlite: System = {
  name: "rowlock-sqlite",
  async start({ directory }) {
    const file = (name: string) => join(directory, name);
    return {
      ...(await serve(`sqlite:${file("rowlock.db")}`, directory, OWN, OVER_HTTP)),
      version: `SQLite ${process.versions.sqlite}`,
      bareTransactionsPerSecond: async (seconds) => bareSqliteTransactions(file("bare.db"), seconds),
    };
  },
};

export const rowlockOnMariadb = onServer("mariadb");
export const rowlockOnMysql = onServer("mysql");

function onServer(flavour: Flavour): System {
  return {
    name: `rowlock-${flavour}`,
    async start({ directory, databases }) {
      const { server, url } = await databases.database(flavour, "rowlock");
      return {
        ...(await serve(url, directory, OWN, OVER_HTTP)),
        version: server.version,
        bareTransactionsPerSecond: (seconds) => bareMysqlTransactions(url, seconds),
      };
    },
  };
}

/** Several servers over one database; the callers' connections are divided among them. */
export function severalOnMariadb(servers: number): System {
  return {
    name: `rowlock-mariadb-x${servers}`,
    async start({ directory, databases }) {
      const { server, url } = await databases.database("mariadb", `rowlock_x${servers}`);
      // One by one, because the first server creates the schema.
      const all = [await serve(url, directory)];
      while (all.length < servers) all.push(await serve(url, directory));
      return {
        version: `${server.version}, ${servers} servers`,
        target: { system: "rowlock", address: all.map(({ target }) => target.address).join(",") },
        isRowlock: true,
        hasQueue: true,
        pids: all.flatMap(({ pids }) => pids),
        hasDatabase: true,
        async stop() {
          await Promise.all(all.map((one) => one.stop()));
        },
      };
    },
  };
}

/** A database with added latency, as if it were `roundTripMs` away. */
export function farMariadb(roundTripMs: number): System {
  return {
    name: `rowlock-mariadb-${roundTripMs}ms`,
    async start({ directory, databases }) {
      const { server, url } = await databases.database("mariadb", "rowlock_far");
      const { host, port } = parseDatabaseUrl(url) as MysqlAddress;
      const proxy = await startLateProxy(host, port);
      proxy.delayAnswers(roundTripMs);
      const near = await serve(url.replace(`:${port}/`, `:${proxy.port}/`), directory);
      return {
        ...near,
        version: `${server.version}, answers ${roundTripMs} ms later`,
        async stop() {
          await near.stop();
          await proxy.close();
        },
      };
    },
  };
}

/** Starts the server of the checkout at `root`, with these flags of its own and of Node. */
export async function serve(
  databaseUrl: string,
  directory: string,
  root = OWN,
  flags: readonly string[] = [],
  nodeFlags: readonly string[] = [],
): Promise<Omit<StartedSystem, "version"> & { outputBytes(): number }> {
  const program = join(root, "server/main.ts");
  const ports = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
  const args = [
    ...nodeFlags,
    program,
    "serve",
    "--database-url",
    databaseUrl,
    ...ports,
    "--log-level",
    "warn",
    ...flags,
  ];
  const { said, pid, outputBytes, stop } = await startChildServer(process.execPath, args, directory, LISTENS);
  return {
    target: { system: "rowlock", address: said[1] as string },
    ...(said[2] !== undefined && { http: said[2] }),
    metrics: said[3] as string,
    isRowlock: true,
    hasQueue: true,
    pids: [pid],
    hasDatabase: !databaseUrl.startsWith("sqlite:"),
    outputBytes,
    stop,
  };
}

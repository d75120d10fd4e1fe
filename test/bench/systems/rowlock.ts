// Rowlock as it comes, on each of its databases.

import { join } from "node:path";
import type { Flavour } from "../../support/mysql-family/found-server.ts";
import { bareMysqlTransactions, bareSqliteTransactions } from "../bare-transactions.ts";
import { startChildServer } from "./child-server.ts";
import type { StartedSystem, System } from "./system.ts";

const program = join(import.meta.dirname, "../../../server/main.ts");
const LISTENS = /gRPC\s+(\S+)[\s\S]*?metrics\s+http:\/\/(\S+?)\/metrics/i;

export const rowlockOnSqlite: System = {
  name: "rowlock-sqlite",
  async start({ directory }) {
    const file = (name: string) => join(directory, name);
    return {
      ...(await serve(`sqlite:${file("rowlock.db")}`, directory)),
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
        ...(await serve(url, directory)),
        version: server.version,
        bareTransactionsPerSecond: (seconds) => bareMysqlTransactions(url, seconds),
      };
    },
  };
}

async function serve(databaseUrl: string, directory: string): Promise<Omit<StartedSystem, "version">> {
  const ports = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
  const args = [program, "serve", "--database-url", databaseUrl, ...ports, "--log-level", "warn"];
  const { said, stop } = await startChildServer(process.execPath, args, directory, LISTENS);
  return {
    target: { system: "rowlock", address: said[1] as string },
    metrics: said[2] as string,
    isRowlock: true,
    stop,
  };
}

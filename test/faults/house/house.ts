// All that a run has started: a database, servers, clients in processes of their own, and a line between each two of them.

import { join } from "node:path";
import { SQLITE } from "../../clients/conformance/databases.ts";
import { DriverProcess } from "../../clients/conformance/driver-process.ts";
import { Language } from "../../clients/conformance/language.ts";
import { RowlockServer } from "../../clients/conformance/rowlock-server.ts";
import { Client } from "../clients/client.ts";
import type { History } from "../history/history.ts";
import { type Database, openDatabase } from "./database.ts";
import { type Line, openLine } from "./line.ts";

const BARE = 6;
const LANGUAGES = ["typescript", "typescript", "python", "python", "go", "java"];
/** Short, as the leases of a run are, so that dead waiters do not fill it. */
const SERVER_FLAGS = ["--grace", "2s", "--startup-timeout", "1m"];
const BARE_DRIVER = join(import.meta.dirname, "../clients/bare-driver");

export interface House {
  readonly database: Database;
  readonly servers: readonly RowlockServer[];
  /** From each server to the database; none if the database is a part of the server. */
  readonly databaseLines: readonly Line[];
  /** From each client to each server. */
  readonly clientLines: readonly Line[];
  readonly clients: readonly Client[];
  /** Languages that cannot run here, with the reason. Their places are taken by bare clients. */
  readonly missing: readonly string[];
}

export interface HouseOptions {
  readonly database: string;
  readonly databaseFlags?: readonly string[] | undefined;
  /** The main file of the servers, if it is not that of this repository. */
  readonly program?: string | undefined;
  readonly serverFlags?: readonly string[] | undefined;
  readonly history: History;
}

export async function openHouse(
  { history, program, serverFlags = [], ...options }: HouseOptions,
  stops: AsyncDisposableStack,
): Promise<House> {
  const database = await openDatabase(options.database, options.databaseFlags);
  stops.defer(() => database.stop());
  const databaseLines: Line[] = [];
  const servers: RowlockServer[] = [];
  for (let index = 0; index < database.servers; index++) {
    const line = database.daemon && (await opened(database.daemon.port, stops));
    if (line) databaseLines.push(line);
    const server = await RowlockServer.start(
      database.urlAt(line?.port ?? 0),
      [...SERVER_FLAGS, ...serverFlags],
      {},
      program,
    );
    stops.defer(() => server.destroy());
    servers.push(server);
  }
  const { languages, missing } = await built();
  const clientLines: Line[] = [];
  const clients: Client[] = [];
  for (let index = 0; index < BARE + LANGUAGES.length; index++) {
    const lines = await Promise.all(
      servers.map(({ address }) => opened(Number(address.split(":")[1]), stops)),
    );
    clientLines.push(...lines);
    const language = languages.get(LANGUAGES[index - BARE] ?? "");
    const client = new Client({
      name: `${language?.name ?? "bare"}-${index}`,
      isBare: !language,
      start: (tell) => language?.startDriver(tell) ?? new DriverProcess(BARE_DRIVER, {}, tell),
      addresses: lines.map(({ port }) => `127.0.0.1:${port}`),
      history,
    });
    stops.defer(() => client.close());
    clients.push(client);
  }
  await Promise.all(clients.map((client) => client.connected()));
  return { database, servers, databaseLines, clientLines, clients, missing };
}

async function opened(port: number, stops: AsyncDisposableStack): Promise<Line> {
  const line = await openLine(port);
  stops.defer(() => line.close());
  return line;
}

async function built() {
  const languages = new Map<string, Language>();
  const missing: string[] = [];
  for (const name of new Set(LANGUAGES)) {
    const language = new Language(name, SQLITE);
    const why = await language.build();
    if (why === undefined) languages.set(name, language);
    else missing.push(`${name}: ${why}`);
  }
  return { languages, missing };
}

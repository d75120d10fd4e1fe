// All that a run has started: a database, servers, clients in processes of their own, and a line between each two of them.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQLITE } from "../../../test/clients/conformance/databases.ts";
import { DriverProcess } from "../../../test/clients/conformance/driver-process.ts";
import { Language } from "../../../test/clients/conformance/language.ts";
import { RowlockServer } from "../../../test/clients/conformance/rowlock-server.ts";
import { hasWrongClocks, type WrongClock, wrongClock } from "../../../test/support/wrong-clock.ts";
import { Client } from "../clients/client.ts";
import type { History } from "../history/history.ts";
import { type Database, isOnMachine, openDatabase } from "./database.ts";
import { type Line, openLine } from "./line.ts";
import { CLOCKS_LATE_S, type Machine, openMachine } from "./machine.ts";
import { Papers } from "./papers.ts";

/** The clients of a run: one process each. */
export interface Crew {
  readonly bare: number;
  readonly languages: readonly string[];
}

const CREW: Crew = { bare: 6, languages: ["typescript", "typescript", "python", "python", "go", "java"] };
/** Needs no build and half of the processes, for runs that are not about clients. */
export const SMALL_CREW: Crew = { bare: 4, languages: ["typescript", "typescript"] };
/**
 * The grace period is short, as the leases of a run are, so that dead waiters do not fill it. Ended claims are kept for
 * longer than any clock is set back by, as those of that time look as much older afterwards.
 */
const SERVER_FLAGS = ["--grace", "2s", "--retention", "3h", "--startup-timeout", "2m"];
/** Clients whose wall clock can be set. undefined: bare ones. */
const ON_NODE: readonly (string | undefined)[] = ["typescript", undefined];
const BARE_DRIVER = join(import.meta.dirname, "../clients/bare-driver");

export interface House {
  readonly database: Database;
  readonly machine: Machine | null;
  readonly papers: Papers;
  readonly servers: readonly RowlockServer[];
  /** From each server to each server of the database. */
  readonly databaseLines: readonly Line[];
  /** From each client to each server. */
  readonly clientLines: readonly Line[];
  readonly clients: readonly Client[];
  /** Of those processes whose wall clock can be set, and is not that of the database. */
  readonly serverClocks: readonly WrongClock[];
  readonly clientClocks: readonly WrongClock[];
  /** Languages that cannot run here, with the reason. Their places are taken by bare clients. */
  readonly missing: readonly string[];
}

export interface HouseOptions {
  readonly database: string;
  readonly databaseFlags?: readonly string[] | undefined;
  /** The main file of the servers, if it is not that of this repository. */
  readonly program?: string | undefined;
  readonly serverFlags?: readonly string[] | undefined;
  readonly crew?: Crew;
  readonly history: History;
}

export async function openHouse(
  { history, program, serverFlags = [], crew = CREW, ...options }: HouseOptions,
  stops: AsyncDisposableStack,
): Promise<House> {
  const { languages, missing } = await built(crew);
  const names = Array.from({ length: crew.bare + crew.languages.length }, (_, index) => {
    const language = languages.get(crew.languages[index - crew.bare] ?? "");
    return { name: `${language?.name ?? "bare"}-${index}`, language };
  });
  const papers = new Papers(names.map(({ name }) => name));
  stops.defer(() => papers.remove());
  const machine = openMachine(stops);
  const database = await openDatabase(options.database, machine, options.databaseFlags);
  stops.defer(() => database.stop());
  const clocks = await openClocks(stops);
  const started = await Promise.all(
    Array.from({ length: database.servers }, async (_, index) => {
      const lines = await Promise.all(database.daemons.map(({ port }) => opened(port, stops)));
      // On SQLite the server is the database, and has the clock of its machine.
      const clock = database.daemons.length > 0 ? clocks(`server-${index}`) : null;
      const server = await RowlockServer.start(
        database.urlAt(lines.map(({ port }) => port)),
        [...SERVER_FLAGS, ...(database.serverFlags ?? []), ...serverFlags],
        { ...papers.env, ...(database.daemons.length === 0 && machine.env), ...clock?.env },
        program,
      );
      stops.defer(() => server.destroy());
      return { lines, server, clock };
    }),
  );
  const databaseLines = started.flatMap(({ lines }) => lines);
  const servers = started.map(({ server }) => server);
  const serverClocks = started.flatMap(({ clock }) => clock ?? []);
  const clientLines: Line[] = [];
  const clients: Client[] = [];
  const clientClocks: WrongClock[] = [];
  for (const { name, language } of names) {
    const lines = await Promise.all(
      servers.map(({ address }) => opened(Number(address.split(":")[1]), stops)),
    );
    clientLines.push(...lines);
    const clock = ON_NODE.includes(language?.name) ? clocks(name) : null;
    if (clock) clientClocks.push(clock);
    const env = clock?.env ?? {};
    const client = new Client({
      name,
      isBare: !language,
      start: (tell) => language?.startDriver(tell, env) ?? new DriverProcess(BARE_DRIVER, env, tell),
      addresses: lines.map(({ port }) => `127.0.0.1:${port}`),
      token: papers.tokenOf(name),
      caFile: papers.caFile,
      history,
    });
    stops.defer(() => client.close());
    clients.push(client);
  }
  await Promise.all(clients.map((client) => client.connected()));
  return {
    database,
    machine: isOnMachine(options.database) ? machine : null,
    papers,
    servers,
    databaseLines,
    clientLines,
    clients,
    serverClocks,
    clientClocks,
    missing: [...missing, ...machine.missing],
  };
}

/** Returns null if no clock can be set here. */
async function openClocks(stops: AsyncDisposableStack): Promise<(whose: string) => WrongClock | null> {
  const folder = await mkdtemp(join(tmpdir(), "rowlock-clocks-"));
  stops.defer(() => rm(folder, { recursive: true, force: true }));
  return (whose) => (hasWrongClocks ? wrongClock(join(folder, whose), CLOCKS_LATE_S) : null);
}

async function opened(port: number, stops: AsyncDisposableStack): Promise<Line> {
  const line = await openLine(port);
  stops.defer(() => line.close());
  return line;
}

async function built(crew: Crew) {
  const languages = new Map<string, Language>();
  const missing: string[] = [];
  for (const name of new Set(crew.languages)) {
    const language = new Language(name, SQLITE);
    const why = await language.build();
    if (why === undefined) languages.set(name, language);
    else missing.push(`${name}: ${why}`);
  }
  return { languages, missing };
}

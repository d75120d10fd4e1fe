// The database of a run, with what faults need of it.

import { join } from "node:path";
import type { Flavour } from "../../../test/support/mysql-family/found-server.ts";
import { identify } from "../../../test/support/mysql-family/identify.ts";
import { ownBinaries } from "../../../test/support/mysql-family/own-binaries.ts";
import { runAt, startPrivateServer } from "../../../test/support/mysql-family/private-server.ts";
import { type Daemon, daemonAt, urlOf } from "./daemon.ts";
import { openGalera } from "./galera.ts";
import { openGroup } from "./group.ts";
import type { Machine } from "./machine.ts";
import { openPair } from "./pair.ts";

const BACK_MS_MAX = 60_000;
/** Databases of several servers. */
const CLUSTERS: Readonly<Record<string, () => Promise<Database>>> = {
  galera: openGalera,
  group: openGroup,
  pair: openPair,
};

export interface Database {
  readonly label: string;
  /** How many Rowlock servers it can have. */
  readonly servers: number;
  /** Its servers, in the order of preference: several if it is a cluster, none if it is a part of a Rowlock server. */
  readonly daemons: readonly Daemon[];
  /** With the port of a line to each daemon. */
  urlAt(ports: readonly number[]): string;
  /** For the Rowlock servers, as an operator of this kind of database sets them. */
  readonly serverFlags?: readonly string[];
  /** What else can happen to this kind of database. */
  readonly acts: Partial<Acts>;
  stop(): Promise<void>;
}

export interface Acts {
  /** All daemons have been killed: starts the database anew with what the one has that is furthest, as an operator does. */
  startAnew(): Promise<void>;
  /** The daemon loses the other ones, and keeps its clients. What it returns undoes that. */
  cutOff(daemon: Daemon): Promise<() => Promise<void>>;
  /** Makes a daemon the primary on purpose. */
  switchTo(daemon: Daemon): Promise<void>;
  /** Lets a daemon leave in good order, and makes it writable alone. `comeBack` ends that. */
  leave(daemon: Daemon): Promise<void>;
  /**
   * Promotes a copy that lags, and lets the old source come back as its copy; before that, for a while, as it was, if
   * `isBack`.
   */
  promote(isBack: boolean): Promise<LostTail>;
  /** Runs while Rowlock servers do. What it returns puts the same rows in place again, while no Rowlock server runs. */
  dump(): Promise<() => Promise<void>>;
}

/** What was acknowledged after `fromMs` and before `toMs` may be lost; nothing before is. */
export interface LostTail {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The one that Rowlock servers use: that with the most connections. */
export async function used({ daemons }: Database): Promise<Daemon> {
  const own = "SELECT COUNT(*) AS count FROM information_schema.processlist WHERE user = 'rowlock'";
  const counts = await Promise.all(
    daemons.map(async (daemon) => ({ daemon, count: Number((await daemon.run(own))[0]?.count) })),
  );
  return counts.reduce((a, b) => (b.count > a.count ? b : a)).daemon;
}

/** @param machine that it is on; a cluster has none. */
/** Whether the database runs on the machine of the run, and feels what happens to that. */
export function isOnMachine(name: string): boolean {
  return !(name in CLUSTERS);
}

export async function openDatabase(
  name: string,
  machine: Machine,
  flags: readonly string[] = [],
): Promise<Database> {
  if (name === "sqlite") {
    return {
      label: "SQLite",
      servers: 1,
      daemons: [],
      urlAt: () => `sqlite:${join(machine.folder, "rowlock.db")}`,
      acts: {},
      stop: async () => {},
    };
  }
  const open = CLUSTERS[name];
  return await (open ? open() : openMysql(name as Flavour, machine, flags));
}

async function openMysql(
  flavour: Flavour,
  { folder: parent, env }: Machine,
  flags: readonly string[],
): Promise<Database> {
  const binary = (await ownBinaries()).get(flavour);
  if (!binary) throw new Error(`There is no ${flavour} here: install it, or name it in ROWLOCK_TEST_MYSQLD.`);
  const started = await startPrivateServer(binary, flavour, { isRestarted: true, flags, parent, env });
  const { server, stop } = started;
  await runAt(server.url, "CREATE DATABASE rowlock");
  return {
    label: `${flavour === "mariadb" ? "MariaDB" : "MySQL"} ${server.version}`,
    servers: 3,
    daemons: [daemonAt(server.url, { ...started, comeBack: () => answers(server.url) })],
    urlAt: (ports) => urlOf(server.url, ports),
    acts: {},
    stop,
  };
}

/** Returns when the server answers, which something else has started again. */
async function answers(url: string): Promise<void> {
  await identify(url, BACK_MS_MAX);
}

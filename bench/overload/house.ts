// What a run needs: a private database, one server over it with default settings, and what both take.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { makeCacheFolder } from "../cache-folder.ts";
import { cpuSeconds } from "../cpu-time.ts";
import { buildDriver } from "../go-driver.ts";
import { scrape } from "../scrape.ts";
import { type Kind, startSizedDatabase } from "../sizing/sized-database.ts";
import { serve } from "../systems/rowlock.ts";

export interface House {
  readonly label: string;
  readonly url: string;
  readonly address: string;
  readonly metrics: string;
  readonly serverPid: number;
  /** The callers, which are in Go: in Node they would cost as much as the server. */
  readonly driver: string;
  /** Bytes that the server has logged. */
  logBytes(): number;
  databasePids(): Promise<readonly number[]>;
  /** What was used of each bound of the server at its last scrape. */
  bounds(): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

export async function startHouse(
  kind: Kind,
  flags: readonly string[] = [],
  databaseFlags: readonly string[] = [],
  nodeFlags: readonly string[] = [],
): Promise<House> {
  const folder = makeCacheFolder("rowlock-overload-");
  const driver = join(folder, "driver");
  await buildDriver(driver);
  const database = await startSizedDatabase(kind, databaseFlags);
  const server = await serve(database.url, database.folder, undefined, flags, nodeFlags);
  const metrics = server.metrics as string;
  return {
    label: database.label,
    url: database.url,
    address: server.target.address,
    metrics,
    serverPid: server.pids[0] as number,
    driver,
    logBytes: () => server.outputBytes(),
    databasePids: () => database.pids(),
    bounds: () => boundsOf(metrics),
    async stop() {
      await server.stop();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Cores {
  readonly server: number;
  readonly database: number;
}

/** Measures the cores that the server and its database take from now until the result is called. */
export async function coresFromNow(house: House): Promise<() => Promise<Cores>> {
  const used = async () => ({
    server: await cpuSeconds([house.serverPid]),
    database: await cpuSeconds(await house.databasePids()),
  });
  const [before, beganMs] = [await used(), performance.now()];
  return async () => {
    const [after, seconds] = [await used(), (performance.now() - beganMs) / 1_000];
    return {
      server: (after.server - before.server) / seconds,
      database: (after.database - before.database) / seconds,
    };
  };
}

export async function residentMib(metrics: string): Promise<number> {
  return ((await scrape(metrics)).get("process_resident_memory_bytes") ?? Number.NaN) / 2 ** 20;
}

async function boundsOf(address: string): Promise<Map<string, number>> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const found = text.matchAll(/^rowlock_bound_used\{bound="(\w+)"[^}]*\} (\S+)$/gm);
  return new Map([...found].map(([, bound, value]) => [bound as string, Number(value)]));
}

// What distance costs: between a server and its database, between clients and their server, and between two servers of
// which one is far from the database. A proxy holds back the answers, so that each round trip takes so much longer.

import { type MysqlAddress, parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { startLateProxy } from "../../test/support/late-proxy.ts";
import { freePort } from "../../test/support/mysql-family/private-server.ts";
import { TestCalls } from "../../test/support/test-calls.ts";
import { serve } from "../systems/rowlock.ts";
import { busyPairs, distinctName, hotName, sessionsAt } from "./callers.ts";
import type { SizedDatabase } from "./sized-database.ts";

const ROUND_TRIPS_MS = [0, 1, 10, 50, 100];
const HAND_OVERS = 15;
const WARM_UP_S = 2;

type Cells = readonly string[];

/** Tables as Markdown. */
export async function farTables(database: SizedDatabase, seconds: number): Promise<string> {
  const far = new Far(database);
  try {
    const tables: string[] = [];
    for (const where of ["server and database", "client and server"] as const) {
      const rows: Cells[] = [];
      for (const ms of ROUND_TRIPS_MS)
        rows.push([
          `${ms} ms`,
          ...(await (where === "server and database"
            ? far.fromDatabase(ms, (address) => rates(address, seconds))
            : far.fromClients(ms, (address) => rates(address, seconds)))),
        ]);
      tables.push(
        text(
          `${database.label}: between ${where}`,
          [
            "64 callers, pairs/s",
            "one hot lock, 16 callers, pairs/s",
            "one caller, ms a pair",
            "hand-over, ms",
          ],
          rows,
        ),
      );
    }
    const rows: Cells[] = [];
    for (const ms of ROUND_TRIPS_MS) rows.push([`${ms} ms`, ...(await far.twoServers(ms))]);
    tables.push(
      text(
        `${database.label}: a second server that is so far away`,
        ["hand-over near to far, ms", "far to near, ms"],
        rows,
      ),
    );
    return tables.join("\n");
  } finally {
    await far.stop();
  }
}

function text(title: string, columns: readonly string[], rows: readonly Cells[]): string {
  const line = (cells: Cells) => `| ${cells.join(" | ")} |`;
  return ["", line([title, ...columns]), line(["---", ...columns.map(() => "--:")]), ...rows.map(line)].join(
    "\n",
  );
}

class Far {
  readonly #database: SizedDatabase;
  readonly #stops: (() => Promise<void>)[] = [];

  constructor(database: SizedDatabase) {
    this.#database = database;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.splice(0).reverse()) await stop();
  }

  async fromDatabase(ms: number, measure: (address: string) => Promise<Cells>): Promise<Cells> {
    const { target } = await this.#serve(await this.#farDatabase(ms));
    const cells = await measure(target.address);
    await this.stop();
    return cells;
  }

  async fromClients(ms: number, measure: (address: string) => Promise<Cells>): Promise<Cells> {
    const { target } = await this.#serve(this.#database.url);
    const cells = await measure(await this.#proxied(target.address, ms));
    await this.stop();
    return cells;
  }

  /** One server is beside the database, and the other one is far from both. */
  async twoServers(ms: number): Promise<Cells> {
    const port = await freePort();
    const near = await this.#serve(
      this.#database.url,
      "--listen",
      `127.0.0.1:${port}`,
      "--advertise",
      await this.#proxied(`127.0.0.1:${port}`, ms),
    );
    const farPort = await freePort();
    const advertised = await this.#proxied(`127.0.0.1:${farPort}`, ms);
    const far = await this.#serve(
      await this.#farDatabase(ms),
      "--listen",
      `127.0.0.1:${farPort}`,
      "--advertise",
      advertised,
    );
    const there = await handOverMs(near.target.address, far.target.address);
    const back = await handOverMs(far.target.address, near.target.address);
    await this.stop();
    return [there, back].map((each) => each.toFixed(0));
  }

  async #serve(url: string, ...flags: string[]) {
    const server = await serve(url, this.#database.folder, undefined, flags);
    this.#stops.push(() => server.stop());
    return server;
  }

  async #farDatabase(ms: number): Promise<string> {
    const { host, port } = parseDatabaseUrl(this.#database.url) as MysqlAddress;
    const there = await this.#proxied(`${host}:${port}`, ms);
    return this.#database.url.replace(`${host}:${port}/`, `${there}/`);
  }

  async #proxied(address: string, ms: number): Promise<string> {
    const [host, port] = address.split(":") as [string, string];
    const proxy = await startLateProxy(host, Number(port));
    proxy.delayAnswers(ms);
    this.#stops.push(() => proxy.close());
    return `127.0.0.1:${proxy.port}`;
  }
}

async function rates(address: string, seconds: number): Promise<Cells> {
  const rate = async (callers: number, nameOf: typeof distinctName) => {
    const callersThere = sessionsAt(address, 1);
    try {
      await busyPairs(callersThere, callers, WARM_UP_S, nameOf);
      return (await busyPairs(callersThere, callers, seconds, nameOf)) / seconds;
    } finally {
      callersThere.close();
    }
  };
  const many = await rate(64, distinctName);
  const hot = await rate(16, hotName);
  const one = await rate(1, distinctName);
  const handOver = await handOverMs(address, address);
  return [many.toFixed(0), hot.toFixed(1), (1_000 / one).toFixed(0), handOver.toFixed(0)];
}

let names = 0;

/** The median time from a Release on one connection to the grant on another one. */
async function handOverMs(from: string, to: string): Promise<number> {
  const holder = new TestCalls(from);
  const waiter = new TestCalls(to);
  const tookMs: number[] = [];
  try {
    for (let round = 0; round < HAND_OVERS; round++) {
      names += 1;
      const name = `hand-over/${names}`;
      const { leaseId } = await holder.lease({ name });
      const stream = waiter.wait({ target: { case: "request", value: { name } } });
      await stream.position();
      const beganMs = performance.now();
      const [lease] = await Promise.all([
        stream.granted().finally(() => tookMs.push(performance.now() - beganMs)),
        holder.call("release", { leaseId }),
      ]);
      await waiter.call("release", { leaseId: lease.leaseId });
    }
  } finally {
    holder.close();
    waiter.close();
  }
  return tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length / 2)] as number;
}

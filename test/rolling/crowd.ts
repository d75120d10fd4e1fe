// Clients of several languages that hold leases, and take turns in queues all the time, each by a driver of the conformance
// suite. Records every grant, and finds out at the end whether anybody has lost a place or a lease.

import { type Connection, createConnection } from "mysql2/promise";
import { parseClaimId } from "../../server/core/claim.ts";
import { END_REASONS, wordOf } from "../../server/storage/rows/values.ts";
import type { DriverProcess, Json } from "../clients/conformance/driver-process.ts";
import { until } from "../support/until.ts";

/**
 * On a busy machine an answer may take longer than the clients wait for one by default. Then they would try one server after
 * the other, and each would have the work for nothing.
 */
const PATIENT = { connectTimeoutMs: 20_000, giveUpAfterMs: 120_000, explainAfterMs: 600_000 };
/** How long a turn lasts. */
const TURN_MS = 100;
const TTL_MS = 30_000;

export interface CrowdSize {
  readonly leases: number;
  readonly waits: number;
  readonly queues: number;
}

interface Grant {
  readonly queue: string;
  readonly ticket: bigint;
  readonly token: bigint;
  readonly atMs: number;
}

interface Kept {
  readonly driver: DriverProcess;
  readonly lock: string;
  readonly name: string;
  readonly token: string;
}

/** What came of it. */
export interface CrowdReport {
  /** What should not have happened; empty: everybody kept place and lease, in order. */
  readonly breaches: readonly string[];
  readonly grants: number;
  /** Places of waiters that were there when a server was stopped, and were all granted later. */
  readonly placesAtStops: number;
  /** The longest time between two grants: of all queues together, and of the worst one alone. */
  readonly longestGapMs: number;
  readonly longestGapOfAQueueMs: number;
}

export class Crowd {
  /** Distinguishes several crowds over one database. */
  readonly #name: string;
  readonly #drivers: readonly DriverProcess[];
  readonly #size: CrowdSize;
  readonly #database: Connection;
  readonly #grants: Grant[] = [];
  readonly #breaches: string[] = [];
  readonly #kept: Kept[] = [];
  /** `queue ticket` of each place that was there when a server was stopped. */
  readonly #placesAtStops = new Set<string>();
  #turns: Promise<void>[] = [];
  #isOver = false;
  #beganMs = 0;
  #endedMs = 0;

  private constructor(
    name: string,
    drivers: readonly DriverProcess[],
    size: CrowdSize,
    database: Connection,
  ) {
    this.#name = name;
    this.#drivers = drivers;
    this.#size = size;
    this.#database = database;
  }

  /** Resolves when all leases are held and all waiters have places. */
  static async start(
    name: string,
    drivers: readonly DriverProcess[],
    size: CrowdSize,
    { addresses, url }: { readonly addresses: readonly string[]; readonly url: string },
  ): Promise<Crowd> {
    const crowd = new Crowd(name, drivers, size, await createConnection({ uri: url }));
    await Promise.all(
      drivers.map((driver) =>
        asked(driver, { do: "connect", client: name, addresses, owner: name, ...PATIENT }),
      ),
    );
    const leases = Array.from({ length: size.leases }, (_, index) => crowd.#hold(index));
    crowd.#turns = Array.from({ length: size.waits }, (_, index) => crowd.#takeTurns(index));
    await Promise.all(leases);
    // All but those whose turn it is.
    await until(async () => (await crowd.#places()).length >= size.waits - 2 * size.queues);
    return crowd;
  }

  /** Call right before a server is stopped. */
  async stops(): Promise<void> {
    if (this.#beganMs === 0) this.#beganMs = performance.now();
    for (const place of await this.#places()) this.#placesAtStops.add(place);
  }

  /** Ends the turns and the leases, and says how it went. */
  async report(): Promise<CrowdReport> {
    this.#endedMs = performance.now();
    this.#isOver = true;
    await Promise.all(this.#turns);
    await Promise.all(this.#kept.map((kept) => this.#release(kept)));
    this.#checkOrder();
    await this.#checkEnds();
    const granted = new Set(this.#grants.map(({ queue, ticket }) => `${queue} ${ticket}`));
    for (const place of this.#placesAtStops)
      if (!granted.has(place)) this.#breaches.push(`the place ${place} was lost`);
    const during = this.#grants.filter(({ atMs }) => atMs >= this.#beganMs && atMs <= this.#endedMs);
    const byQueue = Object.values(Object.groupBy(during, ({ queue }) => queue));
    await Promise.all(this.#drivers.map((driver) => asked(driver, { do: "close", client: this.#name })));
    return {
      breaches: this.#breaches,
      grants: during.length,
      placesAtStops: this.#placesAtStops.size,
      longestGapMs: this.#longestGapMs(during),
      longestGapOfAQueueMs: Math.max(...byQueue.map((grants = []) => this.#longestGapMs(grants))),
    };
  }

  async close(): Promise<void> {
    await this.#database.end();
  }

  #driver(index: number): DriverProcess {
    return this.#drivers[index % this.#drivers.length] as DriverProcess;
  }

  async #hold(index: number): Promise<void> {
    const driver = this.#driver(index);
    const lock = `${this.#name}-lease-${index}`;
    const name = `${this.#name}/leases/${index}`;
    const granted = await this.#acquire(driver, lock, name);
    if (granted) this.#kept.push({ driver, lock, name, token: granted.token });
  }

  async #release({ driver, lock, name }: Kept): Promise<void> {
    const lost = driver.events(
      ({ event, lock: of, state }) => event === "state" && of === lock && state === "lost",
    );
    if (lost.length > 0) this.#breaches.push(`the lease on ${name} was lost`);
    await this.#end(driver, lock, name);
  }

  async #takeTurns(index: number): Promise<void> {
    const driver = this.#driver(index);
    // Each driver's clients are in all queues.
    const queue = `${this.#name}/queues/${Math.floor(index / this.#drivers.length) % this.#size.queues}`;
    for (let turn = 0; !this.#isOver; turn++) {
      const lock = `${this.#name}-turn-${index}-${turn}`;
      const granted = await this.#acquire(driver, lock, queue);
      if (!granted) return;
      const ticket = parseClaimId(granted.leaseId)?.ticketNumber ?? 0n;
      this.#grants.push({ queue, ticket, token: BigInt(granted.token), atMs: performance.now() });
      if (!this.#isOver) await new Promise((resolve) => setTimeout(resolve, TURN_MS));
      await this.#end(driver, lock, queue);
    }
  }

  /** The answer may be that the lease had ended: a release whose first answer was lost was repeated. #checkEnds looks how. */
  async #end(driver: DriverProcess, lock: string, name: string): Promise<void> {
    const { error } = await asked(driver, { do: "release", lock });
    if (error) this.#breaches.push(`${name} could not be released: ${JSON.stringify(error)}`);
  }

  async #checkEnds(): Promise<void> {
    const [rows] = await this.#database.query(
      `SELECT CAST(l.name AS CHAR) AS name, CAST(h.ticket_number AS CHAR) AS ticket, h.end_reason AS reason
       FROM rowlock_history h JOIN rowlock_lock l ON l.id = h.lock_id WHERE l.name LIKE ?`,
      [`${this.#name}/%`],
    );
    const ends = (rows as { name: string; ticket: string; reason: number }[]).map((row) => ({
      ...row,
      reason: wordOf(END_REASONS, row.reason),
    }));
    for (const { name, ticket, reason } of ends)
      if (reason !== "released") this.#breaches.push(`claim ${ticket} of ${name} ended as ${reason}`);
    const wanted = this.#grants.length + this.#kept.length;
    if (ends.length !== wanted) this.#breaches.push(`${ends.length} claims have ended instead of ${wanted}`);
  }

  async #acquire(
    driver: DriverProcess,
    lock: string,
    name: string,
  ): Promise<{ readonly token: string; readonly leaseId: string } | undefined> {
    const answer = await asked(driver, { do: "acquire", client: this.#name, lock, name, ttlMs: TTL_MS });
    const { granted } = answer as { granted?: { token: string; leaseId: string } };
    if (!granted) this.#breaches.push(`${name}: ${JSON.stringify(answer)}`);
    return granted;
  }

  /** The places of all waiters of this crowd, from the database, so that no server has to be asked. */
  async #places(): Promise<string[]> {
    const [rows] = await this.#database.query(
      `SELECT CAST(l.name AS CHAR) AS queue, CAST(c.ticket_number AS CHAR) AS ticket
       FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id WHERE c.state = 1 AND l.name LIKE ?`,
      [`${this.#name}/queues/%`],
    );
    return (rows as { queue: string; ticket: string }[]).map(({ queue, ticket }) => `${queue} ${ticket}`);
  }

  #checkOrder(): void {
    const last = new Map<string, Grant>();
    for (const grant of this.#grants) {
      const before = last.get(grant.queue);
      if (before && before.ticket >= grant.ticket)
        this.#breaches.push(`ticket ${grant.ticket} of ${grant.queue} was granted after ${before.ticket}`);
      if (before && before.token >= grant.token)
        this.#breaches.push(`token ${grant.token} of ${grant.queue} was given after ${before.token}`);
      last.set(grant.queue, grant);
    }
  }

  #longestGapMs(grants: readonly Grant[]): number {
    const times = [this.#beganMs, ...grants.map(({ atMs }) => atMs), this.#endedMs];
    return Math.round(Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] as number))));
  }
}

/** The result of a command, or its error as `error`. */
async function asked(driver: DriverProcess, command: Json): Promise<Json> {
  const { line } = await driver.ask(command).answer;
  return (line.result as Json | undefined) ?? { error: line.error };
}

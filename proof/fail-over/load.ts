// Clients that take, hold and release locks at two Rowlock servers while something happens to the database, and what
// they must never see: a lock that two of them hold, a token that does not rise, or something acknowledged that is lost.
// All clients are in this process, so that one clock orders what they see.

import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Lock, type RowlockClient, RowlockError } from "../../clients/typescript/src/index.ts";

const NAMES = 8;
const WORKERS_PER_CLIENT = 6;
const HELD_ALL_THE_TIME = 20;
/** Far longer than any outage here, so that no lease ends by itself. */
const TTL_MS = 60_000;
const HOLD_MS = 4;
const AGAIN_MS = 20;

export interface Seen {
  /** What was promised and not kept; must be empty. */
  readonly breaches: readonly string[];
  readonly grants: number;
  /** Between two grants to any of the clients. */
  readonly longestGapMs: number;
  /** Calls that failed although clients repeat what they can, by reason. */
  readonly failed: ReadonlyMap<string, number>;
}

export class Load {
  readonly #clients: readonly RowlockClient[];
  readonly #stop = new AbortController();
  readonly #breaches: string[] = [];
  readonly #failed = new Map<string, number>();
  readonly #holders = new Map<string, string>();
  readonly #tokens = new Map<string, bigint>();
  /** By name: the status that was acknowledged last, and those that may have been set since. */
  readonly #statuses = new Map<string, string[]>();
  /** Names with the tokens of leases whose release was acknowledged. */
  readonly #released = new Set<string>();
  readonly #steady: Lock[] = [];
  #workers: Promise<void>[] = [];
  #grants = 0;
  #grantedMs = performance.now();
  #longestGapMs = 0;

  /** Each client prefers another one of the servers. */
  constructor(addresses: readonly string[]) {
    this.#clients = addresses.map((_, index) =>
      connect({
        addresses: [...addresses.slice(index), ...addresses.slice(0, index)],
        owner: `client-${index}`,
        log: () => {},
      }),
    );
  }

  async start(): Promise<void> {
    const first = this.#clients[0] as RowlockClient;
    for (let index = 0; index < HELD_ALL_THE_TIME; index++)
      this.#steady.push(await first.lock(`steady-${index}`, { ttl: TTL_MS }));
    this.#grantedMs = performance.now();
    this.#workers = this.#clients.flatMap((client, at) =>
      Array.from({ length: WORKERS_PER_CLIENT }, (_, worker) => this.#work(client, `${at}.${worker}`)),
    );
  }

  /** Forgets the gaps so far. */
  measure(): void {
    this.#longestGapMs = 0;
    this.#grantedMs = performance.now();
  }

  /** The longest gap since `measure`, up to now. */
  get longestGapMs(): number {
    return Math.max(this.#longestGapMs, performance.now() - this.#grantedMs);
  }

  get grants(): number {
    return this.#grants;
  }

  async stop(): Promise<Seen> {
    const longestGapMs = this.longestGapMs;
    this.#stop.abort();
    await Promise.all(this.#workers);
    await this.#checkRest();
    for (const client of this.#clients) await client.close();
    return { breaches: this.#breaches, grants: this.#grants, longestGapMs, failed: this.#failed };
  }

  async #work(client: RowlockClient, who: string): Promise<void> {
    const { signal } = this.#stop;
    for (let turn = 0; !signal.aborted; turn++) {
      try {
        await this.#once(client, who, `name-${(turn + who.length * 3 + Number(who.slice(2))) % NAMES}`);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof RowlockError)) throw error;
        this.#failed.set(error.reason, (this.#failed.get(error.reason) ?? 0) + 1);
        await sleep(AGAIN_MS);
      }
    }
  }

  async #once(client: RowlockClient, who: string, name: string): Promise<void> {
    const lock = await client.lock(name, { ttl: TTL_MS, signal: this.#stop.signal });
    const nowMs = performance.now();
    this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#grantedMs);
    this.#grantedMs = nowMs;
    this.#grants += 1;
    const other = this.#holders.get(name);
    if (other !== undefined) this.#breaches.push(`${name} was granted to ${who} while ${other} held it`);
    this.#holders.set(name, who);
    const before = this.#tokens.get(name) ?? 0n;
    if (lock.token <= before) this.#breaches.push(`${name}: token ${lock.token} after ${before}`);
    this.#tokens.set(name, lock.token);
    await sleep(HOLD_MS, undefined, { signal: lock.signal }).catch(() => {});
    this.#holders.delete(name);
    const status = String(lock.token);
    const possible = this.#statuses.get(name) ?? [""];
    possible.push(status);
    this.#statuses.set(name, possible);
    await lock.release({ status });
    this.#statuses.set(name, [status]);
    this.#released.add(`${name} ${lock.token}`);
  }

  /** What must still be there after the fault. */
  async #checkRest(): Promise<void> {
    const client = this.#clients[0] as RowlockClient;
    for (const lock of this.#steady) {
      const { holders } = await client.getLock(lock.name);
      if (lock.signal.aborted || holders[0]?.token !== lock.token)
        this.#breaches.push(`${lock.name} was held all the time, and was lost`);
      await lock.release();
    }
    for (const [name, possible] of this.#statuses) {
      const { holders, record } = await client.getLock(name);
      if (!possible.includes(record?.status ?? ""))
        this.#breaches.push(
          `${name}: status ${record?.status}, and ${possible.join(" or ")} was acknowledged`,
        );
      // A lock whose release has failed, or whose grant nobody has heard of, may be held until its lease ends.
      for (const { token } of holders)
        if (this.#released.has(`${name} ${token}`))
          this.#breaches.push(`${name} was released, and is held with the same token ${token}`);
    }
  }
}

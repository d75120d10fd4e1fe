// Lends a bounded number of connections to a bounded queue of callers. A caller gets an idle connection at once. Tarn queues
// the others and opens connections, and counts idle ones as lent. Only a connection may be lent that is set up, not lost,
// leads to the present server, and has no open transaction.

import { setTimeout as sleep } from "node:timers/promises";
import { Pool, TimeoutError } from "tarn";
import type { BoundUse } from "../../../core/bound-use.ts";
import type { MysqlAddress } from "../../database-url.ts";
import * as bounds from "../../storage-bounds.ts";
import {
  type DatabaseServer,
  isInDoubt,
  type PoolState,
  StoreError,
  type StoreObserver,
} from "../../store.ts";
import { ChosenServer, type OpenedAt } from "./chosen-server.ts";
import type { Server } from "./connect.ts";
import type { Connection } from "./connection.ts";
import { isUnusable } from "./usable-server.ts";

const LEAVE_LOOK_MS = 5;

export class MysqlPool {
  /** Called when a connection is lost or the server has changed: the database may have lost or changed data. */
  onBroken = () => {};
  /** The server of the newest connection; null before the first one. */
  server: Server | null = null;
  /** How often a new connection has led to another server than the connection before it. */
  serverChanges = 0;
  readonly #pool: Pool<Connection>;
  readonly #servers: ChosenServer;
  readonly #size: number;
  readonly #open = new Set<Connection>();
  /** The one that was given back last is lent first. */
  readonly #idle: { readonly connection: Connection; readonly sinceMs: number }[] = [];
  #sweep: NodeJS.Timeout | undefined;
  readonly #attempts = new WeakMap<object, number>();
  readonly #closing = new Set<Promise<void>>();
  #generation = 0;
  #closed = false;

  constructor(address: MysqlAddress, size: number, observer: StoreObserver) {
    this.#servers = new ChosenServer(address, observer, (withinMs) => this.#leave(withinMs));
    this.#size = size;
    this.#pool = new Pool<Connection>({
      create: () => this.#connect(),
      // Tarn keeps a connection that may not be lent until it is about to lend it, or the idle limit passes.
      validate: (connection) => this.#mayBeLent(connection),
      destroy: (connection) => this.#end(connection),
      min: 0,
      max: size,
      acquireTimeoutMillis: bounds.POOL_WAIT_MS_MAX,
      // Never reached: opening a connection and end() have their own bounds.
      createTimeoutMillis: 3 * bounds.CONNECT_MS_MAX,
      destroyTimeoutMillis: 2 * bounds.CLOSE_MS_MAX,
      idleTimeoutMillis: bounds.IDLE_MS_MAX,
      reapIntervalMillis: bounds.IDLE_SWEEP_MS,
      // Only one caller receives the error of a failed attempt; the others should not wait long for the next one.
      createRetryIntervalMillis: 1,
      propagateCreateError: true,
    });
  }

  get isCluster(): boolean {
    return this.server?.isCluster ?? false;
  }

  get servers(): readonly DatabaseServer[] {
    return this.#servers.servers;
  }

  get connectionIds(): number[] {
    return [...this.#open].map(({ id }) => id);
  }

  get state(): PoolState {
    const idle = [...this.#open].filter(({ isLent }) => !isLent).length;
    return { open: this.#open.size, idle, waiting: this.#pool.numPendingAcquires() };
  }

  get bounds(): readonly BoundUse[] {
    const { open, idle, waiting } = this.state;
    return [
      { bound: "database_connections", kind: "turns", used: open - idle, max: this.#size },
      { bound: "database_waiters", kind: "room", used: waiting, max: bounds.POOL_WAITING_MAX },
    ];
  }

  /**
   * Lends a connection to `work` for at most `loanMs`, at once if one is idle, and another one if it was closed while idle.
   * Throws StoreErrors: `pool_exhausted`, why no connection can be opened, or the error of `work`.
   */
  use<Answer>(
    work: (connection: Connection) => Promise<Answer>,
    loanMs: number = bounds.LOAN_MS_MAX,
  ): Promise<Answer> {
    const connection = this.#takeIdle();
    return connection ? this.#lend(connection, work, loanMs) : this.#useNext(work, loanMs);
  }

  async #useNext<Answer>(work: (connection: Connection) => Promise<Answer>, loanMs: number): Promise<Answer> {
    return await this.#lend(await this.#take(), work, loanMs);
  }

  /** Callbacks instead of async functions, because each deciding transaction awaits this. */
  #lend<Answer>(
    connection: Connection,
    work: (connection: Connection) => Promise<Answer>,
    loanMs: number,
  ): Promise<Answer> {
    connection.begin(loanMs);
    return begun(work, connection).then(
      (answer) => {
        this.#endLoan(connection);
        return answer;
      },
      (error) => {
        this.#heed(error);
        const isRepeated = wasGone(connection, error);
        this.#endLoan(connection);
        if (!isRepeated) throw error;
        return this.use(work, loanMs);
      },
    );
  }

  /** Like `use`, for a small write; its statements wait for row locks. */
  write<Answer>(work: (connection: Connection) => Promise<Answer>): Promise<Answer> {
    return this.use((connection) => {
      connection.isPatient = true;
      return work(connection);
    });
  }

  /** Retires all open connections: none of them is lent again. */
  renew(): void {
    this.#generation += 1;
    this.onBroken();
  }

  /** Refuses all callers, also waiting ones; closes connections after their work has ended. Can be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const { connection } of this.#idle.splice(0)) this.#pool.release(connection);
    await this.#pool.destroy();
    await this.#servers.close();
  }

  /** What an error says about the server, and not only about its connection. */
  #heed(error: unknown): void {
    // The server became read-only or fell out of its cluster, but open connections can still write to it.
    if (isUnusable(error)) this.renew();
    // A source that waits for replicas which it has lost answers everything but commits.
    else if (isInDoubt(error) && (error as StoreError).reason === "timeout") this.#servers.stuck();
  }

  async #leave(withinMs: number): Promise<void> {
    this.renew();
    const untilMs = performance.now() + withinMs;
    while (this.#lentBefore().length > 0 && performance.now() < untilMs) await sleep(LEAVE_LOOK_MS);
    for (const connection of this.#lentBefore()) connection.destroy(movedError());
  }

  #lentBefore(): Connection[] {
    return [...this.#open].filter(({ isLent, generation }) => isLent && generation !== this.#generation);
  }

  async #take(): Promise<Connection> {
    if (this.#closed) throw closedError();
    if (this.#pool.numPendingAcquires() >= bounds.POOL_WAITING_MAX) throw exhausted();
    const askedMs = performance.now();
    for (;;) {
      try {
        return await this.#pool.acquire().promise;
      } catch (error) {
        if (this.#closed) throw closedError();
        if (error instanceof TimeoutError) throw exhausted();
        // An attempt to connect may have begun for an earlier caller, which has since received another connection.
        const beganMs = this.#attempts.get(error as object) ?? Number.POSITIVE_INFINITY;
        if (beganMs >= askedMs) throw error;
      }
    }
  }

  /** An idle connection that may be lent. Tarn gets those that may not, and drops them. */
  #takeIdle(): Connection | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (this.#mayBeLent(idle.connection)) return idle.connection;
      this.#pool.release(idle.connection);
    }
    return undefined;
  }

  #mayBeLent({ fit, generation }: Connection): boolean {
    return fit && generation === this.#generation;
  }

  #endLoan(connection: Connection): void {
    connection.finish();
    connection.kept = true;
    if (!connection.fit) {
      connection.destroy(new Error("The connection was given back unfit."));
      this.#remove(connection);
    }
    // Whoever waits for a connection may wait again for one that Tarn validates.
    const isAwaited = this.#pool.numPendingAcquires() > 0 || this.#pool.numPendingValidations() > 0;
    if (this.#closed || isAwaited || !this.#mayBeLent(connection)) {
      this.#pool.release(connection);
      return;
    }
    this.#idle.push({ connection, sinceMs: performance.now() });
    this.#sweep ??= setInterval(() => this.#closeOld(), bounds.IDLE_SWEEP_MS);
  }

  /** Closes the connections that have been idle for long, which are the first ones. Tarn counts them until they are closed. */
  #closeOld(): void {
    const beforeMs = performance.now() - bounds.IDLE_MS_MAX;
    const firstKept = this.#idle.findIndex(({ sinceMs }) => sinceMs > beforeMs);
    const old = this.#idle.splice(0, firstKept < 0 ? this.#idle.length : firstKept);
    for (const { connection } of old) void this.#end(connection).then(() => this.#pool.release(connection));
    if (this.#idle.length > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  async #connect(): Promise<Connection> {
    // Tarn no longer counts connections that are still closing, and there must not be too many.
    await Promise.all(this.#closing);
    const beganMs = performance.now();
    const { connection, server } = await this.#openOne().catch((error: object) => {
      this.#attempts.set(error, beganMs);
      throw error;
    });
    this.#meet(server);
    connection.generation = this.#generation;
    connection.onLost = () => this.#remove(connection);
    this.#open.add(connection);
    // If the caller has received another connection meanwhile, this one starts out idle.
    setImmediate(() => {
      connection.kept ||= !connection.isLent;
    });
    return connection;
  }

  async #openOne(): Promise<OpenedAt> {
    for (;;) {
      const opened = await this.#servers.open();
      if (opened.turn === this.#servers.turn) return opened;
      opened.connection.destroy(movedError());
    }
  }

  /** If the address now leads to another server, connections to the old server must not be used beside the new one. */
  #meet(server: Server): void {
    const before = this.server?.identity ?? null;
    this.server = server;
    if (before === null || server.identity === null || before === server.identity) return;
    this.serverChanges += 1;
    this.renew();
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    this.onBroken();
    connection.destroy(new Error("The connection was lost."));
  }

  async #end(connection: Connection): Promise<void> {
    const closed = connection.end();
    this.#closing.add(closed);
    await closed;
    this.#closing.delete(closed);
    this.#open.delete(connection);
  }
}

function begun<Answer>(
  work: (connection: Connection) => Promise<Answer>,
  connection: Connection,
): Promise<Answer> {
  try {
    return work(connection);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** As if the server that is left had closed the connection. */
function movedError(): Error {
  return Object.assign(new Error("The connection led to another server."), { code: "ECONNRESET" });
}

function exhausted(): StoreError {
  const message = "All connections to the database have been in use for too long.";
  return new StoreError("unavailable", "pool_exhausted", message);
}

function closedError(): StoreError {
  return new StoreError("unavailable", "closed", "The store is closed.");
}

/** Whether the error means that the connection was gone before the server had done anything for this loan. */
function wasGone({ kept, answered }: Connection, error: unknown): boolean {
  if (!kept || answered > 0 || !(error instanceof StoreError)) return false;
  // If COMMIT was sent in that trip, the kind is `unknown_outcome`, and the work may have been committed.
  return error.kind === "transient" && error.reason === "connection_lost";
}

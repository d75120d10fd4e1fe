// Lends connections: a bounded number of them, to a bounded queue of callers. Tarn queues callers, and opens and drops
// connections; here is what makes one fit to be lent: it was set up, is not lost, leads to the present server, and no
// transaction is open on it.

import { Pool, TimeoutError } from "tarn";
import type { MysqlAddress } from "../../database-url.ts";
import {
  CONNECT_MS_MAX,
  GOODBYE_MS_MAX,
  IDLE_MS_MAX,
  IDLE_SWEEP_MS,
  LEASE_MS_MAX,
  POOL_WAIT_MS_MAX,
  POOL_WAITING_MAX,
} from "../../storage-bounds.ts";
import type { PoolState, StoreObserver } from "../../store.ts";
import { StoreError } from "../../store.ts";
import { openSession, type Server } from "./connect.ts";
import { type Session, wasGone } from "./session.ts";

export class MysqlPool {
  readonly #pool: Pool<Session>;
  readonly #address: MysqlAddress;
  readonly #observer: StoreObserver;
  readonly #open = new Set<Session>();
  /** Of attempts to connect that have failed: when they were begun. */
  readonly #attempts = new WeakMap<object, number>();
  readonly #goodbyes = new Set<Promise<void>>();
  #server: Server | null = null;
  #serverChanges = 0;
  #generation = 0;
  #onBroken = () => {};
  #closed = false;

  constructor(address: MysqlAddress, size: number, observer: StoreObserver) {
    this.#address = address;
    this.#observer = observer;
    this.#pool = new Pool<Session>({
      create: () => this.#connect(),
      // One that was lost, or leads to an earlier server, stays with Tarn until it would be lent or was idle for long.
      validate: (session) => session.fit && session.generation === this.#generation,
      destroy: (session) => this.#end(session),
      min: 0,
      max: size,
      acquireTimeoutMillis: POOL_WAIT_MS_MAX,
      // Neither is ever reached: openSession and end() have bounds of their own.
      createTimeoutMillis: 2 * CONNECT_MS_MAX,
      destroyTimeoutMillis: 2 * GOODBYE_MS_MAX,
      idleTimeoutMillis: IDLE_MS_MAX,
      reapIntervalMillis: IDLE_SWEEP_MS,
      // For callers behind the one that hears why none could be opened.
      createRetryIntervalMillis: 1,
      propagateCreateError: true,
    });
  }

  /** The server that the newest connection is to; null before the first. */
  get server(): Server | null {
    return this.#server;
  }

  /** Whether that server is a node of a cluster. */
  get isCluster(): boolean {
    return this.#server?.isCluster ?? false;
  }

  /** How often a new connection has led to another server than the one before. */
  get serverChanges(): number {
    return this.#serverChanges;
  }

  /** Called when a connection is lost or the server has become another one: the database may not be what it was. */
  set onBroken(listener: () => void) {
    this.#onBroken = listener;
  }

  get state(): PoolState {
    const idle = [...this.#open].filter(({ isLent }) => !isLent).length;
    return { open: this.#open.size, idle, waiting: this.#pool.numPendingAcquires() };
  }

  /**
   * Lends a connection to `work`. If it turns out to have been closed while it was idle, `work` runs again on another
   * one. Throws StoreErrors: `pool_exhausted`, why no connection can be opened, or what `work` throws.
   */
  async use<Answer>(
    work: (session: Session) => Promise<Answer>,
    leaseMs: number = LEASE_MS_MAX,
  ): Promise<Answer> {
    for (;;) {
      const session = await this.#take();
      session.begin(leaseMs);
      try {
        return await work(session);
      } catch (error) {
        if (!wasGone(session, error)) throw error;
      } finally {
        session.finish();
        this.#giveBack(session);
      }
    }
  }

  /** The same for a small write, which waits for row locks. */
  write<Answer>(work: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.use((session) => {
      session.isPatient = true;
      return work(session);
    });
  }

  /** Lends no connection again that is open now. */
  renew(): void {
    this.#generation += 1;
    this.#onBroken();
  }

  /** Refuses callers, also those that wait, when those at work are done; then says goodbye. Can be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.destroy();
  }

  async #take(): Promise<Session> {
    if (this.#closed) throw closedError();
    if (this.#pool.numPendingAcquires() >= POOL_WAITING_MAX) throw exhausted();
    const askedMs = performance.now();
    for (;;) {
      try {
        return await this.#pool.acquire().promise;
      } catch (error) {
        if (this.#closed) throw closedError();
        if (error instanceof TimeoutError) throw exhausted();
        // Of an attempt to connect that was begun for somebody else, who has got another connection by now.
        if (!this.#isFromBefore(error, askedMs)) throw error;
      }
    }
  }

  #isFromBefore(error: unknown, ms: number): boolean {
    return (this.#attempts.get(error as object) ?? Number.POSITIVE_INFINITY) < ms;
  }

  #giveBack(session: Session): void {
    session.kept = true;
    if (!session.fit) {
      session.destroy(new Error("The connection was given back unfit."));
      this.#remove(session);
    }
    this.#pool.release(session);
  }

  async #connect(): Promise<Session> {
    // Tarn has forgotten those that are still saying goodbye, and there must not be too many.
    await Promise.all(this.#goodbyes);
    const beganMs = performance.now();
    const { session, server } = await openSession(this.#address, this.#observer).catch((error: object) => {
      this.#attempts.set(error, beganMs);
      throw error;
    });
    this.#meet(server);
    session.generation = this.#generation;
    session.onLost = () => this.#remove(session);
    this.#open.add(session);
    // Its caller may have got another one meanwhile: then it begins by lying idle.
    setImmediate(() => {
      session.kept ||= !session.isLent;
    });
    return session;
  }

  /** Where an address has come to lead to another server, connections to the old one must not be used beside it. */
  #meet(server: Server): void {
    const before = this.#server?.identity ?? null;
    this.#server = server;
    if (before === null || server.identity === null || before === server.identity) return;
    this.#serverChanges += 1;
    this.renew();
  }

  #remove(session: Session): void {
    if (!this.#open.delete(session)) return;
    this.#onBroken();
    session.destroy(new Error("The connection was lost."));
  }

  async #end(session: Session): Promise<void> {
    const goodbye = session.end();
    this.#goodbyes.add(goodbye);
    await goodbye;
    this.#goodbyes.delete(goodbye);
    this.#open.delete(session);
  }
}

function exhausted(): StoreError {
  const message = "All connections to the database are in use, and were so for too long.";
  return new StoreError("unavailable", "pool_exhausted", message);
}

function closedError(): StoreError {
  return new StoreError("unavailable", "closed", "The store is closed.");
}

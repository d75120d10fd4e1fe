// A bounded number of connections, and a bounded queue of callers for them. The driver has a pool too; this one is our
// own because a caller must not wait for ever, a connection must be set up before it is handed out, a connection that
// died while idle must not fail a call, and one on which a transaction may be open must never be handed out again.

import type { MysqlAddress } from "../../database-url.ts";
import {
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

interface Waiting {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

export class MysqlPool {
  readonly #address: MysqlAddress;
  readonly #size: number;
  readonly #observer: StoreObserver;
  readonly #open = new Set<Session>();
  readonly #idle: Session[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #sweep: NodeJS.Timeout;
  #connecting = 0;
  #server: Server | null = null;
  #serverChanges = 0;
  #generation = 0;
  #onDrained: (() => void) | null = null;
  #onBroken = () => {};
  #closed = false;

  constructor(address: MysqlAddress, size: number, observer: StoreObserver) {
    this.#address = address;
    this.#size = size;
    this.#observer = observer;
    this.#sweep = setInterval(() => this.#dropIdle(), IDLE_SWEEP_MS);
    this.#sweep.unref();
  }

  /** The server that the newest connection is to; null before the first. */
  get server(): Server | null {
    return this.#server;
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
    return { open: this.#open.size, idle: this.#idle.length, waiting: this.#waiting.length };
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
    for (const idle of this.#idle.splice(0)) void this.#end(idle);
  }

  /** Refuses new callers, waits for those at work, and says goodbye to the server. Can be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const waiting of this.#waiting.splice(0)) {
      clearTimeout(waiting.timer);
      waiting.reject(closedError());
    }
    await Promise.all(this.#idle.splice(0).map((session) => this.#end(session)));
    if (this.#open.size + this.#connecting > 0) {
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
    }
  }

  #take(): Promise<Session> {
    if (this.#closed) return Promise.reject(closedError());
    // The one used last, so that those that are too many grow old and are dropped.
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle);
    if (this.#waiting.length >= POOL_WAITING_MAX) return Promise.reject(exhausted());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(exhausted());
      }, POOL_WAIT_MS_MAX);
      const waiting: Waiting = { resolve, reject, timer };
      this.#waiting.push(waiting);
      this.#connectIfNeeded();
    });
  }

  #connectIfNeeded(): void {
    const room = this.#open.size + this.#connecting < this.#size;
    if (this.#closed || !room || this.#connecting >= this.#waiting.length) return;
    this.#connecting += 1;
    openSession(this.#address, this.#observer).then(
      ({ session, server }) => {
        this.#connecting -= 1;
        this.#join(session, server);
      },
      (error: unknown) => {
        this.#connecting -= 1;
        const first = this.#waiting.shift();
        if (first) {
          clearTimeout(first.timer);
          first.reject(error);
        }
        this.#connectIfNeeded();
        this.#checkDrained();
      },
    );
  }

  #join(session: Session, server: Server): void {
    this.#meet(server);
    session.generation = this.#generation;
    session.onLost = () => this.#remove(session);
    this.#open.add(session);
    this.#lend(session);
  }

  /** Where an address has come to lead to another server, connections to the old one must not be used beside it. */
  #meet(server: Server): void {
    const before = this.#server?.identity ?? null;
    this.#server = server;
    if (before === null || server.identity === null || before === server.identity) return;
    this.#serverChanges += 1;
    this.renew();
  }

  #giveBack(session: Session): void {
    session.kept = true;
    if (!session.fit) {
      session.destroy(new Error("The connection was given back unfit."));
      this.#remove(session);
    } else if (session.generation !== this.#generation) {
      void this.#end(session);
    } else this.#lend(session);
  }

  #lend(session: Session): void {
    if (this.#closed) {
      void this.#end(session);
      return;
    }
    const first = this.#waiting.shift();
    if (first) {
      clearTimeout(first.timer);
      first.resolve(session);
    } else {
      session.kept = true;
      session.idleSinceMs = performance.now();
      this.#idle.push(session);
    }
  }

  #remove(session: Session): void {
    if (!this.#open.delete(session)) return;
    this.#onBroken();
    session.destroy(new Error("The connection was lost."));
    const place = this.#idle.indexOf(session);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#connectIfNeeded();
    this.#checkDrained();
  }

  async #end(session: Session): Promise<void> {
    await session.end();
    this.#open.delete(session);
    this.#connectIfNeeded();
    this.#checkDrained();
  }

  #dropIdle(): void {
    const oldest = performance.now() - IDLE_MS_MAX;
    while (this.#idle[0] && this.#idle[0].idleSinceMs < oldest) void this.#end(this.#idle.shift() as Session);
  }

  #checkDrained(): void {
    if (this.#open.size + this.#connecting === 0) this.#onDrained?.();
  }
}

function exhausted(): StoreError {
  const message = "All connections to the database are in use, and were so for too long.";
  return new StoreError("unavailable", "pool_exhausted", message);
}

function closedError(): StoreError {
  return new StoreError("unavailable", "closed", "The store is closed.");
}

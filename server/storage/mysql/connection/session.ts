// One connection in use: sends trips, times them, turns what goes wrong into StoreErrors, and knows whether the
// connection may be used again. Does not know what the statements mean. One trip at a time.

import type { Socket } from "node:net";
import type { Connection } from "mysql2";
import { GOODBYE_MS_MAX, LOCK_WAIT_S } from "../../storage-bounds.ts";
import type { StoreObserver } from "../../store.ts";
import { StoreError } from "../../store.ts";
import { bugOf, classify, deadlineError } from "./errors.ts";
import type { Trip } from "./trip.ts";

/** A row as the driver gives it: BIGINT as decimal text, smaller integers as numbers, VARBINARY and BLOB as bytes. */
export type Row = readonly (string | number | Buffer | null)[];
export type NamedRow = Readonly<Record<string, string | number | Buffer | null>>;

export class Session {
  isLent = false;
  /** Whether it was used or lay idle since it was opened: the server may have closed it before this lease. */
  kept = false;
  /** Whether a transaction may be open on it. */
  inTransaction = false;
  /** Trips of this lease: sent, and of those answered without an error. */
  sent = 0;
  answered = 0;
  /** Which server it was opened to, as the pool counts them. */
  generation = 0;
  /** What tells that server from any other; null: not known. */
  serverIdentity: string | null = null;
  /** Whether a session can be told not to wait for row locks: on MariaDB. */
  setsPatience = false;
  /** Whether this lease waits for row locks that others hold, where a session can be told; null: it takes none. */
  isPatient: boolean | null = null;
  /** Whether a read can leave out rows that others have locked. */
  skipsLocked = false;
  /** Whether other servers decide, too, whose transactions this one applies later: a node of Galera. */
  mayLag = false;
  /** What the server was told last; at first, by the set-up. */
  #waits = true;
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #observer: StoreObserver;
  #fail: ((error: unknown) => void) | null = null;
  #deadline: NodeJS.Timeout | undefined;
  #lost: unknown = null;
  #onLost: (() => void) | null = null;
  #commitSent = false;
  #closed = false;

  constructor(connection: Connection, socket: Socket, observer: StoreObserver) {
    this.#connection = connection;
    this.#socket = socket;
    this.#observer = observer;
    const lost = (error?: unknown) => this.#lose(error ?? new Error("The connection was closed."));
    connection.on("error", lost);
    socket.on("close", () => lost(Object.assign(new Error("Closed by the server."), { code: "ECONNRESET" })));
  }

  /** Whether the server can still be reached through it. */
  get alive(): boolean {
    return this.#lost === null;
  }

  /** Whether it can be lent again. */
  get fit(): boolean {
    return this.alive && !this.inTransaction;
  }

  /** Called once when the connection is lost, also while it is idle. */
  set onLost(listener: () => void) {
    this.#onLost = listener;
  }

  /** Begins a lease: all its trips together have until the deadline; past it the connection is destroyed. */
  begin(deadlineMs: number): void {
    this.isLent = true;
    this.isPatient = null;
    this.sent = 0;
    this.answered = 0;
    this.#commitSent = false;
    this.#deadline = setTimeout(() => this.destroy(deadlineError()), deadlineMs);
  }

  finish(): void {
    this.isLent = false;
    clearTimeout(this.#deadline);
  }

  /** The results of the statements, in order. Throws a StoreError. */
  async run(trip: Trip): Promise<unknown[]> {
    if (trip.commits) this.#commitSent = true;
    const startedMs = performance.now();
    try {
      const patience = this.#patience();
      const results = await this.#send(trip, true, patience);
      if (patience !== "") return (results as unknown[]).slice(1);
      return trip.length === 1 ? [results] : (results as unknown[]);
    } finally {
      this.#observer.statement(trip.name, (performance.now() - startedMs) / 1000);
    }
  }

  /** The rows of a trip of one statement, by column names. */
  async runNamed(trip: Trip): Promise<NamedRow[]> {
    const startedMs = performance.now();
    try {
      return (await this.#send(trip, false)) as NamedRow[];
    } finally {
      this.#observer.statement(trip.name, (performance.now() - startedMs) / 1000);
    }
  }

  /** Ends the connection at once, whatever it does; what runs on it fails. */
  destroy(cause: unknown): void {
    this.#lose(cause);
    this.#close("destroyed");
  }

  /** Says goodbye to the server. */
  async end(): Promise<void> {
    if (this.#closed) return;
    this.#lost ??= new Error("The connection was ended.");
    this.#onLost = null;
    await new Promise<void>((resolve) => {
      const patience = setTimeout(resolve, GOODBYE_MS_MAX);
      this.#connection.end(() => {
        clearTimeout(patience);
        resolve();
      });
    });
    this.#close("closed");
  }

  /** The statement that must go before a trip, so that it waits for row locks or not, as this lease does. */
  #patience(): string {
    if (!this.setsPatience || this.isPatient === null || this.isPatient === this.#waits) return "";
    this.#waits = this.isPatient;
    return `SET SESSION innodb_lock_wait_timeout = ${this.isPatient ? LOCK_WAIT_S : 0};\n`;
  }

  #send(trip: Trip, rowsAsArray: boolean, before = ""): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) => {
        this.#fail = null;
        const bug = bugOf(cause);
        if (bug) return reject(bug);
        const { error, reconnect } = classify(cause, this.#commitSent);
        if (reconnect) this.#lost ??= cause;
        reject(error);
      };
      if (this.#lost !== null) return fail(this.#lost);
      this.#fail = fail;
      this.sent += 1;
      this.#connection.query(
        { sql: before + trip.sql, values: [...trip.values], rowsAsArray },
        (error, results) => {
          // Destroyed meanwhile: the trip has failed already.
          if (this.#fail !== fail) return;
          if (error) return fail(error);
          this.#fail = null;
          this.answered += 1;
          resolve(results);
        },
      );
    });
  }

  #lose(cause: unknown): void {
    this.#lost ??= cause;
    this.#fail?.(cause);
    const onLost = this.#onLost;
    this.#onLost = null;
    onLost?.();
  }

  #close(event: "closed" | "destroyed"): void {
    if (this.#closed) return;
    this.#closed = true;
    this.finish();
    this.#connection.destroy();
    this.#socket.destroy();
    this.#observer.connection(event);
  }
}

/** Whether the error says that the connection was gone before the server had done anything for this lease. */
export function wasGone(session: Session, error: unknown): boolean {
  return (
    session.kept &&
    session.answered === 0 &&
    error instanceof StoreError &&
    // Not if COMMIT was sent with it: then nobody knows what was done.
    error.kind === "transient" &&
    error.reason === "connection_lost"
  );
}

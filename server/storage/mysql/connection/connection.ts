// One connection, and the round trips that it makes. Sends trips, one at a time, measures their time, turns failures into
// StoreErrors, and knows whether the connection may be used again. Does not know what the statements mean.

import type { Socket } from "node:net";
import type { Connection as DriverConnection } from "mysql2";
import type { Span } from "../../../core/span.ts";
import { beginStatement } from "../../statement-span.ts";
import { CLOSE_MS_MAX, LOCK_WAIT_S, PACKET_BYTES_BESIDE } from "../../storage-bounds.ts";
import type { StoreObserver } from "../../store.ts";
import { ACCESS_DENIED, bugOf, classify, deadlineError } from "./errors.ts";
import { type SqlValue, withValues } from "./sql-text.ts";

/** A row as the driver returns it: BIGINT as decimal text, smaller integers as numbers, VARBINARY and BLOB as bytes. */
export type Row = readonly (string | number | Buffer | null)[];

/** One round trip to the database: statements that are sent together, with their values. */
export class Trip {
  /** The metric label. */
  readonly name: string;
  /** Whether the user may lack the right to it. If so, the trip fails, and the connection stays fit. */
  mayBeDenied = false;
  /** About how many bytes one statement may have; see `withinBytes`. */
  statementBytesMax = Number.POSITIVE_INFINITY;
  commits = false;
  catchesUp = false;
  readonly #statements: string[] = [];
  readonly #values: (readonly SqlValue[])[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Adds a statement; returns the index of its result. */
  add(statement: string, ...values: readonly SqlValue[]): number {
    this.#statements.push(statement);
    this.#values.push(values);
    return this.#statements.length - 1;
  }

  /** Adds a read that sees all that other nodes of a cluster had committed before. To be sent by `runCaughtUp`. */
  addCaughtUp({ mayLag }: Connection, sql: string, ...values: readonly SqlValue[]): number {
    if (!mayLag) return this.add(sql, ...values);
    this.catchesUp = true;
    this.add("SET SESSION wsrep_sync_wait = 1");
    const at = this.add(sql, ...values);
    this.add("SET SESSION wsrep_sync_wait = DEFAULT");
    return at;
  }

  /** Adds COMMIT as the last statement. Until the server answers it, the outcome of the transaction is unknown. */
  addCommit(): void {
    this.add("COMMIT");
    this.commits = true;
  }

  get length(): number {
    return this.#statements.length;
  }

  get text(): string {
    let text = "";
    for (let at = 0; at < this.length; at++)
      text += at === 0 ? this.#textAt(at) : SEPARATOR + this.#textAt(at);
    return text;
  }

  /** What is sent at once, so that the server takes it: nearly always everything. `before` is a statement, or empty. */
  packets(before: string, bytesMax: number): readonly Packet[] {
    const { length } = this;
    const all = before + this.text;
    if (all.length <= bytesMax || length === 1)
      return [{ text: all, statements: length + (before === "" ? 0 : 1) }];
    const packets: Packet[] = before === "" ? [] : [{ text: before, statements: 1 }];
    for (let at = 0; at < length; at++) {
      const text = this.#textAt(at);
      const last = packets.at(-1);
      if (!last || last.text.length + text.length + SEPARATOR.length > bytesMax)
        packets.push({ text, statements: 1 });
      else
        packets[packets.length - 1] = { text: last.text + SEPARATOR + text, statements: last.statements + 1 };
    }
    return packets;
  }

  #textAt(at: number): string {
    return withValues(this.#statements[at] as string, this.#values[at] as readonly SqlValue[]);
  }
}

const SEPARATOR = ";\n";

/** Statements that are sent together, as text in one byte a character. */
type Packet = { readonly text: string; readonly statements: number };

export class Connection {
  isLent = false;
  /** Whether the connection was used or idle since it was opened: the server may have closed it before this loan. */
  kept = false;
  inTransaction = false;
  /** This loan's trips: how many were sent, and how many were answered without an error. */
  sent = 0;
  answered = 0;
  /** This loan's trips are parts of this span; unset: nobody traces them. */
  span: Span | undefined;
  /** The generation of the pool in which it was opened; the pool lends only the present one. */
  generation = 0;
  /** Identifies the server that it leads to (Server.identity); null: unknown. */
  serverIdentity: string | null = null;
  /** Whether the server supports a lock wait time-out of 0: on MariaDB. */
  setsPatience = false;
  /** Whether this loan's statements wait for row locks of others, if `setsPatience`; null: it locks no rows. */
  isPatient: boolean | null = null;
  /** Whether a read can skip rows that other transactions have locked (SKIP LOCKED). */
  skipsLocked = false;
  /** Whether other nodes also commit decisions, which this node applies later: on Galera. */
  mayLag = false;
  packetMax = Number.POSITIVE_INFINITY;
  /** Called once when the connection is lost, even while it is idle. */
  onLost: (() => void) | null = null;
  /** Whether the connection's present time-out makes it wait; the set-up makes it wait at first. */
  #waits = true;
  readonly #driver: DriverConnection;
  readonly #socket: Socket;
  readonly #observer: StoreObserver;
  #fail: ((error: unknown) => void) | null = null;
  #deadline: NodeJS.Timeout | undefined;
  #lost: unknown = null;
  #commitSent = false;
  #closed = false;

  constructor(driver: DriverConnection, socket: Socket, observer: StoreObserver) {
    this.#driver = driver;
    this.#socket = socket;
    this.#observer = observer;
    const lost = (error?: unknown) => this.#lose(error ?? new Error("The connection was closed."));
    driver.on("error", lost);
    socket.on("close", () => lost(Object.assign(new Error("Closed by the server."), { code: "ECONNRESET" })));
  }

  get id(): number {
    return this.#driver.threadId;
  }

  get alive(): boolean {
    return this.#lost === null;
  }

  get fit(): boolean {
    return this.alive && !this.inTransaction;
  }

  /** Begins a loan of the connection. When `deadlineMs` have passed before `finish`, the connection is destroyed. */
  begin(deadlineMs: number): void {
    this.isLent = true;
    this.isPatient = null;
    this.span = undefined;
    this.sent = 0;
    this.answered = 0;
    this.#commitSent = false;
    this.#deadline = setTimeout(() => this.destroy(deadlineError()), deadlineMs);
  }

  finish(): void {
    this.isLent = false;
    clearTimeout(this.#deadline);
  }

  /** Sends a trip; returns the results of its statements. Throws a StoreError, or an Error for a bug (`bugOf`). */
  run(trip: Trip): Promise<unknown[]> {
    return this.span ? this.#runTraced(trip, this.span) : this.#run(trip);
  }

  async #runTraced(trip: Trip, span: Span): Promise<unknown[]> {
    const over = beginStatement(span, this.setsPatience ? "mariadb" : "mysql", trip.name);
    try {
      const results = await this.#run(trip);
      over();
      return results;
    } catch (error) {
      over(error);
      throw error;
    }
  }

  /** One promise and no more, because each deciding transaction awaits one. */
  #run(trip: Trip): Promise<unknown[]> {
    const startedMs = performance.now();
    return new Promise((resolve, reject) => {
      const patience = this.#patience();
      const packets = trip.packets(patience, this.packetMax - PACKET_BYTES_BESIDE);
      const results: unknown[] = [];
      const over = () => this.#observer.statement(trip.name, (performance.now() - startedMs) / 1000);
      const send = (at: number) => {
        const { text, statements } = packets[at] as Packet;
        // COMMIT is the last statement.
        if (trip.commits && at === packets.length - 1) this.#commitSent = true;
        this.#send(trip, text, (error, answer) => {
          if (error) {
            over();
            reject(error);
            return;
          }
          if (statements === 1) results.push(answer);
          else for (const each of answer as unknown[]) results.push(each);
          if (at + 1 < packets.length) return send(at + 1);
          over();
          if (patience !== "") results.shift();
          resolve(results);
        });
      };
      send(0);
    });
  }

  /** Closes the connection at once. A trip that is in flight fails with `cause`. */
  destroy(cause: unknown): void {
    this.#lose(cause);
    this.#close("destroyed");
  }

  async end(): Promise<void> {
    if (this.#closed) return;
    this.#lost ??= new Error("The connection was ended.");
    this.onLost = null;
    await new Promise<void>((resolve) => {
      const patience = setTimeout(resolve, CLOSE_MS_MAX);
      this.#driver.end(() => {
        clearTimeout(patience);
        resolve();
      });
    });
    this.#close("closed");
  }

  /** What to send before a trip so that the connection waits for row locks as this loan requires; empty: it does. */
  #patience(): string {
    if (!this.setsPatience || this.isPatient === null || this.isPatient === this.#waits) return "";
    this.#waits = this.isPatient;
    return `SET SESSION innodb_lock_wait_timeout = ${this.isPatient ? LOCK_WAIT_S : 0}${SEPARATOR}`;
  }

  /** Calls `done` once, with an error or with what the driver answers. */
  #send(trip: Trip, text: string, done: (error: Error | null, answer?: unknown) => void): void {
    const fail = (cause: unknown) => {
      this.#fail = null;
      done(this.#meaningOf(cause, trip));
    };
    if (this.#lost !== null) {
      fail(this.#lost);
      return;
    }
    this.#fail = fail;
    this.sent += 1;
    this.#driver.query({ sql: text, rowsAsArray: true }, (error, answer) => {
      // The connection was lost meanwhile, so the trip has already failed.
      if (this.#fail !== fail) return;
      if (error) return fail(error);
      this.#fail = null;
      this.answered += 1;
      done(null, answer);
    });
  }

  #meaningOf(cause: unknown, trip: Trip): Error {
    const bug = bugOf(cause);
    if (bug) return bug;
    const { error, reconnect } = classify(cause, this.#commitSent);
    if (reconnect && !(trip.mayBeDenied && error.reason === ACCESS_DENIED)) this.#lost ??= cause;
    return error;
  }

  #lose(cause: unknown): void {
    this.#lost ??= cause;
    this.#fail?.(cause);
    const { onLost } = this;
    this.onLost = null;
    onLost?.();
  }

  #close(event: "closed" | "destroyed"): void {
    if (this.#closed) return;
    this.#closed = true;
    this.finish();
    this.#driver.destroy();
    this.#socket.destroy();
    this.#observer.connection(event);
  }
}

/** Sends one statement in a trip of its own; returns its rows. */
export async function query(
  connection: Connection,
  name: string,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<readonly Row[]> {
  const trip = new Trip(name);
  trip.add(sql, ...values);
  const [rows] = await connection.run(trip);
  return rows as readonly Row[];
}

export async function runCaughtUp(connection: Connection, trip: Trip): Promise<readonly unknown[]> {
  try {
    return await connection.run(trip);
  } catch (error) {
    // After a failure the connection may keep wsrep_sync_wait = 1, and a later decision on it must not wait.
    if (trip.catchesUp) connection.destroy(error);
    throw error;
  }
}

export function rowsOf(result: unknown): readonly Row[] {
  return result as readonly Row[];
}

export function writtenBy(result: unknown): number {
  return (result as { readonly affectedRows: number }).affectedRows;
}

// What the SQLite store reads for display and for finding locks. Takes no transaction and writes nothing.

import type { Claim } from "../core/claim.ts";
import type { Lock } from "../core/lock.ts";
import { STATE_CODES } from "./codes.ts";
import { prefixRange } from "./name-range.ts";
import { bytesOf } from "./row-values.ts";
import { claimOf, lockOf, numberOrNull, text } from "./sqlite-rows.ts";
import type { SqliteStatements } from "./sqlite-statements.ts";
import type { BusyLock, LockView, QueuePlace, RegisteredReplica, Store } from "./store.ts";

export class SqliteReads {
  readonly #statements: SqliteStatements;

  constructor(statements: SqliteStatements) {
    this.#statements = statements;
  }

  find(names: readonly string[]): Map<string, bigint> {
    const ids = new Map<string, bigint>();
    for (const name of names) {
      const row = this.#statements.get("lock_id", bytesOf(name));
      if (row) ids.set(name, row.id as bigint);
    }
    return ids;
  }

  queue(lockId: bigint): QueuePlace[] {
    return this.#statements.all("queue", lockId).map((row) => ({
      ticketNumber: row.ticket_number as bigint,
      permits: Number(row.permits),
    }));
  }

  /** In order of ticket numbers, which is the order in which they were granted. */
  holders(lockId: bigint, max: number): Claim[] {
    return this.#statements.all("claims_in_state", lockId, STATE_CODES.held, max).map(claimOf);
  }

  list(query: Parameters<Store["list"]>[0]): LockView[] {
    const { from, below } = prefixRange(query.prefix);
    const after = bytesOf(query.afterName ?? "");
    const rows = this.#statements.all(query.busyOnly ? "list_busy" : "list", from, below, after, query.max);
    return rows.map((row) => this.#view(lockOf(row), query.shown));
  }

  show(name: string, shown: number): LockView | null {
    const row = this.#statements.get("show", bytesOf(name));
    return row ? this.#view(lockOf(row), shown) : null;
  }

  busyLocks(max: number): BusyLock[] {
    return this.#statements.all("busy_locks", max).map((row) => ({
      lock: lockOf(row),
      oldestWaiterSinceUs: numberOrNull(row.oldest_waiter_since),
    }));
  }

  replicas(max: number): RegisteredReplica[] {
    return this.#statements.all("replicas", max).map((row) => ({
      id: row.id as bigint,
      address: text(row.address),
      version: text(row.version),
      sinceUs: Number(row.started_at),
      deadlineUs: Number(row.deadline),
    }));
  }

  #view(lock: Lock, shown: number): LockView {
    const first = (state: number) =>
      this.#statements.all("claims_in_state", lock.id, state, shown).map(claimOf);
    return {
      lock,
      // Most locks of a long listing are idle: their counters say that there is nothing to read.
      holders: shown > 0 && lock.holders > 0 ? first(STATE_CODES.held) : [],
      waiters: shown > 0 && lock.waiting > 0 ? first(STATE_CODES.waiting) : [],
    };
  }
}

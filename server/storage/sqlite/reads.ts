// What the SQLite store reads for display and for finding locks. Takes no transaction and writes nothing.

import type { Claim } from "../../core/claim.ts";
import type { Lock } from "../../core/lock.ts";
import { STATE_CODES } from "../rows/codes.ts";
import { rangeAfter } from "../rows/name-range.ts";
import { bytesOf } from "../rows/values.ts";
import { LIST_ROWS_MAX, LIST_SCAN_MAX } from "../storage-bounds.ts";
import type { BusyLock, LockQuery, LockView, QueuePlace, RegisteredReplica, WaitedLock } from "../store.ts";
import { claimFromRow, lockFromRow, numberOrNull, textOf } from "./rows.ts";
import type { SqliteStatements } from "./statements.ts";

const LISTS = { all: "list", busy: "list_busy", limited: "list_limited" } as const;

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
    return this.#statements.all("claims_in_state", lockId, STATE_CODES.held, max).map(claimFromRow);
  }

  list({ prefix, afterName, max, which }: LockQuery): { locks: Lock[]; next: string | null } {
    const { from, below } = rangeAfter(prefix, afterName);
    const rowsMax = Math.min(max, LIST_ROWS_MAX);
    // Few of many rows may be wanted, and nothing else of this process comes in between: not too many are looked at.
    const last =
      which === "all" ? undefined : this.#statements.get("list_last", from, below, LIST_SCAN_MAX - 1);
    const lastName = last ? textOf(last.name) : null;
    const upTo = lastName === null ? below : rangeAfter("", lastName).from;
    const locks = this.#statements.all(LISTS[which], from, upTo, rowsMax).map(lockFromRow);
    return { locks, next: locks.length === rowsMax ? (locks.at(-1)?.name ?? null) : lastName };
  }

  waitedLocks(prefix: string, order: "longest_wait" | "most_waiters", max: number): WaitedLock[] {
    const { from, below } = rangeAfter(prefix, null);
    return this.#statements.all(order, from, below, max).map((row) => ({
      id: row.id as bigint,
      holders: Number(row.holders),
      waiting: Number(row.waiting),
    }));
  }

  views(ids: readonly bigint[], shown: number): LockView[] {
    return ids.flatMap((id) => {
      const row = this.#statements.get("lock", id);
      return row ? this.#view(lockFromRow(row), shown) : [];
    });
  }

  view(name: string, shown: number): LockView | null {
    const row = this.#statements.get("lock_by_name", bytesOf(name));
    return row ? this.#view(lockFromRow(row), shown) : null;
  }

  busyLocks(max: number): BusyLock[] {
    return this.#statements.all("busy_locks", max).map((row) => ({
      lock: lockFromRow(row),
      oldestWaiterSinceUs: numberOrNull(row.oldest_waiter_since),
    }));
  }

  replicas(max: number): RegisteredReplica[] {
    return this.#statements.all("replicas", max).map((row) => ({
      id: row.id as bigint,
      address: textOf(row.address),
      version: textOf(row.version),
      sinceUs: Number(row.started_at),
      deadlineUs: Number(row.deadline),
    }));
  }

  #view(lock: Lock, shown: number): LockView {
    const first = (state: number) =>
      this.#statements.all("claims_in_state", lock.id, state, shown).map(claimFromRow);
    return {
      lock,
      // Most locks of a long listing are idle: their counters say that there is nothing to read.
      holders: shown > 0 && lock.holders > 0 ? first(STATE_CODES.held) : [],
      waiters: shown > 0 && lock.waiting > 0 ? first(STATE_CODES.waiting) : [],
    };
  }
}

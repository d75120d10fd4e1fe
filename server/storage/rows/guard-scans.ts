// Steps of three scans over guard rows: for locks that have something due, for those that were decided about since a
// time, and for idle ones.

import { IDLE_SCAN_MAX } from "../storage-bounds.ts";
import type { DecidedPage } from "../store.ts";
import { bigintOf, numberOrNull, type Row, textOf } from "./from-rows.ts";

/** A lock whose bound has passed, and its exact bound. */
export interface PassedBound {
  readonly id: bigint;
  /** null: the lock has no live claims. */
  readonly atUs: number | null;
}

/** A row of the id of a lock and its exact bound. */
export function boundFromRow([id, at]: Row): PassedBound {
  return { id: bigintOf(id), atUs: numberOrNull(at ?? null) };
}

/**
 * Whether the exact bound has not passed. `next_deadline` may be earlier than what it bounds: then the lock is not due,
 * and the store writes the exact bound.
 */
export function isStale({ atUs }: PassedBound, nowUs: number): boolean {
  return atUs === null || atUs > nowUs;
}

/** Returns the locks that are due, and where the next step begins. `bounds`: the first `max`, in order. */
export function dueStep(
  bounds: readonly PassedBound[],
  nowUs: number,
  max: number,
): { lockIds: bigint[]; next: bigint | null } {
  const lockIds = bounds.filter((bound) => !isStale(bound, nowUs)).map(({ id }) => id);
  return { lockIds, next: bounds.length === max ? (bounds.at(-1) as PassedBound).id : null };
}

/** What is read of each guard row of a page. */
export const DECIDED_LIST = "id, name, revision, holders, waiting, decided_at";

/** Cuts one page from the rows of two branches, each of which must have read up to `max`, in order. */
export function pageOf(rows: readonly Row[], max: number): Pick<DecidedPage, "locks" | "next"> {
  const decided = rows.map(([id, name, revision, holders, waiting, decidedAt]) => ({
    atUs: Number(decidedAt),
    lock: {
      id: bigintOf(id),
      name: textOf(name),
      revision: bigintOf(revision),
      holders: Number(holders),
      waiting: Number(waiting),
    },
  }));
  const page = decided.sort((a, b) => a.atUs - b.atUs || (a.lock.id < b.lock.id ? -1 : 1)).slice(0, max);
  const last = page.length === max ? page.at(-1) : undefined;
  return {
    locks: page.map(({ lock }) => lock),
    next: last ? { atUs: last.atUs, afterLockId: last.lock.id } : null,
  };
}

/** A guard row without recent decisions. */
export interface OldRow {
  readonly id: bigint;
  readonly decidedAtUs: number;
  /** Whether nothing needs the row. */
  readonly isIdle: boolean;
}

type Position = Pick<OldRow, "decidedAtUs" | "id">;

const START: Position = { decidedAtUs: -1, id: 0n };

/**
 * Walks over old guard rows in search of idle ones, step by step and in cycles. Most old rows may have to stay because
 * they remember something, so no step may read all of those again. Each store has one IdleScan.
 */
export class IdleScan {
  #after = START;

  /** The next step must read the rows behind this position, in order of time and id, at most IDLE_SCAN_MAX. */
  get after(): Position {
    return this.#after;
  }

  /** Takes the rows of a step; returns at most `max` idle ones. The next step reads on from the last row taken. */
  take<Row extends OldRow>(rows: readonly Row[], max: number): Row[] {
    const idle: Row[] = [];
    for (const row of rows) {
      if (idle.length === max) return idle;
      this.#after = row;
      if (row.isIdle) idle.push(row);
    }
    if (rows.length < IDLE_SCAN_MAX) this.#after = START;
    return idle;
  }
}

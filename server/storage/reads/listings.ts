// Reads for display: locks under a prefix, locks with their holders and waiters, and single queues. A result may be outdated
// when it is used, so code that acts on it must decide again.

import { type Claim, HELD_PLACE, inOrder, keyText, placeOf } from "../../core/claim.ts";
import type { Counters } from "../../core/lock.ts";
import { byOrder } from "../../core/queue-rules.ts";
import {
  CLAIM_LIST,
  GUARD_LIST,
  HAS_HOLDER,
  HOLDER_LIST,
  LOCK_LIST,
  POOL_WAITER_LIST,
  RECORD_LIST,
} from "../rows/columns.ts";
import {
  bigintOf,
  bigintOrNull,
  claimFromRow,
  claimKeyFromRow,
  countersFromRow,
  hasRecord,
  holderFromRow,
  poolWaiterFromRow,
  type Row,
  recordsOf,
  textOf,
} from "../rows/from-rows.ts";
import { HOLDERS_IN_ORDER, WAITERS_IN_ORDER, waitingPlaceIn } from "../rows/placement.ts";
import { bytesOf, rangeAfter } from "../rows/values.ts";
import { LIST_ROWS_MAX } from "../storage-bounds.ts";
import type { LockView, QueuePlace, Store } from "../store.ts";
import { answers, CLOCK, type Query, type Runner, rowsOf, type Steps, timed } from "./steps.ts";

const CLAIMS = `SELECT ${CLAIM_LIST} FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE c.lock_id = :lockId`;
const HOLDERS = `${CLAIMS} AND ${HOLDERS_IN_ORDER} LIMIT :max`;
const WAITERS = `${CLAIMS} AND ${WAITERS_IN_ORDER} LIMIT :max`;
/** Where shares are fair, the first waiter of each group; where claims have head starts, all. */
const FRONT = `SELECT ${CLAIM_LIST} FROM rowlock_claim c FORCE INDEX (rowlock_claim_turn)
  WHERE c.lock_id = :lockId AND c.turn >= 0 ORDER BY c.turn LIMIT :max`;
const HOLDERS_AFTER = `${CLAIMS} AND c.ticket_number > :after AND ${HOLDERS_IN_ORDER} LIMIT :max`;
const WAITERS_AFTER = `${CLAIMS} AND c.place > ${waitingPlaceIn(":after")} AND ${WAITERS_IN_ORDER} LIMIT :max`;
const QUEUE = `SELECT c.lock_id, c.ticket_number, c.permits, c.turn, c.pool_id FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE c.lock_id = :lockId AND ${WAITERS_IN_ORDER}`;
const POOL_QUEUE = `SELECT ${POOL_WAITER_LIST} FROM rowlock_claim c FORCE INDEX (rowlock_claim_pool)
  WHERE c.pool_id = :lockId ORDER BY c.pool_rank`;
const GUARD = `SELECT ${LOCK_LIST} FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id = :lockId`;
const FIRST_HOLDER = `SELECT ${HOLDER_LIST} FROM rowlock_lock l FORCE INDEX (PRIMARY)
  WHERE l.id = :lockId AND ${HAS_HOLDER}`;
const FIRST_HOLDER_AFTER = `${FIRST_HOLDER} AND l.holder_ticket_number > :after`;
const BY_NAME = `SELECT ${GUARD_LIST} FROM rowlock_lock l WHERE l.name = :name`;
const BY_ID = `SELECT ${GUARD_LIST} FROM rowlock_lock l WHERE l.id IN (:ids)`;
const RECORDS = `SELECT ${RECORD_LIST} FROM rowlock_record FORCE INDEX (PRIMARY) WHERE lock_id IN (:ids)`;

const IN_RANGE = "rowlock_lock l FORCE INDEX (rowlock_lock_name) WHERE l.name >= :from AND l.name < :below";
const listOf = (which: string) => `SELECT ${LOCK_LIST} FROM ${IN_RANGE} ${which} ORDER BY l.name LIMIT :max`;
const LISTS = {
  all: listOf(""),
  busy: listOf("AND (l.holders > 0 OR l.waiting > 0)"),
  limited: listOf(
    "AND (l.limit_value IS NOT NULL OR l.rate_permits IS NOT NULL OR l.queue_rules IS NOT NULL)",
  ),
};
const LAST_SCANNED = `SELECT l.name FROM ${IN_RANGE} ORDER BY l.name LIMIT 1 OFFSET :skipped`;
// Starts from the waiting claims, because most guard rows may be idle.
const waitedLocks = (order: string) => `SELECT l.id, l.holders, l.waiting
  FROM (SELECT lock_id, MIN(requested_at) AS since FROM rowlock_claim WHERE state = 1 GROUP BY lock_id) f
  JOIN rowlock_lock l ON l.id = f.lock_id
  WHERE l.name >= :from AND l.name < :below ORDER BY ${order}, l.id LIMIT :max`;
const WAITED_LOCKS = {
  longest_wait: waitedLocks("f.since"),
  most_waiters: waitedLocks("l.waiting + l.entering DESC"),
};

export function listings(on: Runner) {
  const queueBy = async (sql: string, lockId: bigint, placeOf: (row: Row) => QueuePlace) => {
    const lists: Query[][] = [[[sql, { lockId }]], [[GUARD, { lockId }]], [CLOCK]];
    const [rows = [], [guard] = [], clock] = await on.read(answers({ name: "queue", lists }));
    return {
      nowUs: Number(clock?.[0]?.[0]),
      lock: guard ? countersFromRow(guard) : null,
      places: rows.map(placeOf),
    };
  };
  return {
    queue: (lockId) => queueBy(QUEUE, lockId, queuePlaceOf),

    poolQueue: (poolId) => queueBy(POOL_QUEUE, poolId, poolWaiterFromRow),

    async holders(lockId, max) {
      const { nowUs, rows } = await on.read(
        timed("holders", [FIRST_HOLDER, { lockId }], [HOLDERS, { lockId, max }]),
      );
      const held = claimsOf(rows).filter(({ state }) => state === "held");
      return { nowUs, claims: held.slice(0, max) };
    },

    async liveClaimsOf(lockId, after, max) {
      const values = { lockId, after, max };
      const first = { lockId, after };
      const rows = await on.read(
        rowsOf("live_claims", [FIRST_HOLDER_AFTER, first], [HOLDERS_AFTER, values], [WAITERS_AFTER, values]),
      );
      return claimsOf(rows).slice(0, max);
    },

    async list({ prefix, afterName, max, which }) {
      const range = rangeAfter(prefix, afterName);
      const rowsMax = Math.min(max, LIST_ROWS_MAX);
      function* step(): Steps<{ rows: readonly Row[]; lastName: string | null }> {
        // Few of many rows may match.
        const isLong = which !== "all" && Number.isFinite(on.scanMax);
        const scanned = { ...range, skipped: on.scanMax - 1 };
        const [last] = isLong ? yield* rowsOf("list_last", [LAST_SCANNED, scanned]) : [];
        const lastName = last ? textOf(last[0]) : null;
        const below = lastName === null ? range.below : rangeAfter("", lastName).from;
        return { rows: yield* rowsOf("list", [LISTS[which], { ...range, below, max: rowsMax }]), lastName };
      }
      const { rows, lastName } = await on.read(step());
      const locks = rows.map((row) => ({ ...countersFromRow(row), hasRecord: hasRecord(row) }));
      return { locks, next: locks.length === rowsMax ? (locks.at(-1)?.name ?? null) : lastName };
    },

    async waitedLocks(prefix, order, max) {
      const values = { ...rangeAfter(prefix, null), max };
      const rows = await on.read(rowsOf("waited_locks", [WAITED_LOCKS[order], values]));
      return rows.map(([id, holders, waiting]) => ({
        id: bigintOf(id),
        holders: Number(holders),
        waiting: Number(waiting),
      }));
    },

    async views(ids, shown) {
      if (ids.length === 0) return [];
      const found = await on.snapshot(() => views("views", [BY_ID, { ids: [...ids] }], shown));
      const byId = new Map(found.map((view) => [view.lock.id, view]));
      return ids.flatMap((id) => byId.get(id) ?? []);
    },

    async view(name, shown) {
      // Whoever compares and sets must not read what is older than what he has seen elsewhere.
      const query: Query = [BY_NAME, { name: bytesOf(name) }];
      const [view] = await on.snapshot(() => views("view", query, shown), { isCaughtUp: true });
      return view ?? null;
    },
  } satisfies Partial<Store>;
}

function queuePlaceOf(row: Row): QueuePlace {
  const place = { ...claimKeyFromRow(row), permits: Number(row[2]) };
  const turn = bigintOrNull(row[3]);
  const groupId = bigintOrNull(row[4]);
  return turn === null && groupId === null ? place : { ...place, share: { turn, groupId } };
}

/** In order, which a union does not keep. */
function claimsOf(rows: readonly Row[]): Claim[] {
  return inOrder(rows.map(claimFromRow));
}

function* views(name: string, query: Query, shown: number): Steps<LockView[]> {
  const rows = yield* rowsOf(name, query);
  const recorded = rows.filter(hasRecord).map(([id]) => bigintOf(id));
  const records =
    recorded.length === 0
      ? null
      : recordsOf(recorded, yield* rowsOf("shown_records", [RECORDS, { ids: recorded }]));
  const locks = rows
    .map(countersFromRow)
    .map((guard) => ({ ...guard, record: records?.get(guard.id) ?? null }));
  // Most locks of a long listing are idle: their counters show that there is nothing to read.
  const queries: Query[] = [];
  for (const { id: lockId, firstHolder, holders, waiting, sharedBy } of shown > 0 ? locks : []) {
    if (holders > (firstHolder === null ? 0 : 1)) queries.push([HOLDERS, { lockId, max: shown }]);
    if (waiting > 0) queries.push([WAITERS, { lockId, max: shown }]);
    // A short queue has been read whole.
    if (sharedBy && waiting > shown) queries.push([FRONT, { lockId, max: shown }]);
  }
  const further = (yield* rowsOf("shown_claims", ...queries)).map(claimFromRow);
  const first = shown > 0 ? rows.flatMap((row) => holderFromRow(row) ?? []) : [];
  const byLock = Map.groupBy(inOrder([...first, ...further]), ({ lockId }) => lockId);
  return locks.map((lock) => {
    const own = byLock.get(lock.id) ?? [];
    return {
      lock,
      holders: own.filter(({ state }) => state === "held").slice(0, shown),
      waiters: waitersOf(lock, own).slice(0, shown),
    };
  });
}

/** Those that have the lock, and wait at a pool; then its queue, in its order. */
function waitersOf({ sharedBy }: Counters, claims: readonly Claim[]): readonly Claim[] {
  const waiters = claims.filter(({ state }) => state === "waiting");
  if (!sharedBy) return waiters;
  const isInQueue = (claim: Claim) => (placeOf(claim) === HELD_PLACE ? 0 : 1);
  const read = new Map(waiters.map((claim) => [keyText(claim), claim]));
  return [...read.values()].sort((a, b) => isInQueue(a) - isInQueue(b) || byOrder(a, b));
}

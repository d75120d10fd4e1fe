// Reads for display: locks under a prefix, locks with their holders and waiters, single queues, and what a server knows of
// the others. A result may be outdated when it is used, so code that acts on it must decide again.

import { type Claim, inOrder } from "../../core/claim.ts";
import type { Lock } from "../../core/lock.ts";
import {
  CLAIM_LIST,
  CLAIMS_OF_PRINCIPALS,
  GUARD_LIST,
  HAS_HOLDER,
  HOLDER_LIST,
  LOCK_LIST,
  RECORD_LIST,
  RECORDS_OF_PRINCIPALS,
} from "../rows/columns.ts";
import { DECIDED_LIST, pageOf } from "../rows/decided-order.ts";
import {
  bigintOf,
  claimFromRow,
  claimsOfPrincipalFromRow,
  countersFromRow,
  guardFromRow,
  hasRecord,
  holderFromRow,
  placeFromRow,
  type Row,
  recordsOf,
  recordsOfPrincipalFromRow,
  replicaFromRow,
  textOf,
  waitedLockFromRow,
} from "../rows/from-rows.ts";
import { HOLDERS_IN_ORDER, WAITERS_IN_ORDER, waitingPlaceIn } from "../rows/places.ts";
import { bytesOf, rangeAfter } from "../rows/values.ts";
import { LIST_ROWS_MAX } from "../storage-bounds.ts";
import type { LockView, Store } from "../store.ts";
import { type Query, type Runner, rowsOf, type Steps, timed } from "./steps.ts";

const CLAIMS = `SELECT ${CLAIM_LIST} FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE c.lock_id = :lockId`;
const HOLDERS = `${CLAIMS} AND ${HOLDERS_IN_ORDER} LIMIT :max`;
const WAITERS = `${CLAIMS} AND ${WAITERS_IN_ORDER} LIMIT :max`;
const HOLDERS_AFTER = `${CLAIMS} AND c.ticket_number > :after AND ${HOLDERS_IN_ORDER} LIMIT :max`;
const WAITERS_AFTER = `${CLAIMS} AND c.place > ${waitingPlaceIn(":after")} AND ${WAITERS_IN_ORDER} LIMIT :max`;
const QUEUE = `SELECT c.ticket_number, c.permits FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE c.lock_id = :lockId AND ${WAITERS_IN_ORDER}`;
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
  limited: listOf("AND l.limit_value IS NOT NULL"),
};
const LAST_SCANNED = `SELECT l.name FROM ${IN_RANGE} ORDER BY l.name LIMIT 1 OFFSET :skipped`;
// Starts from the waiting claims, because most guard rows may be idle.
const waitedLocks = (order: string) => `SELECT l.id, l.holders, l.waiting
  FROM (SELECT lock_id, MIN(requested_at) AS since FROM rowlock_claim WHERE state = 1 GROUP BY lock_id) f
  JOIN rowlock_lock l ON l.id = f.lock_id
  WHERE l.name >= :from AND l.name < :below ORDER BY ${order}, l.id LIMIT :max`;
const WAITED_LOCKS = { longest_wait: waitedLocks("f.since"), most_waiters: waitedLocks("l.waiting DESC") };
const REPLICAS = `SELECT id, address, version, secret, started_at, rules_revision, level, deadline
  FROM rowlock_replica ORDER BY started_at, id LIMIT :max`;

const FACTS = "SELECT :now, epoch FROM rowlock_meta WHERE id = 1";
// Each of the two is one range of the index, so idle locks cost nothing.
const DECIDED = `SELECT ${DECIDED_LIST} FROM rowlock_lock FORCE INDEX (rowlock_lock_idle)`;
const DECIDED_AT = `${DECIDED} WHERE decided_at = :atUs AND id > :afterLockId ORDER BY id LIMIT :max`;
const DECIDED_AFTER = `${DECIDED} WHERE decided_at > :atUs AND decided_at <= COALESCE(:untilUs, :now)
  ORDER BY decided_at, id LIMIT :max`;

export function listings(on: Runner) {
  return {
    async queue(lockId) {
      const { nowUs, rows } = await on.read(timed("queue", [QUEUE, { lockId }]));
      return { nowUs, places: rows.map(placeFromRow) };
    },

    async holders(lockId, max) {
      const { nowUs, rows } = await on.read(
        timed("holders", [FIRST_HOLDER, { lockId }], [HOLDERS, { lockId, max }]),
      );
      return { nowUs, claims: claimsOf(rows).slice(0, max) };
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
      const locks = rows.map(guardFromRow);
      return { locks, next: locks.length === rowsMax ? (locks.at(-1)?.name ?? null) : lastName };
    },

    async waitedLocks(prefix, order, max) {
      const values = { ...rangeAfter(prefix, null), max };
      return (await on.read(rowsOf("waited_locks", [WAITED_LOCKS[order], values]))).map(waitedLockFromRow);
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

    async decidedSince({ atUs, afterLockId }, untilUs, max) {
      // A node of Galera first applies what the cluster committed before: otherwise rows could appear later with an earlier
      // time, and no read would find them.
      const queries: Query[] = [
        [DECIDED_AT, { atUs, afterLockId, max }],
        [DECIDED_AFTER, { atUs, untilUs, max }],
      ];
      function* step(): Steps<{ meta: Row; rows: readonly Row[] }> {
        const [facts, rows = []] = yield {
          name: "decided_since",
          asks: [[[FACTS]], queries],
          isCaughtUp: true,
        };
        const [meta] = facts ?? [];
        if (!meta) throw new Error("The row of rowlock_meta is missing.");
        return { meta, rows };
      }
      const { meta, rows } = await on.read(step());
      return { nowUs: Number(meta[0]), epoch: bigintOf(meta[1]), ...pageOf(rows, max) };
    },

    async claimsOfPrincipals() {
      const rows = await on.read(rowsOf("claims_of_principals", [CLAIMS_OF_PRINCIPALS]));
      return rows.map(claimsOfPrincipalFromRow).filter(({ principal }) => principal !== "");
    },

    async recordsOfPrincipals() {
      const rows = await on.read(rowsOf("records_of_principals", [RECORDS_OF_PRINCIPALS]));
      return rows.map(recordsOfPrincipalFromRow);
    },

    async replicas(max) {
      const { nowUs, rows } = await on.read(timed("replicas", [REPLICAS, { max }]));
      return { nowUs, replicas: rows.map(replicaFromRow) };
    },
  } satisfies Partial<Store>;
}

/** In order, which a union does not keep. */
function claimsOf(rows: readonly Row[]): Claim[] {
  return inOrder(rows.map(claimFromRow));
}

/** Reads locks with their first holders and waiters. */
function* views(name: string, query: Query, shown: number): Steps<LockView[]> {
  const rows = yield* rowsOf(name, query);
  const locks = yield* withRecords(rows);
  // Most locks of a long listing are idle: their counters show that there is nothing to read.
  const queries = locks.flatMap(({ id: lockId, firstHolder, holders, waiting }): Query[] => [
    ...(shown > 0 && holders > (firstHolder === null ? 0 : 1)
      ? [[HOLDERS, { lockId, max: shown }] as const]
      : []),
    ...(shown > 0 && waiting > 0 ? [[WAITERS, { lockId, max: shown }] as const] : []),
  ]);
  const further = (yield* rowsOf("shown_claims", ...queries)).map(claimFromRow);
  const first = shown > 0 ? rows.flatMap((row) => holderFromRow(row) ?? []) : [];
  const byLock = Map.groupBy(inOrder([...first, ...further]), ({ lockId }) => lockId);
  return locks.map((lock) => {
    const own = byLock.get(lock.id) ?? [];
    return {
      lock,
      holders: own.filter(({ state }) => state === "held").slice(0, shown),
      waiters: own.filter(({ state }) => state === "waiting"),
    };
  });
}

/** Returns the locks of these guard rows, with their records. */
function* withRecords(rows: readonly Row[]): Steps<Lock[]> {
  const ids = rows.filter(hasRecord).map(([id]) => bigintOf(id));
  const guards = rows.map(countersFromRow);
  if (ids.length === 0) return guards.map((guard) => ({ ...guard, record: null }));
  const records = recordsOf(ids, yield* rowsOf("shown_records", [RECORDS, { ids }]));
  return guards.map((guard) => ({ ...guard, record: records.get(guard.id) ?? null }));
}

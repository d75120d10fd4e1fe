// Deletes ended claims, their request ids and changes when their time is over, and says from when on the history is
// complete. Each step goes along an index.

import { setImmediate as otherWork } from "node:timers/promises";
import { partsOf } from "../../core/bounds.ts";
import { isServerMade } from "../../core/claim.ts";
import { bigintOf, type Row, textOf } from "../rows/from-rows.ts";
import { bytesOf, requestKeyOf } from "../rows/values.ts";
import { NAMES_MAX } from "../storage-bounds.ts";
import type { EndedPosition, Store } from "../store.ts";
import { BY_END, byEnd, Classes, HIGHEST } from "./history.ts";
import { type Query, type Runner, rowsOf, type Steps, timed, written } from "./steps.ts";

const KEYS = `SELECT kept_for, ended_at, lock_id, ticket_number FROM ${BY_END} WHERE h.kept_for = :keptForS`;
const OLDEST = "ORDER BY ended_at, lock_id, ticket_number LIMIT :max";
const OVERDUE = `${KEYS} AND h.ended_at <= LEAST(:untilUs, :now) - :keptForUs ${OLDEST}`;
const OLD = `${KEYS} AND h.ended_at < :untilUs ${OLDEST}`;
const FIRST = `${KEYS} ${OLDEST}`;
const ENDED_FROM = `${KEYS} AND h.ended_at >= :fromUs AND h.ended_at <= :untilUs ${OLDEST}`;
const REQUESTS = `SELECT h.request_id, h.lock_id, h.ticket_number FROM ${BY_END} WHERE h.kept_for = :keptForS`;
const REQUESTS_BETWEEN = `${REQUESTS} AND h.ended_at BETWEEN :fromUs AND :untilUs`;
// A later claim may have the request id by now.
const FORGET = `DELETE r FROM rowlock_request r FORCE INDEX (PRIMARY)
  WHERE r.request_key IN (:keys) AND (r.lock_id, r.ticket_number) IN (:claims)`;
// One range of the primary key, to which no server adds.
const UP_TO = "(h.ended_at, h.lock_id, h.ticket_number) <= (:endedAtUs, :lockId, :ticketNumber)";
const REQUESTS_UP_TO = `${REQUESTS} AND ${UP_TO}`;
// The join finds nothing, as no secret is a key. Without a second table MySQL (9.7) reads the whole index for a DELETE, and
// waits for rows that others are adding far behind the range.
const REMOVE = `DELETE h FROM ${BY_END}
  LEFT JOIN rowlock_request r FORCE INDEX (PRIMARY) ON r.request_key = h.secret AND r.lock_id = h.lock_id
  WHERE h.kept_for = :keptForS AND ${UP_TO}`;

const CHANGES = "rowlock_change c FORCE INDEX (PRIMARY)";
const CHANGES_UP_TO = "(c.changed_at, c.id) <= (:atUs, :id)";
const OLD_CHANGES = `SELECT changed_at, id FROM ${CHANGES} WHERE ${CHANGES_UP_TO} ORDER BY changed_at, id LIMIT :max`;
const SURPLUS = `SELECT changed_at, id FROM ${CHANGES} ORDER BY changed_at DESC, id DESC LIMIT 1 OFFSET :keptMax`;
const REMOVE_CHANGES = `DELETE c FROM ${CHANGES} WHERE ${CHANGES_UP_TO}`;

const KEPT_BY = "SELECT kept_by FROM rowlock_meta WHERE id = 1";
const NOTE_KEPT_BY = `UPDATE rowlock_meta SET kept_by = :settings, claims_from = GREATEST(claims_from, :now),
  changes_from = GREATEST(changes_from, :now) WHERE id = 1`;
const HISTORY_FROM = `SELECT GREATEST(claims_from, failed_over_at), GREATEST(changes_from, failed_over_at)
  FROM rowlock_meta WHERE id = 1`;
const RAISE_CLAIMS_FROM = "UPDATE rowlock_meta SET claims_from = GREATEST(claims_from, :fromUs) WHERE id = 1";
const RAISE_CHANGES_FROM =
  "UPDATE rowlock_meta SET changes_from = GREATEST(changes_from, :fromUs) WHERE id = 1";

const S = 1_000_000;

export function cleaning(on: Runner) {
  const classes = new Classes();

  /** Deletes the oldest of the claims that the queries find, in slices between which this process does its other work. */
  async function remove(
    queryOf: (keptForS: number, max: number) => Query,
    max: number,
    raisesFrom = false,
  ): Promise<number> {
    for (let removed = 0; ; await otherWork()) {
      const slice = Math.min(max - removed, on.sliceMax);
      const ofSlice = (keptForS: number) => queryOf(keptForS, slice);
      const removedNow = await on.write(removeOldest(classes, ofSlice, slice, raisesFrom));
      on.removedEnded(removedNow);
      removed += removedNow;
      if (removedNow < slice || removed === max) return removed;
    }
  }

  return {
    purgeClaims: (untilUs, max) =>
      remove((keptForS, max) => [OVERDUE, { keptForS, untilUs, keptForUs: keptForS * S, max }], max),

    trimHistory: (untilUs, max) => remove((keptForS, max) => [OLD, { keptForS, untilUs, max }], max, true),

    // Fewer than are asked for, if this process does nothing else meanwhile.
    forgetRequests: (fromUs, untilUs, max) =>
      on.write(forgetOldest(classes, fromUs, untilUs, Math.min(max, on.sliceMax))),

    async purgeChanges(untilUs, keptMax, max) {
      // Counts them only if there may be that many.
      const isSurplus = (await on.count("rowlock_change")) > keptMax;
      return await on.write(removeChanges(untilUs, isSurplus ? keptMax : null, max));
    },

    async historyStats() {
      const queries = (await on.read(classes.read())).map((keptForS): Query => [FIRST, { keptForS, max: 1 }]);
      const { nowUs, rows } = await on.read(timed("oldest_ended", ...queries));
      const overdueUs = rows.map(keyFromRow).map((key) => nowUs - key.keptForS * S - key.endedAtUs);
      return { rows: await on.count("rowlock_history"), overdueUs: Math.max(0, ...overdueUs) };
    },

    noteKeptBy: (settings) => on.write(noteKeptBy(bytesOf(settings))),

    async historyFrom() {
      const [[claims, changes] = []] = await on.read(rowsOf("history_from", [HISTORY_FROM]));
      return { claimsUs: Number(claims), changesUs: Number(changes) };
    },
  } satisfies Partial<Store>;
}

/** A row of KEYS. */
function keyFromRow([keptFor, endedAt, lockId, ticketNumber]: Row): EndedPosition & { keptForS: number } {
  return {
    keptForS: Number(keptFor),
    endedAtUs: Number(endedAt),
    lockId: bigintOf(lockId),
    ticketNumber: bigintOf(ticketNumber),
  };
}

function* removeOldest(
  classes: Classes,
  queryOf: (keptForS: number) => Query,
  max: number,
  raisesFrom: boolean,
): Steps<number> {
  const keys = (yield* classes.rows("ended_keys", queryOf)).map(keyFromRow);
  const oldest = keys.sort(byEnd).slice(0, max);
  const last = oldest.at(-1);
  // First, so that a server that dies between the two has not promised what is gone.
  if (raisesFrom && last)
    yield* written("raise_claims_from", RAISE_CLAIMS_FROM, { fromUs: last.endedAtUs + 1 });
  const lastOfClasses = new Map(oldest.map((key) => [key.keptForS, key]));
  for (const upTo of lastOfClasses.values()) {
    yield* forget([REQUESTS_UP_TO, { ...upTo }]);
    yield* written("purge_claims", REMOVE, { ...upTo });
  }
  return oldest.length;
}

function* forgetOldest(classes: Classes, fromUs: number, untilUs: number, max: number): Steps<number | null> {
  const ofClass = (keptForS: number): Query => [ENDED_FROM, { keptForS, fromUs, untilUs, max }];
  const rows = yield* classes.rows("ended_keys", ofClass);
  const keys = rows.map(keyFromRow).sort(byEnd);
  const last = keys.slice(0, max).at(-1);
  if (!last) return null;
  // All of one time are forgotten at once, those of other classes too, so a step always goes on.
  const toUs = last.endedAtUs;
  for (const keptForS of new Set(keys.filter((key) => key.endedAtUs <= toUs).map((key) => key.keptForS)))
    yield* forget([REQUESTS_BETWEEN, { keptForS, fromUs, untilUs: toUs }]);
  return keys.length < max ? null : Math.max(toUs, fromUs + 1);
}

/** Forgets the request ids of the ended claims that the query finds. A server that dies meanwhile has lost nothing. */
function* forget(ended: Query): Steps<void> {
  const rows = yield* rowsOf("ended_requests", ended);
  const ofClients = rows.filter(([id]) => !isServerMade(textOf(id)));
  for (const part of partsOf(ofClients, NAMES_MAX)) {
    const keys = part.map(([id]) => requestKeyOf(textOf(id)));
    const claims = part.map(([, lockId, ticketNumber]) => [bigintOf(lockId), bigintOf(ticketNumber)]);
    yield* written("forget_requests", FORGET, { keys, claims });
  }
}

/** @param keptMax the newest change that has this many newer ones goes, too, with those before it; null: none does. */
function* removeChanges(untilUs: number, keptMax: number | null, max: number): Steps<number> {
  const [surplus = [-1, 0]] =
    keptMax === null ? [] : yield* rowsOf("surplus_changes", [SURPLUS, { keptMax }]);
  const upTo =
    Number(surplus[0]) >= untilUs
      ? { atUs: Number(surplus[0]), id: bigintOf(surplus[1]) }
      : { atUs: untilUs - 1, id: HIGHEST };
  const old = yield* rowsOf("old_changes", [OLD_CHANGES, { ...upTo, max }]);
  const last = old.at(-1);
  if (!last) return 0;
  const atUs = Number(last[0]);
  if (atUs >= untilUs) yield* written("raise_changes_from", RAISE_CHANGES_FROM, { fromUs: atUs + 1 });
  yield* written("purge_changes", REMOVE_CHANGES, { atUs, id: bigintOf(last[1]) });
  return old.length;
}

function* noteKeptBy(settings: Buffer): Steps<void> {
  // Nearly always so, and then the row of the facts, which decisions read, is not locked.
  const [row] = yield* rowsOf("kept_by", [KEPT_BY]);
  if (!settings.equals(row?.[0] as Uint8Array)) yield* written("note_kept_by", NOTE_KEPT_BY, { settings });
}

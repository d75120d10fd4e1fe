// Reads all locks with holders or waiters, and all claims beside their first holders, for gauges; and the times of all live
// claims. On MySQL as of one moment, so that no lock moves along the index during the read, and in pages, so that no
// statement takes longer when more locks are busy. The index of `next_deadline` has every busy lock, and those that were
// released lately.

import { partsOf } from "../../core/bounds.ts";
import {
  BUSY_LOCK_LIST,
  CLAIM_TIMES_LIST,
  FURTHER_CLAIM_LIST,
  HAS_HOLDER,
  HOLDER_TIMES_LIST,
} from "../rows/columns.ts";
import {
  bigintOf,
  busyLockFromRow,
  claimTimesFromRow,
  furtherClaimFromRow,
  type Row,
} from "../rows/from-rows.ts";
import { CLAIM_KEY_LIST } from "../rows/places.ts";
import { BUSY_LOCKS_PAGE, CENSUS_MS_MAX } from "../storage-bounds.ts";
import type { Store } from "../store.ts";
import { type Query, type Runner, rowsOf, type Steps } from "./steps.ts";

const BUSY = "SELECT next_deadline, id FROM rowlock_lock FORCE INDEX (rowlock_lock_due) WHERE next_deadline";
// Each of the two is one range of the index: very many locks may have the same value, that of claims which never end.
const BUSY_AT = `${BUSY} = :deadline AND id > :id ORDER BY id LIMIT ${BUSY_LOCKS_PAGE}`;
const BUSY_AFTER = `${BUSY} > :deadline ORDER BY next_deadline, id LIMIT ${BUSY_LOCKS_PAGE}`;
const OF_BUSY = "FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id IN (:ids)";
const LOCKS = `SELECT ${BUSY_LOCK_LIST} ${OF_BUSY} AND (l.holders > 0 OR l.waiting > 0)`;
const HOLDER_TIMES = `SELECT ${HOLDER_TIMES_LIST} ${OF_BUSY} AND ${HAS_HOLDER}`;

const claimsPage = (list: string) => `SELECT ${list} FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE (${CLAIM_KEY_LIST}) > (:lockId, :place, :ticketNumber) ORDER BY ${CLAIM_KEY_LIST} LIMIT ${BUSY_LOCKS_PAGE}`;
const CLAIMS = claimsPage(FURTHER_CLAIM_LIST);
const CLAIM_TIMES = claimsPage(CLAIM_TIMES_LIST);

type See = (page: readonly Row[]) => void;

export function census(on: Runner) {
  const onSnapshot = (steps: () => Steps<void>) => on.snapshot(steps, { msMax: CENSUS_MS_MAX });
  return {
    busyLocks: (see) =>
      onSnapshot(() => eachBusyPage("busy_locks", LOCKS, (page) => see(page.map(busyLockFromRow)))),
    furtherClaims: (see) =>
      onSnapshot(() => eachClaimPage("further_claims", CLAIMS, (page) => see(page.map(furtherClaimFromRow)))),
    claimTimes: (see) =>
      onSnapshot(function* () {
        const seePage: See = (page) => see(page.map(claimTimesFromRow));
        yield* eachBusyPage("claim_times", HOLDER_TIMES, seePage);
        yield* eachClaimPage("claim_times", CLAIM_TIMES, seePage);
      }),
  } satisfies Partial<Store>;
}

function* eachClaimPage(name: string, sql: string, see: See): Steps<void> {
  for (let after = [0n, 0n, 0n]; ; ) {
    const [lockId = 0n, place = 0n, ticketNumber = 0n] = after;
    const page = yield* pageOf(name, [sql, { lockId, place, ticketNumber }]);
    see(page);
    const last = page.at(-1);
    if (!last || page.length < BUSY_LOCKS_PAGE) return;
    after = last.slice(-3).map(bigintOf);
  }
}

/** Finds all locks before the first page: between pages SQLite writes rows, and then they move along the index. */
function* eachBusyPage(name: string, sql: string, see: See): Steps<void> {
  const found: bigint[] = [];
  for (let deadline = 0n, id = 0n, isLast = false; !isLast; ) {
    const asks = [[[BUSY_AT, { deadline, id }]], [[BUSY_AFTER, { deadline }]]] as const;
    const page = (yield { name, asks }).flat().slice(0, BUSY_LOCKS_PAGE);
    found.push(...page.map(([, busy]) => bigintOf(busy)));
    [deadline, id] = (page.at(-1) ?? []).map(bigintOf) as [bigint, bigint];
    isLast = page.length < BUSY_LOCKS_PAGE;
  }
  for (const ids of partsOf(found, BUSY_LOCKS_PAGE)) see(yield* pageOf(name, [sql, { ids }]));
}

function* pageOf(name: string, query: Query): Steps<readonly Row[]> {
  const [rows = []] = yield { name, asks: [[query]], isPause: true };
  return rows;
}

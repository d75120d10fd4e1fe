// Reads all locks with holders or waiters, and all claims beside their first holders, for gauges; the times of all live
// claims; and how much each principal has. In pages, so that no statement takes longer when more locks are busy; on MySQL as
// of one moment, so that no lock moves along the index of `next_deadline`, which has every busy lock, during the read.

import { partsOf } from "../../core/bounds.ts";
import { HELD_PLACE } from "../../core/claim.ts";
import type { ClaimTimes } from "../../core/transitions.ts";
import { HAS_HOLDER, LOCK_LIST } from "../rows/columns.ts";
import {
  bigintOf,
  claimKeyFromRow,
  countersFromRow,
  numberOrNull,
  type Row,
  textOf,
} from "../rows/from-rows.ts";
import { CLAIM_KEY_LIST, WAITERS_IN_ORDER } from "../rows/placement.ts";
import { STATE_CODES, STATES, wordOf } from "../rows/values.ts";
import { BUSY_LOCKS_PAGE, CENSUS_MS_MAX } from "../storage-bounds.ts";
import type { BusyLock, FurtherClaim, Store } from "../store.ts";
import { type Query, type Runner, rowsOf, type Steps } from "./steps.ts";

const BUSY = "SELECT next_deadline, id FROM rowlock_lock FORCE INDEX (rowlock_lock_due) WHERE next_deadline";
// Each of the two is one range of the index: very many locks may have the same value, that of claims which never end.
const BUSY_AT = `${BUSY} = :deadline AND id > :id ORDER BY id LIMIT ${BUSY_LOCKS_PAGE}`;
const BUSY_AFTER = `${BUSY} > :deadline ORDER BY next_deadline, id LIMIT ${BUSY_LOCKS_PAGE}`;
const OF_BUSY = "FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id IN (:ids)";
const LOCKS = `SELECT ${LOCK_LIST}, CASE WHEN ${HAS_HOLDER} THEN l.holder_labels END,
  (SELECT c.requested_at FROM rowlock_claim c WHERE c.lock_id = l.id AND ${WAITERS_IN_ORDER} LIMIT 1),
  CASE WHEN l.entering > 0 THEN (SELECT MIN(c.requested_at) FROM rowlock_claim c
    WHERE c.lock_id = l.id AND c.place = ${HELD_PLACE} AND c.state = ${STATE_CODES.waiting}) END ${OF_BUSY} AND (l.holders > 0 OR l.waiting > 0)`;
const claimsPage = (
  list: string,
) => `SELECT ${list}, ${CLAIM_KEY_LIST} FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE (${CLAIM_KEY_LIST}) > (:lockId, :place, :ticketNumber) ORDER BY ${CLAIM_KEY_LIST} LIMIT ${BUSY_LOCKS_PAGE}`;
const CLAIMS = claimsPage("c.state, c.labels");
const TIMES = ["ticket_number", "state", "requested_at", "granted_at", "ttl", "deadline"];
const CLAIM_TIMES = claimsPage(["lock_id", ...TIMES].map((column) => `c.${column}`).join(", "));
const HOLDER_TIMES = `SELECT l.id, ${TIMES.map((column) => `l.holder_${column}`).join(", ")} ${OF_BUSY} AND ${HAS_HOLDER}`;

const CLAIMS_OF_PRINCIPALS = `SELECT principal, SUM(claims), SUM(waiters) FROM (
  SELECT l.holder_principal AS principal, COUNT(*) AS claims, 0 AS waiters FROM rowlock_lock l
    WHERE ${HAS_HOLDER} GROUP BY l.holder_principal
  UNION ALL
  SELECT c.principal, COUNT(*), SUM(CASE WHEN c.state = 1 THEN 1 ELSE 0 END) FROM rowlock_claim c GROUP BY c.principal) counts
  GROUP BY principal`;
// Read from the index alone, without those of nobody.
const RECORDS_OF_PRINCIPALS =
  "SELECT principal, COUNT(*) FROM rowlock_record WHERE principal > x'' GROUP BY principal";

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

    async claimsOfPrincipals() {
      const rows = await on.read(rowsOf("claims_of_principals", [CLAIMS_OF_PRINCIPALS]));
      const counts = rows.map(([name, claims, waiters]) => ({
        principal: textOf(name),
        claims: Number(claims),
        waiters: Number(waiters),
      }));
      return counts.filter(({ principal }) => principal !== "");
    },

    async recordsOfPrincipals() {
      const rows = await on.read(rowsOf("records_of_principals", [RECORDS_OF_PRINCIPALS]));
      return rows.map(([name, records]) => ({ principal: textOf(name), records: Number(records) }));
    },
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
    const lists = [[[BUSY_AT, { deadline, id }]], [[BUSY_AFTER, { deadline }]]] as const;
    const page = (yield { name, lists }).flat().slice(0, BUSY_LOCKS_PAGE);
    found.push(...page.map(([, busy]) => bigintOf(busy)));
    [deadline, id] = (page.at(-1) ?? []).map(bigintOf) as [bigint, bigint];
    isLast = page.length < BUSY_LOCKS_PAGE;
  }
  for (const ids of partsOf(found, BUSY_LOCKS_PAGE)) see(yield* pageOf(name, [sql, { ids }]));
}

function* pageOf(name: string, query: Query): Steps<readonly Row[]> {
  const [rows = []] = yield { name, lists: [[query]], isPause: true };
  return rows;
}

/** A row of LOCKS. */
function busyLockFromRow(row: Row): BusyLock {
  const labels = row.at(-3) ?? null;
  const waitingSinceUs = row.slice(-2).flatMap((since) => numberOrNull(since ?? null) ?? []);
  return {
    lock: countersFromRow(row),
    firstHolderLabels: labels === null ? null : JSON.parse(textOf(labels)),
    oldestWaiterSinceUs: waitingSinceUs.length === 0 ? null : Math.min(...waitingSinceUs),
  };
}

/** A row of CLAIMS. */
function furtherClaimFromRow([state, labels]: Row): FurtherClaim {
  return { state: wordOf(STATES, state), labels: JSON.parse(textOf(labels)) };
}

/** A row of CLAIM_TIMES or HOLDER_TIMES. */
function claimTimesFromRow(row: Row): ClaimTimes {
  return {
    ...claimKeyFromRow(row),
    state: wordOf(STATES, row[2]),
    requestedAtUs: Number(row[3]),
    grantedAtUs: Number(row[4]) || null,
    ttlUs: numberOrNull(row[5]),
    deadlineUs: numberOrNull(row[6]),
  };
}

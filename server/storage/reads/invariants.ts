// What must always hold between the rows: the checks behind `checkInvariants`. Decides nothing and writes nothing. All steps
// of one run must read the same snapshot, except after a pause.

import { HELD_PLACE, isServerMade, keyText, roomOf } from "../../core/claim.ts";
import { effectiveLimit, effectiveRate, fits } from "../../core/limit.ts";
import { poolName, poolPrefix } from "../../core/pools.ts";
import { HEAD_STARTS } from "../../core/queue-rules.ts";
import { isAllowed } from "../../core/rate.ts";
import { LOCK_LIST, NEVER_DUE_US, RULE_LIST } from "../rows/columns.ts";
import {
  bigintOf,
  claimKeyFromRow,
  countersFromRow,
  levelsOf,
  limitRuleFromRow,
  membersOf,
  numberOrNull,
  type Row,
  textOf,
} from "../rows/from-rows.ts";
import { CLAIM_KEY_LIST, placesIn, waitingPlaceIn } from "../rows/placement.ts";
import { GROUPS_FROM } from "../rows/shares.ts";
import { MODES, prefixRange, requestKeyOf, wordOf } from "../rows/values.ts";
import { CHECK_PAGE } from "../storage-bounds.ts";
import type { Finding } from "../store.ts";
import { eachClaimWith, keyAfter, type PageKey } from "./check-pages.ts";
import { checkSets } from "./check-sets.ts";
import { CLOCK, type Query, rowsOf, type Steps } from "./steps.ts";

const POOLS = prefixRange(poolName(""));
const COUNTED =
  "held_permits shared_holders exclusive_holders holders waiting waiting_permits entering entering_permits".split(
    " ",
  );

const LIVE = claimsIn(
  [
    "ticket_number",
    "state",
    "mode",
    "permits",
    "fencing_token",
    "ttl",
    "deadline",
    "request_id",
    "levels",
    "members",
  ],
  ["holder", "claim"],
);
/** Permits that a claim of LIVE takes of its lock and of each pool. */
const ROOM = "(CASE WHEN ttl = 0 THEN 0 ELSE permits END)";
/** The guard rows of pools have no claims of their own. */
const IS_POOL = `(l.name >= x'${POOLS.from.toString("hex")}' AND l.name < x'${POOLS.below.toString("hex")}')`;
/** Whether a claim of LIVE has its own lock, and waits at a pool. Of one for several locks, only the lead's row shows the pool. */
const ENTERS = `(state = 1 AND (COALESCE(pool_id < ${GROUPS_FROM}, 0) = 1 OR (members IS NOT NULL AND place = ${HELD_PLACE})))`;
/** All claims, as often as they are in a table. */
const ALL = claimsIn(["ticket_number", "fencing_token"], ["holder", "claim", "history"]);

function claimsIn(columns: readonly string[], tables: readonly ("holder" | "claim" | "history")[]): string {
  const from = {
    holder: `SELECT id AS lock_id, ${columns.map((column) => `holder_${column} AS ${column}`).join(", ")},
      NULL AS place, NULL AS pool_id FROM rowlock_lock WHERE holder_state <> 0`,
    claim: `SELECT lock_id, ${columns.join(", ")}, place, pool_id FROM rowlock_claim`,
    history: `SELECT lock_id, ${columns.join(", ")}, NULL, NULL FROM rowlock_history`,
  };
  return `(${tables.map((table) => from[table]).join(" UNION ALL ")})`;
}

const COUNTS = `
  SELECT lock_id,
    SUM(CASE WHEN mode = 1 AND (state = 2 OR ${ENTERS}) THEN ${ROOM} ELSE 0 END) AS held_permits,
    SUM(CASE WHEN mode = 2 AND (state = 2 OR ${ENTERS}) THEN 1 ELSE 0 END) AS shared_holders,
    SUM(CASE WHEN mode = 3 AND (state = 2 OR ${ENTERS}) THEN 1 ELSE 0 END) AS exclusive_holders,
    SUM(CASE WHEN state = 2 OR ${ENTERS} THEN 1 ELSE 0 END) AS holders,
    SUM(CASE WHEN state = 1 AND NOT ${ENTERS} THEN 1 ELSE 0 END) AS waiting,
    SUM(CASE WHEN state = 1 AND NOT ${ENTERS} THEN permits ELSE 0 END) AS waiting_permits,
    SUM(CASE WHEN ${ENTERS} THEN 1 ELSE 0 END) AS entering,
    SUM(CASE WHEN ${ENTERS} THEN ${ROOM} ELSE 0 END) AS entering_permits,
    SUM(CASE WHEN ${ENTERS} AND ttl = 0 THEN 1 ELSE 0 END) AS entering_spends
  FROM ${LIVE} c GROUP BY lock_id`;

const EARLIEST = `SELECT lock_id, MIN(COALESCE(deadline, ${NEVER_DUE_US})) AS deadline FROM ${LIVE} c GROUP BY lock_id`;

/** The time from which a lock with a record may be captured; NULL if it is not free. */
const FREE_SINCE = `(CASE WHEN l.holders = 0 AND l.waiting = 0 AND COALESCE(r.attempts_left, 1) > 0
  THEN COALESCE(r.not_before, 0) END)`;

/** Checks that are entirely in SQL: each row is one violation. Most rows begin with the name of a lock. */
const PLAIN: readonly { check: string; sql: string; message: (row: Row) => string }[] = [
  {
    check: "counters",
    sql: `SELECT l.name, ${COUNTED.map((c) => `l.${c}, COALESCE(c.${c}, 0)`).join(", ")}
      FROM rowlock_lock l LEFT JOIN (${COUNTS}) c ON c.lock_id = l.id
      WHERE NOT ${IS_POOL} AND (${COUNTED.map((c) => `l.${c} <> COALESCE(c.${c}, 0)`).join(" OR ")})`,
    message: ([name, ...counts]) => {
      const wrong = COUNTED.flatMap((counter, at) => {
        const [is, shouldBe] = [counts[2 * at], counts[2 * at + 1]].map(String);
        return is === shouldBe ? [] : [`${counter} is ${is} and should be ${shouldBe}`];
      });
      return `The counters of ${lockNamed(name)} differ from its claims: ${wrong.join(", ")}.`;
    },
  },
  {
    check: "no_guard",
    sql: `SELECT c.lock_id, COUNT(*) FROM ${ALL} c LEFT JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE l.id IS NULL GROUP BY c.lock_id`,
    message: ([lockId, claims]) => `${claims} claims belong to lock ${lockId}, which has no guard row.`,
  },
  {
    check: "overlap",
    sql: `SELECT l.name, c.exclusive_holders, c.shared_holders, c.held_permits
      FROM rowlock_lock l JOIN (${COUNTS}) c ON c.lock_id = l.id
      WHERE (c.exclusive_holders > 0 AND c.holders - c.entering_spends > 1) OR (c.shared_holders > 0 AND c.held_permits > 0)`,
    message: ([name, exclusive, shared, permits]) =>
      `Holders of ${lockNamed(name)} exclude each other: ${exclusive} exclusive, ${shared} shared, ${permits} permits.`,
  },
  {
    check: "tokens",
    sql: `SELECT l.name, c.fencing_token, COUNT(*) FROM ${ALL} c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.fencing_token > 0 GROUP BY l.id, l.name, c.fencing_token HAVING COUNT(*) > 1`,
    message: ([name, token, claims]) =>
      `The fencing token ${token} of ${lockNamed(name)} was given to ${claims} claims.`,
  },
  {
    check: "tokens",
    sql: `SELECT l.name, l.last_token, c.fencing_token, c.ticket_number
      FROM ${LIVE} c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.fencing_token > l.last_token OR (c.state = 2 AND c.fencing_token = 0)`,
    message: ([name, last, token, ticket]) =>
      `Claim ${ticket} of ${lockNamed(name)} has the fencing token ${token}; the last one given is ${last}.`,
  },
  {
    check: "order",
    sql: `SELECT l.name, h.ticket_number, h.fencing_token, h.token_before
      FROM (SELECT lock_id, ticket_number, fencing_token,
              LAG(fencing_token) OVER (PARTITION BY lock_id ORDER BY ticket_number) AS token_before
            FROM ${LIVE} c WHERE state = 2 AND levels IS NULL) h
      JOIN rowlock_lock l ON l.id = h.lock_id
      WHERE h.fencing_token < h.token_before AND l.shared_by IS NULL`,
    message: ([name, ticket, token, before]) =>
      `Claim ${ticket} of ${lockNamed(name)} was granted before an earlier claim: their fencing tokens are ` +
      `${token} and ${before}.`,
  },
  {
    check: "order",
    sql: `SELECT l.name, c.first_waiter, c.last_holder
      FROM (SELECT lock_id,
              MIN(CASE WHEN state = 1 AND levels IS NULL THEN ticket_number END) AS first_waiter,
              MAX(CASE WHEN state = 2 AND levels IS NULL THEN ticket_number END) AS last_holder
            FROM ${LIVE} live GROUP BY lock_id) c
      JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.last_holder > c.first_waiter AND l.shared_by IS NULL`,
    message: ([name, waiter, holder]) =>
      `Claim ${holder} of ${lockNamed(name)} holds, although claim ${waiter} before it waits.`,
  },
  {
    check: "tickets",
    sql: `SELECT l.name, l.next_ticket, MAX(c.ticket_number)
      FROM ${ALL} c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.ticket_number >= l.next_ticket GROUP BY l.id, l.name, l.next_ticket`,
    message: ([name, next, last]) =>
      `${lockNamed(name)} has the ticket number ${last}, but its next one is ${next}.`,
  },
  {
    check: "deadlines",
    sql: `SELECT l.name, c.ticket_number FROM ${LIVE} c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.deadline IS NULL AND (c.state <> 2 OR c.ttl IS NOT NULL) AND c.members IS NULL`,
    message: ([name, ticket]) => `Claim ${ticket} of ${lockNamed(name)} must expire but has no deadline.`,
  },
  {
    check: "deadlines",
    sql: `SELECT l.name, l.next_deadline, c.deadline FROM rowlock_lock l JOIN (${EARLIEST}) c ON c.lock_id = l.id
      WHERE l.next_deadline IS NULL OR l.next_deadline > c.deadline`,
    message: ([name, bound, deadline]) =>
      `The next_deadline of ${lockNamed(name)} is ${bound}, but one of its claims ends at ${deadline}: nothing ends it in time.`,
  },
  {
    check: "wakes",
    sql: `SELECT l.name, l.wakes_at, l.next_deadline FROM rowlock_lock l
      WHERE l.wakes_at IS NOT NULL AND (l.next_deadline IS NULL OR l.next_deadline > l.wakes_at)`,
    message: ([name, wakesAt, bound]) =>
      `The next_deadline of ${lockNamed(name)} is ${bound}, but it wakes at ${wakesAt}: nothing looks at it in time.`,
  },
  {
    check: "wakes",
    sql: "SELECT l.name FROM rowlock_lock l WHERE l.wakes_at IS NOT NULL AND l.waiting = 0",
    message: ([name]) => `${lockNamed(name)} has a wake-up scheduled, and no waiters for it.`,
  },
  {
    check: "places",
    sql: `SELECT l.name, c.place, c.state, c.ticket_number FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.members IS NULL AND c.place <> CASE WHEN c.state = 1 AND COALESCE(c.pool_id < ${GROUPS_FROM}, 0) = 0 THEN ${waitingPlaceIn("c.ticket_number")} ELSE ${HELD_PLACE} END`,
    message: ([name, place, state, ticket]) =>
      `Claim ${ticket} of ${lockNamed(name)} ${Number(state) === 1 ? "waits" : "holds"}, but its place is ${place}.`,
  },
  {
    check: "groups",
    sql: `SELECT l.name, MIN(c.ticket_number) FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.pool_id >= ${GROUPS_FROM} GROUP BY l.name, c.pool_id
      HAVING COUNT(c.turn) <> 1 OR MIN(CASE WHEN c.turn IS NOT NULL THEN c.ticket_number END) <> MIN(c.ticket_number)`,
    message: ([name, ticket]) =>
      `Claim ${ticket} is the first waiter of its group at ${lockNamed(name)}, but is not the only one there with a turn.`,
  },
  {
    check: "groups",
    sql: `SELECT l.name, c.ticket_number FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.state = 1 AND c.place > ${HELD_PLACE} AND l.shared_by IS NOT NULL
        AND CASE WHEN l.shared_by = x'' THEN c.pool_id IS NOT NULL OR c.turn IS NOT NULL
          WHEN c.members IS NULL AND l.shared_by <> x'${Buffer.from(HEAD_STARTS).toString("hex")}' THEN c.pool_id IS NULL ELSE c.turn IS NULL END`,
    message: ([name, ticket]) => `Claim ${ticket} does not wait in the order that ${lockNamed(name)} has.`,
  },
  {
    check: "placement",
    sql: `SELECT l.name, c.ticket_number FROM ${ALL} c JOIN rowlock_lock l ON l.id = c.lock_id
      GROUP BY l.id, l.name, c.ticket_number HAVING COUNT(*) > 1`,
    message: ([name, ticket]) =>
      `Claim ${ticket} of ${lockNamed(name)} has more than one row. A restore while servers run does that: stop all servers, and restore again.`,
  },
  {
    check: "requests",
    sql: `SELECT r.lock_id, r.ticket_number FROM rowlock_request r
      WHERE NOT EXISTS (SELECT 1 FROM rowlock_lock l
        WHERE l.id = r.lock_id AND l.holder_state <> 0 AND l.holder_ticket_number = r.ticket_number)
      AND NOT EXISTS (SELECT 1 FROM rowlock_claim c WHERE c.lock_id = r.lock_id
        AND c.place IN (${placesIn("r.ticket_number")}) AND c.ticket_number = r.ticket_number)
      AND NOT EXISTS (SELECT 1 FROM rowlock_history h WHERE h.lock_id = r.lock_id AND h.ticket_number = r.ticket_number)`,
    message: ([lockId, ticket]) =>
      `A request id leads to claim ${ticket} of lock ${lockId}, which does not exist.`,
  },
  {
    check: "no_guard",
    sql: `SELECT r.name FROM rowlock_record r LEFT JOIN rowlock_lock l ON l.id = r.lock_id WHERE l.id IS NULL`,
    message: ([name]) => `There is a record of ${lockNamed(name)}, which has no guard row.`,
  },
  {
    check: "records",
    sql: `SELECT l.name, l.has_record FROM rowlock_lock l LEFT JOIN rowlock_record r ON r.lock_id = l.id
      WHERE (l.has_record = 0) <> (r.lock_id IS NULL)`,
    message: ([name, hasRecord]) =>
      Number(hasRecord) === 0
        ? `${lockNamed(name)} has a record, but its guard row says that it has none.`
        : `The guard row of ${lockNamed(name)} says that it has a record, but there is none.`,
  },
  {
    check: "records",
    sql: `SELECT l.name FROM rowlock_record r JOIN rowlock_lock l ON l.id = r.lock_id
      WHERE r.name <> l.name OR (r.due_at IS NULL) <> (${FREE_SINCE} IS NULL) OR r.due_at <> ${FREE_SINCE}`,
    message: ([name]) => `The record of ${lockNamed(name)} is indexed under a wrong name or time.`,
  },
];

// Pages of live claims whose request ids need rows. The values are the key of the last one; each row ends with its own.

const REQUESTED = "l.name, l.id AS lock_id";
const REQUESTED_FIRST = `SELECT ${REQUESTED}, l.holder_ticket_number, l.holder_request_id, l.id FROM rowlock_lock l
  WHERE l.id > :lockId AND l.holder_state <> 0 ORDER BY l.id LIMIT ${CHECK_PAGE}`;
const REQUESTED_FURTHER = `SELECT ${REQUESTED}, c.ticket_number, c.request_id, ${CLAIM_KEY_LIST}
  FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
  WHERE (${CLAIM_KEY_LIST}) > (:lockId, :place, :ticketNumber) ORDER BY ${CLAIM_KEY_LIST} LIMIT ${CHECK_PAGE}`;
const REQUESTS = `SELECT request_key, lock_id, ticket_number FROM rowlock_request
  WHERE request_key IN (:keys)`;

const RULES = `SELECT ${RULE_LIST} FROM rowlock_limit_rule`;

const POOL_ROWS = `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE ${IS_POOL}`;
// The rows do not show whether a limit was lowered below what was held, so this can only be a warning.
const OVER_LIMIT = `SELECT ${LOCK_LIST} FROM rowlock_lock l
  WHERE l.id > :after AND l.held_permits > COALESCE(l.limit_value, 0) ORDER BY l.id LIMIT ${CHECK_PAGE}`;

const PAUSE = "SELECT grants_from FROM rowlock_meta WHERE id = 1 AND grants_from > :atUs";

// Waiters with no wake-up scheduled for the time from which their lock may be granted. Those that wait for a rate are among the
// first waiters below.
const UNWOKEN = `
  SELECT l.id, l.name FROM rowlock_record r JOIN rowlock_lock l ON l.id = r.lock_id
  WHERE l.id > :after AND l.waiting > 0 AND l.wakes_at IS NULL AND r.not_before > :atUs ORDER BY l.id LIMIT ${CHECK_PAGE}`;

// Excludes locks that wait for a time, locks with something due, and locks without a decision since the pause after a
// fail-over: the next decision will advance their queue, and the first waiter may fit only then.
const FIRST_WAITERS = `
  SELECT ${LOCK_LIST}, c.ticket_number, c.mode, c.permits, c.ttl
  FROM rowlock_lock l JOIN rowlock_claim c ON c.lock_id = l.id AND c.place =
    (SELECT MIN(w.place) FROM rowlock_claim w WHERE w.lock_id = l.id AND w.place > ${HELD_PLACE})
  WHERE l.id > :after AND l.waiting > 0 AND c.members IS NULL AND NOT (l.holder_state <> 0 AND COALESCE(l.holder_deadline, ${NEVER_DUE_US}) <= :atUs)
    AND NOT EXISTS (SELECT 1 FROM rowlock_claim d WHERE d.lock_id = l.id AND d.deadline <= :atUs)
    AND l.wakes_at IS NULL AND NOT EXISTS (SELECT 1 FROM rowlock_record r WHERE r.lock_id = l.id AND r.not_before > :atUs)
    AND NOT EXISTS (SELECT 1 FROM rowlock_meta m WHERE m.grants_from > :atUs OR l.decided_at < m.grants_from)
  ORDER BY l.id LIMIT ${CHECK_PAGE}`;

/**
 * Returns at most `max` findings; none has severity `error` if only rowlock has written the database. `of`: whether it
 * also runs the checks that read ended claims, of which there may be very many.
 */
export function* checkNow(max: number, of: "all" | "live"): Steps<Finding[]> {
  const nowUs = Number((yield* rowsOf("clock", CLOCK))[0]?.[0]);
  const findings: Finding[] = [];
  for (const { check, sql, message } of PLAIN) {
    if (of === "live" && sql.includes("rowlock_history")) continue;
    const left = max - findings.length;
    if (left <= 0) return findings;
    const query: Query = [`${sql} LIMIT ${Math.trunc(left)}`];
    const [rows = []] = yield { name: `check_${check}`, lists: [[query]], isPause: true };
    for (const row of rows) findings.push({ severity: "error", check, message: message(row) });
  }
  for (const [grantsFrom] of yield* rowsOf("check_fail_over", [PAUSE, { atUs: nowUs }])) {
    const seconds = Math.ceil((Number(grantsFrom) - nowUs) / 1e6);
    const message =
      `After a fail-over of the database, grants are paused for another ${seconds} s, because leases that it lost may ` +
      "still be held. If it lost nothing: UPDATE rowlock_meta SET grants_from = UNIX_TIMESTAMP() * 1000000.";
    if (findings.length < max) findings.push({ severity: "warning", check: "fail_over", message });
  }
  yield* checkRequests(findings, max, REQUESTED_FIRST, { lockId: 0n });
  yield* checkRequests(findings, max, REQUESTED_FURTHER, { lockId: 0n, place: 0n, ticketNumber: 0n });
  const rules = (yield* rowsOf("check_rules", [RULES])).map(limitRuleFromRow);
  yield* checkPages(findings, max, "over_limit", OVER_LIMIT, {}, (row) => {
    const lock = countersFromRow(row);
    const isPool = poolPrefix(lock.name) !== null;
    const limit = isPool ? (lock.limit ?? Number.POSITIVE_INFINITY) : effectiveLimit(lock, rules).limit;
    if (lock.heldPermits <= limit) return null;
    const message =
      `${lockNamed(row[1])} has ${lock.heldPermits} permits held, and its limit is ${limit}. ` +
      "This is normal if the limit was lowered while they were held: they drain.";
    return { severity: "warning", check: "over_limit", message };
  });
  yield* checkPools(findings, max);
  yield* checkSets(findings, max);
  yield* checkPages(findings, max, "wakes", UNWOKEN, { atUs: nowUs }, ([, name]) => {
    const message = `${lockNamed(name)} has waiters, and no wake-up scheduled for when it becomes due.`;
    return { severity: "error", check: "wakes", message };
  });
  yield* checkPages(findings, max, "not_granted", FIRST_WAITERS, { atUs: nowUs }, (row) => {
    const lock = countersFromRow(row);
    const [ticket, mode, permits, ttl = null] = row.slice(-4);
    const wanted = { mode: wordOf(MODES, mode), permits: Number(permits), ttlUs: numberOrNull(ttl) };
    if (!fits(lock, effectiveLimit(lock, rules).limit, wanted)) return null;
    if (!isAllowed(effectiveRate(lock, rules), lock.rateUntilUs, wanted.permits, { atLeastUs: nowUs })) {
      const message = `${lockNamed(row[1])} has waiters, and no wake-up scheduled for when its rate allows a grant.`;
      return { severity: "error", check: "wakes", message };
    }
    const message = `Claim ${ticket} is first in the queue of ${lockNamed(row[1])} and could be granted, but still waits.`;
    return { severity: "error", check: "not_granted", message };
  });
  return findings;
}

/** What the guard rows of pools count, against what the claims list. The database cannot read the lists. */
function* checkPools(findings: Finding[], max: number): Steps<void> {
  const pools = (yield* rowsOf("check_pools", [POOL_ROWS])).map(countersFromRow);
  if (pools.length === 0) return;
  const counts = new Map(pools.map(({ id }) => [id, { given: 0, holders: 0, waiting: 0, wanted: 0 }]));
  const listed = ["levels", "permits", "ttl", "members"] as const;
  yield* eachClaimWith(listed, "check_pools", ([levels, permits, ttl = null, members = null, lockId]) => {
    if (members !== null && membersOf(textOf(members))[0]?.lockId !== bigintOf(lockId)) return;
    for (const { poolId, state, permits: sum = Number(permits) } of levelsOf(textOf(levels))) {
      const room = roomOf({ permits: sum, ttlUs: numberOrNull(ttl) });
      const count = counts.get(poolId);
      if (count && state === "has") {
        count.given += room;
        count.holders += 1;
      } else if (count && state === "waits") {
        count.wanted += room;
        count.waiting += 1;
      }
    }
  });
  for (const { id, name, heldPermits, holders, waiting, waitingPermits } of pools) {
    const { given = 0, holders: have = 0, waiting: wait = 0, wanted = 0 } = counts.get(id) ?? {};
    const isRight =
      given === heldPermits && have === holders && wait === waiting && wanted === waitingPermits;
    if (isRight || findings.length >= max) continue;
    const message =
      `The pool ${poolPrefix(name)}* counts ${heldPermits} permits of ${holders} claims, and ${waiting} that wait for ` +
      `${waitingPermits}; its claims list ${given} permits of ${have}, and ${wait} that wait for ${wanted}.`;
    findings.push({ severity: "error", check: "pools", message });
  }
}

/** Each row begins with the id of its lock. */
function* checkPages(
  findings: Finding[],
  max: number,
  check: string,
  sql: string,
  values: { readonly atUs?: number },
  judge: (row: Row) => Finding | null,
): Steps<void> {
  let after = 0n;
  while (findings.length < max) {
    const rows = yield* rowsOf(`check_${check}`, [sql, { after, ...values }]);
    for (const row of rows) {
      const finding = judge(row);
      if (finding && findings.length < max) findings.push(finding);
      after = bigintOf(row[0]);
    }
    if (rows.length < CHECK_PAGE) return;
  }
}

/** Whether each request id of a client leads to its claim, if that lives. The database cannot compute the keys. */
function* checkRequests(findings: Finding[], max: number, sql: string, first: PageKey): Steps<void> {
  for (let after = first; findings.length < max; ) {
    const page = yield* rowsOf("check_requests", [sql, after]);
    const keys = page
      .filter((row) => !isServerMade(textOf(row[3])))
      .map((row) => ({ row, key: requestKeyOf(textOf(row[3])) }));
    if (keys.length > 0) {
      const wanted = { keys: keys.map(({ key }) => key) };
      const found = new Map<string, string>();
      for (const [key, ...claim] of yield* rowsOf("check_requests", [REQUESTS, wanted]))
        found.set(hexOf(key), keyText(claimKeyFromRow(claim)));
      for (const { row, key } of keys) {
        const [name, lockId, ticket] = row;
        if (found.get(hexOf(key)) === keyText(claimKeyFromRow([lockId ?? null, ticket ?? null]))) continue;
        const message = `The request id of claim ${ticket} of ${lockNamed(name)} leads to no claim or to another one.`;
        if (findings.length < max) findings.push({ severity: "error", check: "requests", message });
      }
    }
    const next = keyAfter(page, first);
    if (!next) return;
    after = next;
  }
}

function hexOf(key: Row[number] | undefined): string {
  return Buffer.from(key as Uint8Array).toString("hex");
}

function lockNamed(name: Row[number] | undefined): string {
  return `lock ${JSON.stringify(textOf(name))}`;
}

// What must always hold between the rows: the checks behind `checkInvariants`. Decides nothing and writes nothing. A
// generator, because SQLite answers synchronously and MySQL asynchronously: it yields queries, receives their rows, and
// returns its findings. All queries of one run must read the same snapshot.

import type { Mode } from "../../core/claim.ts";
import type { EffectiveLimit, LimitRule } from "../../core/limit.ts";
import { effectiveLimit, fits } from "../../core/limit.ts";
import { CHECK_PAGE } from "../storage-bounds.ts";
import type { Finding } from "../store.ts";
import { LOCK_COLUMNS } from "./columns.ts";
import { MODES } from "./values.ts";

/** A query of the checks. Its name is a metric label; its values are integers. */
interface InvariantQuery {
  readonly name: string;
  readonly sql: string;
  readonly values: readonly (number | bigint)[];
}

/** Integers may be number, bigint or decimal text; bytes are Uint8Array. */
type InvariantRow = Readonly<Record<string, unknown>>;

export type InvariantRun = Generator<InvariantQuery, Finding[], readonly InvariantRow[]>;

const COUNTED = [
  "held_permits",
  "shared_holders",
  "exclusive_holders",
  "holders",
  "waiting",
  "waiting_permits",
];

const COUNTS = `
  SELECT lock_id,
    SUM(CASE WHEN state = 2 AND mode = 1 THEN permits ELSE 0 END) AS held_permits,
    SUM(CASE WHEN state = 2 AND mode = 2 THEN 1 ELSE 0 END) AS shared_holders,
    SUM(CASE WHEN state = 2 AND mode = 3 THEN 1 ELSE 0 END) AS exclusive_holders,
    SUM(CASE WHEN state = 2 THEN 1 ELSE 0 END) AS holders,
    SUM(CASE WHEN state = 1 THEN 1 ELSE 0 END) AS waiting,
    SUM(CASE WHEN state = 1 THEN permits ELSE 0 END) AS waiting_permits
  FROM rowlock_claim WHERE state IN (1, 2) GROUP BY lock_id`;

/** The time from which a lock with a record may be captured; NULL if it is not free. */
const FREE_SINCE = `(CASE WHEN l.holders = 0 AND l.waiting = 0 AND COALESCE(r.attempts_left, 1) > 0
  THEN COALESCE(r.not_before, 0) END)`;

/** Checks that are entirely in SQL: each row is one violation. */
const PLAIN: readonly { check: string; sql: string; message: (row: InvariantRow) => string }[] = [
  {
    check: "counters",
    sql: `SELECT l.id AS lock_id, l.name, ${COUNTED.map((c) => `l.${c}, COALESCE(c.${c}, 0) AS real_${c}`).join(", ")}
      FROM rowlock_lock l LEFT JOIN (${COUNTS}) c ON c.lock_id = l.id
      WHERE ${COUNTED.map((c) => `l.${c} <> COALESCE(c.${c}, 0)`).join(" OR ")}`,
    message: (row) => {
      const wrong = COUNTED.filter((c) => String(row[c]) !== String(row[`real_${c}`]));
      const each = wrong.map((c) => `${c} is ${row[c]} and should be ${row[`real_${c}`]}`);
      return `The counters of ${lockOf(row)} differ from its claims: ${each.join(", ")}.`;
    },
  },
  {
    check: "no_guard",
    sql: `SELECT c.lock_id, COUNT(*) AS claims FROM rowlock_claim c LEFT JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE l.id IS NULL GROUP BY c.lock_id`,
    message: (row) => `${row.claims} claims belong to lock ${row.lock_id}, which has no guard row.`,
  },
  {
    check: "overlap",
    sql: `SELECT l.id AS lock_id, l.name, c.exclusive_holders, c.shared_holders, c.held_permits
      FROM rowlock_lock l JOIN (${COUNTS}) c ON c.lock_id = l.id
      WHERE (c.exclusive_holders > 0 AND c.holders > 1) OR (c.shared_holders > 0 AND c.held_permits > 0)`,
    message: (row) =>
      `Holders of ${lockOf(row)} exclude each other: ${row.exclusive_holders} exclusive, ` +
      `${row.shared_holders} shared, ${row.held_permits} permits.`,
  },
  {
    check: "tokens",
    sql: `SELECT l.id AS lock_id, l.name, c.fencing_token, COUNT(*) AS claims
      FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.fencing_token > 0 GROUP BY l.id, l.name, c.fencing_token HAVING COUNT(*) > 1`,
    message: (row) =>
      `The fencing token ${row.fencing_token} of ${lockOf(row)} was given to ${row.claims} claims.`,
  },
  {
    check: "tokens",
    sql: `SELECT l.id AS lock_id, l.name, l.last_token, c.fencing_token, c.ticket_number
      FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.fencing_token > l.last_token OR (c.state = 2 AND c.fencing_token = 0)`,
    message: (row) =>
      `Claim ${row.ticket_number} of ${lockOf(row)} has the fencing token ${row.fencing_token}; ` +
      `the last one given is ${row.last_token}.`,
  },
  {
    check: "order",
    sql: `SELECT l.id AS lock_id, l.name, h.ticket_number, h.fencing_token, h.token_before
      FROM (SELECT lock_id, ticket_number, fencing_token,
              LAG(fencing_token) OVER (PARTITION BY lock_id ORDER BY ticket_number) AS token_before
            FROM rowlock_claim WHERE state = 2) h
      JOIN rowlock_lock l ON l.id = h.lock_id
      WHERE h.fencing_token < h.token_before`,
    message: (row) =>
      `Claim ${row.ticket_number} of ${lockOf(row)} was granted before an earlier claim: their fencing ` +
      `tokens are ${row.fencing_token} and ${row.token_before}.`,
  },
  {
    check: "order",
    sql: `SELECT l.id AS lock_id, l.name, c.first_waiter, c.last_holder
      FROM (SELECT lock_id,
              MIN(CASE WHEN state = 1 THEN ticket_number END) AS first_waiter,
              MAX(CASE WHEN state = 2 THEN ticket_number END) AS last_holder
            FROM rowlock_claim WHERE state IN (1, 2) GROUP BY lock_id) c
      JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.last_holder > c.first_waiter`,
    message: (row) =>
      `Claim ${row.last_holder} of ${lockOf(row)} holds, although claim ${row.first_waiter} before it waits.`,
  },
  {
    check: "tickets",
    sql: `SELECT l.id AS lock_id, l.name, l.next_ticket, MAX(c.ticket_number) AS last_ticket
      FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.ticket_number >= l.next_ticket GROUP BY l.id, l.name, l.next_ticket`,
    message: (row) =>
      `${lockOf(row)} has the ticket number ${row.last_ticket}, but its next one is ${row.next_ticket}.`,
  },
  {
    check: "deadlines",
    sql: `SELECT l.id AS lock_id, l.name, c.ticket_number
      FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id
      WHERE c.deadline IS NULL AND (c.state <> 2 OR c.ttl IS NOT NULL)`,
    message: (row) => `Claim ${row.ticket_number} of ${lockOf(row)} must expire but has no deadline.`,
  },
  {
    check: "no_guard",
    sql: `SELECT r.lock_id, r.name FROM rowlock_record r LEFT JOIN rowlock_lock l ON l.id = r.lock_id
      WHERE l.id IS NULL`,
    message: (row) => `There is a record of ${lockOf(row)}, which has no guard row.`,
  },
  {
    check: "records",
    sql: `SELECT l.id AS lock_id, l.name, l.has_record
      FROM rowlock_lock l LEFT JOIN rowlock_record r ON r.lock_id = l.id
      WHERE (l.has_record = 0) <> (r.lock_id IS NULL)`,
    message: (row) =>
      Number(row.has_record) === 0
        ? `${lockOf(row)} has a record, but its guard row says that it has none.`
        : `The guard row of ${lockOf(row)} says that it has a record, but there is none.`,
  },
  {
    check: "records",
    sql: `SELECT l.id AS lock_id, l.name FROM rowlock_record r JOIN rowlock_lock l ON l.id = r.lock_id
      WHERE r.name <> l.name OR (r.due_at IS NULL) <> (${FREE_SINCE} IS NULL) OR r.due_at <> ${FREE_SINCE}`,
    message: (row) => `The record of ${lockOf(row)} is indexed under a wrong name or time.`,
  },
  {
    check: "records",
    sql: `SELECT l.id AS lock_id, l.name FROM rowlock_record r JOIN rowlock_lock l ON l.id = r.lock_id
      WHERE r.wakes_at IS NOT NULL AND (l.waiting = 0 OR r.not_before IS NULL OR r.wakes_at <> r.not_before)`,
    message: (row) => `${lockOf(row)} has a wake-up scheduled, and no waiters for it.`,
  },
];

const RULES = "SELECT prefix, limit_value, version, reason, change_mark FROM rowlock_limit_rule";
const LOCK = LOCK_COLUMNS.map((column) => `l.${column}`).join(", ");

// The rows do not show whether a limit was lowered below what was held, so this can only be a warning.
const OVER_LIMIT = `
  SELECT l.id AS lock_id, ${LOCK} FROM rowlock_lock l
  WHERE l.id > ? AND l.held_permits > COALESCE(l.limit_value, 0) ORDER BY l.id LIMIT ${CHECK_PAGE}`;

const PAUSE = "SELECT grants_from FROM rowlock_meta WHERE id = 1 AND grants_from > ?";

// Waiters with no wake-up scheduled for the time from which their lock may be granted.
const UNWOKEN = `
  SELECT l.id AS lock_id, l.name FROM rowlock_record r JOIN rowlock_lock l ON l.id = r.lock_id
  WHERE l.id > ? AND l.waiting > 0 AND r.wakes_at IS NULL AND r.not_before > ? ORDER BY l.id LIMIT ${CHECK_PAGE}`;

// Excludes locks with something due, and locks without a decision since the pause after a fail-over: the next decision
// will advance their queue, and the first waiter may fit only then.
const FIRST_WAITERS = `
  SELECT l.id AS lock_id, ${LOCK}, c.ticket_number, c.mode, c.permits
  FROM rowlock_lock l JOIN rowlock_claim c ON c.lock_id = l.id AND c.ticket_number =
    (SELECT MIN(w.ticket_number) FROM rowlock_claim w WHERE w.lock_id = l.id AND w.state = 1)
  WHERE l.id > ? AND l.waiting > 0 AND NOT EXISTS
    (SELECT 1 FROM rowlock_claim d WHERE d.lock_id = l.id AND d.state IN (1, 2) AND d.deadline <= ?)
    AND NOT EXISTS (SELECT 1 FROM rowlock_record r WHERE r.lock_id = l.id AND (r.not_before > ? OR r.wakes_at <= ?))
    AND NOT EXISTS (SELECT 1 FROM rowlock_meta m WHERE m.grants_from > ? OR l.decided_at < m.grants_from)
  ORDER BY l.id LIMIT ${CHECK_PAGE}`;

/** Returns at most `max` findings; none has severity `error` if only rowlock has written the database. */
export function* checkRows(nowUs: number, max: number): InvariantRun {
  const findings: Finding[] = [];
  for (const { check, sql, message } of PLAIN) {
    const left = max - findings.length;
    if (left <= 0) return findings;
    const rows = yield { name: `check_${check}`, sql: `${sql} LIMIT ${Math.trunc(left)}`, values: [] };
    for (const row of rows) findings.push({ severity: "error", check, message: message(row) });
  }
  for (const row of yield { name: "check_fail_over", sql: PAUSE, values: [nowUs] }) {
    const seconds = Math.ceil((Number(row.grants_from) - nowUs) / 1e6);
    const message =
      `After a fail-over of the database, grants are paused for another ${seconds} s, because leases that it lost may ` +
      "still be held. If it lost nothing: UPDATE rowlock_meta SET grants_from = UNIX_TIMESTAMP() * 1000000.";
    if (findings.length < max) findings.push({ severity: "warning", check: "fail_over", message });
  }
  const rules = (yield { name: "check_rules", sql: RULES, values: [] }).map(ruleOf);
  yield* checkPages(findings, max, "over_limit", OVER_LIMIT, [], (row) => {
    const limit = limitOf(row, rules);
    if (Number(row.held_permits) <= limit.limit) return null;
    const message =
      `${lockOf(row)} has ${row.held_permits} permits held, and its limit is ${limit.limit}. ` +
      "This is normal if the limit was lowered while they were held: they drain.";
    return { severity: "warning", check: "over_limit", message };
  });
  yield* checkPages(findings, max, "records", UNWOKEN, [nowUs], (row) => {
    const message = `${lockOf(row)} has waiters, and no wake-up scheduled for when it becomes due.`;
    return { severity: "error", check: "records", message };
  });
  const dueBy = [nowUs, nowUs, nowUs, nowUs];
  yield* checkPages(findings, max, "not_granted", FIRST_WAITERS, dueBy, (row) => {
    if (!fits(countersOf(row), limitOf(row, rules).limit, askedOf(row))) return null;
    const message = `Claim ${row.ticket_number} is first in the queue of ${lockOf(row)} and could be granted, but still waits.`;
    return { severity: "error", check: "not_granted", message };
  });
  return findings;
}

function* checkPages(
  findings: Finding[],
  max: number,
  check: string,
  sql: string,
  values: readonly number[],
  judge: (row: InvariantRow) => Finding | null,
): Generator<InvariantQuery, void, readonly InvariantRow[]> {
  let after = 0n;
  while (findings.length < max) {
    const rows = yield { name: `check_${check}`, sql, values: [after, ...values] };
    for (const row of rows) {
      const finding = judge(row);
      if (finding && findings.length < max) findings.push(finding);
      after = BigInt(row.lock_id as bigint);
    }
    if (rows.length < CHECK_PAGE) return;
  }
}

function lockOf(row: InvariantRow): string {
  return `lock ${JSON.stringify(text(row.name))}`;
}

function ruleOf(row: InvariantRow): LimitRule {
  return {
    prefix: text(row.prefix),
    limit: numberOrNull(row.limit_value),
    version: BigInt(row.version as bigint),
    reason: text(row.reason),
    changeMark: BigInt(row.change_mark as bigint),
  };
}

function limitOf(row: InvariantRow, rules: readonly LimitRule[]): EffectiveLimit {
  const lock = {
    name: text(row.name),
    limit: numberOrNull(row.limit_value),
    limitVersion: BigInt(row.limit_version as bigint),
    limitReason: text(row.limit_reason),
  };
  return effectiveLimit(lock, rules);
}

function countersOf(row: InvariantRow) {
  return {
    heldPermits: Number(row.held_permits),
    sharedHolders: Number(row.shared_holders),
    exclusiveHolders: Number(row.exclusive_holders),
    holders: Number(row.holders),
  };
}

function askedOf(row: InvariantRow): { mode: Mode; permits: number } {
  return { mode: MODES[Number(row.mode)] as Mode, permits: Number(row.permits) };
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}

function text(value: unknown): string {
  return Buffer.from(value as Uint8Array).toString("utf8");
}

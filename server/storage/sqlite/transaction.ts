// One deciding transaction: load, decide, save. It locks the whole database, so it locks no single guard rows.

import { DUE_MAX, FORCE_RELEASE_MAX, QUEUE_HEAD_MAX } from "../../core/bounds.ts";
import type { Claim } from "../../core/claim.ts";
import type { Clock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import { claimFromRow, type Row } from "../rows/from-rows.ts";
import {
  bytesOf,
  changingClaimValues,
  claimValues,
  lockValues,
  prefixRange,
  recordValues,
  STATE_CODES,
} from "../rows/values.ts";
import { HEADS_PER_RULE_LOCK } from "../storage-bounds.ts";
import type { Changes, DecideRows, Loaded, LoadPlan, StoreObserver } from "../store.ts";
import { LOCKS_PER_RULE_MAX } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";
import type { SqliteStatements } from "./statements.ts";
import { listOf, lockFromRow } from "./statements.ts";

/**
 * Runs the transaction. Throws the error of `decide`, or SQLite's; nothing was committed unless the error's kind is
 * `unknown_outcome`.
 */
export function transactOn(
  handle: SqliteHandle,
  plan: LoadPlan,
  decide: DecideRows,
  observer: StoreObserver | undefined,
): void {
  const startedMs = performance.now();
  let outcome: "committed" | "rolled_back" = "rolled_back";
  try {
    handle.inTransaction(() => decideAll(handle, plan, decide));
    outcome = "committed";
  } finally {
    // There is no network between the server and its file, so there are no round trips.
    observer?.transaction((performance.now() - startedMs) / 1000, 0, outcome);
  }
}

function decideAll(handle: SqliteHandle, first: LoadPlan, decide: DecideRows): void {
  const { statements } = handle;
  const clock = handle.readClock();
  let plan: LoadPlan | null = first;
  while (plan) {
    const loaded = load(handle, plan, clock);
    // Collected first, because the decision changes the locks.
    const recorded = new Set([...loaded.locks.values()].flatMap(({ id, record }) => (record ? [id] : [])));
    const changes = decide(loaded);
    save(statements, changes, recorded, clock.atLeastUs);
    plan = changes.again.length > 0 ? furtherPlan(changes.again) : null;
  }
}

function load(handle: SqliteHandle, plan: LoadPlan, clock: Clock): Loaded {
  const { statements } = handle;
  const { atLeastUs } = clock;
  const meta = handle.meta();
  const guards = plan.rule ? locksOfRule(statements, plan.rule) : plannedLocks(statements, plan);
  const claims = new Map<string, Claim>();
  const add = (row: Row | undefined) => {
    if (!row) return;
    const key = `${row[0]}.${row[1]}`;
    if (!claims.has(key)) claims.set(key, claimFromRow(row));
  };
  for (const key of plan.claims) add(statements.get("claim", key.lockId, key.ticketNumber));
  for (const id of plan.requestIds) add(statements.get("claim_by_request", bytesOf(id)));
  // Claims are rarely due, and this check costs a tenth of reading the due ones.
  if (guards.length > 0 && statements.get("anything_due", atLeastUs)) {
    const ids = listOf(guards.map(({ lock }) => lock.id));
    for (const row of statements.all("due_claims", atLeastUs, ids, DUE_MAX)) add(row);
  }
  for (const id of plan.holdersOf) {
    for (const row of statements.all("claims_in_state", id, STATE_CODES.held, FORCE_RELEASE_MAX)) add(row);
  }
  return {
    ...clock,
    ...meta,
    // A file has one server, and stays open as long as the server runs.
    isSuccessor: false,
    locks: new Map(guards.map(({ lock }) => [lock.id, lock])),
    claims: [...claims.values()],
    queues: new Map(
      guards
        .filter(({ lock }) => lock.waiting > 0)
        .map(({ lock, heads }) => [lock.id, queueHead(statements, lock, heads)]),
    ),
  };
}

/** `recorded`: the locks that had a record before the decision. */
function save(
  statements: SqliteStatements,
  changes: Changes,
  recorded: ReadonlySet<bigint>,
  decidedAtUs: number,
): void {
  for (const lock of changes.locks) {
    mustExist(
      statements.run("write_lock", ...lockValues(lock), decidedAtUs, lock.id),
      `guard row ${lock.id}`,
    );
    if (lock.record) statements.run("write_record", ...recordValues(lock));
    else if (recorded.has(lock.id)) statements.run("remove_record", lock.id);
  }
  for (const claim of changes.added) {
    statements.run("add_claim", ...claimValues(claim));
  }
  for (const claim of changes.changed) {
    const { lockId, ticketNumber } = claim;
    const ref = [lockId, ticketNumber, bytesOf(claim.secret)];
    const written = statements.run("write_claim", ...changingClaimValues(claim), ...ref);
    mustExist(written, `claim ${ticketNumber} of lock ${lockId}`);
  }
  const { rule } = changes;
  if (rule) {
    statements.run(
      "write_rule",
      bytesOf(rule.prefix),
      rule.limit,
      rule.version,
      bytesOf(rule.reason),
      rule.changeMark,
    );
    statements.run("raise_rules_revision");
  }
}

/** The plan for what a decision left unfinished. */
function furtherPlan(again: readonly bigint[]): LoadPlan {
  return {
    locks: again.map((id) => ({ id, heads: QUEUE_HEAD_MAX, likelyQueue: true })),
    claims: [],
    requestIds: [],
    holdersOf: [],
  };
}

interface Guard {
  readonly lock: Lock;
  readonly heads: number;
}

function plannedLocks(statements: SqliteStatements, plan: LoadPlan): Guard[] {
  const guards: Guard[] = [];
  for (const { id, heads } of plan.locks) {
    const row = statements.get("lock", id);
    if (row) guards.push({ lock: lockFromRow(statements, row), heads });
  }
  return guards;
}

function locksOfRule(statements: SqliteStatements, rule: NonNullable<LoadPlan["rule"]>): Guard[] {
  if (rule.rulesOnly) return [];
  const { from, below } = prefixRange(rule.prefix);
  return statements
    .all("locks_under_prefix", from, below, rule.afterLockId, LOCKS_PER_RULE_MAX)
    .map((row) => ({ lock: lockFromRow(statements, row), heads: HEADS_PER_RULE_LOCK }));
}

function queueHead(statements: SqliteStatements, lock: Lock, heads: number) {
  const rows = statements.all("claims_in_state", lock.id, STATE_CODES.waiting, heads);
  return { head: rows.map(claimFromRow), complete: rows.length < heads || rows.length >= lock.waiting };
}

/** A decision writes only what it read in this transaction, so a missing row is a bug and must not go unnoticed. */
function mustExist(written: number, what: string): void {
  if (written !== 1) throw new Error(`The ${what} was decided about but does not exist.`);
}

// One deciding transaction: load, decide, save. It locks the whole database, so it locks no single guard rows. Only this
// process writes the file, so the rows that the process knows are current. A transaction reads only unknown rows and
// unknown request ids.

import { DUE_MAX, FORCE_RELEASE_MAX, QUEUE_HEAD_MAX } from "../../core/bounds.ts";
import type { Claim } from "../../core/claim.ts";
import type { Clock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import type { Before } from "../known-locks/live-claims.ts";
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
    const decided = handle.inTransaction(() => decideAll(handle, plan, decide));
    if (decided) handle.known.learn(decided.read, decided.changes);
    outcome = "committed";
  } catch (error) {
    handle.known.doubt(plan.locks.map(({ id }) => id));
    throw error;
  } finally {
    // There is no network between the server and its file, so there are no round trips.
    observer?.transaction((performance.now() - startedMs) / 1000, 0, outcome);
  }
}

/** What a decision uses, and the rows as they were before it. */
interface Read {
  readonly loaded: Loaded;
  readonly before: Pick<Before, "lock">;
}

/** Returns what the transaction read and wrote; null: it took several rounds or changed a rule, so nothing is learnt. */
function decideAll(
  handle: SqliteHandle,
  plan: LoadPlan,
  decide: DecideRows,
): { readonly read: Read; readonly changes: Changes } | null {
  const { known } = handle;
  const clock = handle.readClock();
  const first = recall(handle, plan, clock) ?? load(handle, known.widened(plan), clock);
  for (let read = first; ; ) {
    const changes = decide(read.loaded);
    save(handle, changes, read.before, clock.atLeastUs);
    if (changes.again.length > 0) read = load(handle, furtherPlan(changes.again), clock);
    else if (read === first && !plan.rule) return { read, changes };
    else {
      known.doubt(first.loaded.locks.keys());
      return null;
    }
  }
}

/** Returns what a load would read, from memory; null: not all of it is known. */
function recall(handle: SqliteHandle, plan: LoadPlan, clock: Clock): Read | null {
  const known = handle.known.read(plan, clock);
  if (!known) return null;
  const { before, newRequestIds, ...rows } = known;
  // The id may belong to a claim that has ended, or to a claim of another lock.
  const claims = [...rows.claims];
  for (const id of newRequestIds) {
    const row = handle.statements.get("claim_by_request", bytesOf(id));
    if (row) claims.push(claimFromRow(row));
  }
  return { loaded: { ...clock, ...handle.meta(), isSuccessor: false, ...rows, claims }, before };
}

function load(handle: SqliteHandle, plan: LoadPlan, clock: Clock): Read {
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
  // Copies, because the decision changes the locks.
  const before = new Map(guards.map(({ lock }) => [lock.id, { ...lock }]));
  const loaded = {
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
  return { loaded, before: { lock: (id) => before.get(id) } };
}

function save(handle: SqliteHandle, changes: Changes, before: Read["before"], decidedAtUs: number): void {
  const { statements } = handle;
  for (const lock of changes.locks) {
    mustExist(
      statements.run("write_lock", ...lockValues(lock), decidedAtUs, lock.id),
      `guard row ${lock.id}`,
    );
    if (lock.record) statements.run("write_record", ...recordValues(lock));
    else if (before.lock(lock.id)?.record) statements.run("remove_record", lock.id);
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
    handle.forgetMeta();
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

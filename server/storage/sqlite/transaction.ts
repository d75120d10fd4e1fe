// One deciding transaction: load, decide, save. It locks the whole database, so it locks no single guard rows. The rows
// that this process knows are current, as only it writes the file, so only others are read, and unknown request ids.

import { DUE_MAX, POOL_QUEUE_READ, QUEUE_HEAD_MAX, SHARE_HOLDERS_MAX } from "../../core/bounds.ts";
import { type Claim, inOrder, isServerMade, keyText } from "../../core/claim.ts";
import type { Clock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import { groupAt, groupedBy } from "../../core/queue-rules.ts";
import type { GroupRead, PoolRows, Queue } from "../../core/rows.ts";
import { type Before, idsOf } from "../cached-locks.ts";
import {
  boundOf,
  claimFromRow,
  countersFromRow,
  hasRecord,
  holderFromRow,
  isAskedFor,
  mayBeDue,
  poolWaiterFromRow,
  type Row,
  recordsOf,
} from "../rows/from-rows.ts";
import { changeValues } from "../rows/kept-changes.ts";
import { type Moves, movesOf, placesOf, withoutDeadlines } from "../rows/placement.ts";
import { frontMaxOf, groupId, groupRead, groupsToRead, headsUnder } from "../rows/shares.ts";
import {
  asIs,
  bytesOf,
  claimValuesBy,
  historyValuesBy,
  type KeyOwner,
  prefixRange,
  recordValues,
  requestKeyOf,
  ruleValues,
  takenBy,
  writtenClaimValues,
} from "../rows/values.ts";
import {
  type DecideRows,
  LOCKS_PER_RULE_MAX,
  type Loaded,
  type LoadPlan,
  type StoreObserver,
  type Writes,
} from "../store.ts";
import { type GuardTimes, guardWrite } from "./guard-writes.ts";
import type { SqliteHandle } from "./handle.ts";
import { claimByRequest, type SqliteStatements } from "./statements.ts";

/** Throws the error of `decide`, or SQLite's; nothing was committed unless its kind is `unknown_outcome`. */
export function transactOn(
  handle: SqliteHandle,
  plan: LoadPlan,
  decide: DecideRows,
  observer: StoreObserver | undefined,
): void {
  const startedMs = performance.now();
  handle.statements.span = plan.span;
  let outcome: "committed" | "rolled_back" = "rolled_back";
  try {
    const { ended, learnt } = handle.inTransaction(() => decideAll(handle, plan, decide));
    handle.countEnded(ended);
    if (learnt) handle.cache.learn(learnt.read, learnt.writes);
    outcome = "committed";
  } catch (error) {
    handle.cache.doubt(idsOf(plan));
    throw error;
  } finally {
    handle.statements.span = undefined;
    // There is no network between the server and its file, so there are no round trips.
    observer?.transaction((performance.now() - startedMs) / 1000, 0, outcome);
  }
}

/** What a decision uses, and the rows as they were before it. */
export interface Read {
  readonly loaded: Loaded;
  readonly before: Pick<Before, "lock">;
}

interface Done {
  readonly ended: number;
  /** What it read and wrote; null: it took several rounds or changed a rule, so nothing is learnt. */
  readonly learnt: { readonly read: Read; readonly writes: Writes } | null;
}

function decideAll(handle: SqliteHandle, plan: LoadPlan, decide: DecideRows): Done {
  const { cache } = handle;
  let ended = 0;
  const clock = handle.readClock();
  const first = recall(handle, plan, clock) ?? load(handle, cache.widened(plan), clock);
  for (let read = first; ; ) {
    const writes = decide(read.loaded);
    ended += save(handle, writes, read.before, clock, handle.times);
    if (writes.again.length > 0) read = load(handle, furtherPlan(writes.again, plan.pools), clock);
    else if (read === first && !plan.rule) return { ended, learnt: { read, writes } };
    else {
      cache.doubt([...first.loaded.locks.keys(), ...(plan.pools ?? [])]);
      return { ended, learnt: null };
    }
  }
}

/** Returns what a load would read, from memory; null: not all of it is known. */
function recall(handle: SqliteHandle, plan: LoadPlan, clock: Clock): Read | null {
  const known = handle.cache.read(plan, clock);
  if (!known) return null;
  const { before, newRequestIds, ...rows } = known;
  // The id may belong to a claim that has ended, or to a claim of another lock.
  const claims = [...rows.claims];
  let takenRequestIds: Set<string> | undefined;
  for (const id of newRequestIds) {
    const claim = claimByRequest(handle.statements, id);
    if (claim) claim.group = groupAt(claim, rows.locks.get(claim.lockId)?.sharedBy ?? null);
    // A claim of another lock that is in memory, too: the decision must get it once.
    if (claim && before.claim(claim)) return null;
    if (claim?.requestId === id) claims.push(claim);
    else if (claim) takenRequestIds = (takenRequestIds ?? new Set()).add(id);
  }
  return {
    loaded: { ...clock, ...handle.meta(), isSuccessor: false, ...rows, claims, takenRequestIds },
    before,
  };
}

export function load(handle: SqliteHandle, plan: LoadPlan, clock: Clock): Read {
  const { statements } = handle;
  const { atLeastUs } = clock;
  const guards = plannedGuards(handle, plan, atLeastUs);
  const claims = new Map<string, Claim>();
  const sharedBy = new Map(guards.map(({ lock }) => [lock.id, lock.sharedBy]));
  const add = (claim: Claim) => {
    claim.group = groupAt(claim, sharedBy.get(claim.lockId) ?? null);
    const key = keyText(claim);
    if (!claims.has(key)) claims.set(key, claim);
  };
  const addRow = (row: Row | undefined) => {
    if (row) add(claimFromRow(row));
  };
  // Each claim once, although it may be asked for in several ways.
  for (const { lock, holder } of guards) {
    if (holder && isAskedFor(holder, lock, plan, atLeastUs)) add(holder);
  }
  for (const key of plan.claims)
    if (!claims.has(keyText(key))) addRow(statements.get("claim", key.lockId, key.ticketNumber));
  const owners: KeyOwner[] = [];
  for (const id of plan.requestIds) {
    if (!isServerMade(id)) {
      const claim = claimByRequest(statements, id);
      if (claim?.requestId === id) add(claim);
      else if (claim) owners.push({ key: requestKeyOf(id), requestId: claim.requestId });
    } else
      for (const { lock } of guards) addRow(statements.get("live_claim_of_request", lock.id, bytesOf(id)));
  }
  for (const { lock, isPassed } of guards) {
    if (isPassed) statements.all("due_claims", lock.id, atLeastUs, DUE_MAX).forEach(addRow);
  }
  for (const guard of guards)
    if (plan.holdersOf.includes(guard.lock.id)) holdersOf(statements, guard).forEach(add);
  const queues = new Map(
    guards
      .filter(({ lock }) => lock.waiting > 0)
      .map((guard): [bigint, Queue] => [guard.lock.id, queueHead(statements, guard)]),
  );
  let groups: Map<bigint, ReadonlyMap<string, GroupRead>> | undefined;
  for (const guard of guards) {
    const { lock } = guard;
    const queue = queues.get(lock.id);
    if (!queue || !groupedBy(lock.sharedBy)) continue;
    holdersOf(statements, guard).forEach(add);
    const wanted = groupsToRead({
      lock,
      queue,
      claims: [...claims.values()],
      joining: plan.joining?.(lock) ?? [],
      heads: guard.heads,
    });
    const read = [...wanted].map(([group, max]): [string, GroupRead] => [
      group,
      groupRead(claimsIn(lock, statements.all("group_queue", groupId(lock.id, group), max)), max),
    ]);
    groups = (groups ?? new Map()).set(lock.id, new Map(read));
  }
  const pools = plannedPools(handle, plan, atLeastUs);
  // Copies, because the decision changes the locks.
  const before = new Map(guards.map(({ lock }) => [lock.id, { ...lock }]));
  for (const [id, pool] of pools) if (pool) before.set(id, { ...pool.lock });
  const loaded = {
    ...clock,
    ...handle.meta(),
    // A file has one server, and stays open as long as the server runs.
    isSuccessor: false,
    locks: new Map(guards.map(({ lock }) => [lock.id, lock])),
    pools,
    claims: [...claims.values()],
    takenRequestIds: takenBy(plan.requestIds, owners),
    queues,
    groups,
  };
  return { loaded, before: { lock: (id) => before.get(id) } };
}

/**
 * Writes the changes. Returns how many rows it has added to the history. `times`: the known times of guard rows; unset if other
 * connections may have written them since the load.
 */
export function save(
  handle: SqliteHandle,
  writes: Writes,
  before: Read["before"],
  clock: Clock,
  times?: GuardTimes,
): number {
  const { statements } = handle;
  const moves = movesOf(writes, clock.nowUs);
  const writeGuard = (lock: Lock, was: Lock | undefined, moved: Moves) => {
    const { name, sql, values } = guardWrite(lock, was, moved, clock.atLeastUs, times);
    if (statements.write(name, sql, values) !== 1) missing(`guard row ${lock.id}`);
  };
  for (const { lock } of writes.pools ?? []) writeGuard(lock, before.lock(lock.id), withoutDeadlines(moves));
  for (const lock of writes.locks) {
    const was = before.lock(lock.id);
    writeGuard(lock, was, moves);
    const old = was?.record;
    if (old && old.principal !== lock.record?.principal) statements.run("remove_record", lock.id);
    if (lock.record) statements.run("write_record", ...recordValues(lock));
  }
  for (const claim of moves.added) statements.run("add_claim", ...claimValuesBy(asIs, claim));
  for (const claim of moves.changed) {
    const values = writtenClaimValues(claim);
    whereverItWas(claim, (...at) => statements.run("write_claim", ...at, ...values));
  }
  for (const claim of moves.removed) whereverItWas(claim, (...at) => statements.run("remove_claim", ...at));
  for (const claim of moves.ended) statements.run("add_to_history", ...historyValuesBy(asIs, claim));
  for (const { requestId, lockId, ticketNumber } of moves.requests)
    statements.run("add_request", requestKeyOf(requestId), lockId, ticketNumber);
  const { rule, noted = [] } = writes;
  for (const change of noted) statements.run("add_change", ...changeValues(change, clock.nowUs));
  if (rule) {
    statements.run("write_rule", ...ruleValues(rule));
    statements.run("raise_rules_revision");
    handle.forgetMeta();
  }
  return moves.ended.length;
}

/** Writes the row of a claim, which is most often that of a waiter. One key after the other, as a list takes longer. */
function whereverItWas(
  { lockId, ticketNumber, secret }: Claim,
  write: (lockId: bigint, place: bigint, ticketNumber: bigint, secret: Buffer) => number,
): void {
  const bytes = bytesOf(secret);
  for (const place of placesOf(ticketNumber).toReversed())
    if (write(lockId, place, ticketNumber, bytes) === 1) return;
  missing(`claim ${keyText({ lockId, ticketNumber })}`);
}

export function furtherPlan(again: readonly bigint[], pools: readonly bigint[] = []): LoadPlan {
  return {
    pools,
    locks: again.map((id) => ({ id, heads: QUEUE_HEAD_MAX, likelyQueue: true })),
    claims: [],
    requestIds: [],
    holdersOf: [],
  };
}

/** A guard row to decide about, and how much of its queue to read. */
interface PlannedGuard {
  readonly lock: Lock;
  /** The first holder; null: there is none in the guard row. */
  readonly holder: Claim | null;
  readonly heads: number;
  /** Whether something of the lock may be due. */
  readonly isPassed: boolean;
}

function plannedGuards(handle: SqliteHandle, { locks, rule }: LoadPlan, atUs: number): PlannedGuard[] {
  const { statements } = handle;
  const guards: PlannedGuard[] = [];
  for (const { id, heads } of locks) {
    const row = statements.get("lock", id);
    if (row) guards.push(plannedGuard(handle, row, heads, atUs));
  }
  if (!rule || rule.rulesOnly) return guards;
  const { from, below } = prefixRange(rule.prefix);
  for (const row of statements.all("locks_under_prefix", from, below, rule.afterLockId, LOCKS_PER_RULE_MAX))
    guards.push(plannedGuard(handle, row, headsUnder(rule, row[0] as bigint), atUs));
  return guards;
}

function plannedPools(
  handle: SqliteHandle,
  { pools = [] }: LoadPlan,
  atUs: number,
): Map<bigint, PoolRows | null> {
  const { statements } = handle;
  const rows = pools.map((id): [bigint, PoolRows | null] => {
    const row = statements.get("lock", id);
    if (!row) return [id, null];
    const { lock } = plannedGuard(handle, row, 0, atUs);
    const queue =
      lock.waiting === 0 ? [] : statements.all("pool_queue", id, POOL_QUEUE_READ).map(poolWaiterFromRow);
    return [id, { lock, queue, complete: queue.length >= lock.waiting }];
  });
  return new Map(rows);
}

/** The row is one of GUARD_LIST, and the time of the last decision. Reads the lock's record if it has one. */
function plannedGuard(handle: SqliteHandle, row: Row, heads: number, atUs: number): PlannedGuard {
  const counters = countersFromRow(row);
  const { id } = counters;
  handle.times.set(id, { decidedAtUs: Number(row.at(-1)), boundUs: boundOf(row) });
  const records = hasRecord(row) ? recordsOf([id], handle.statements.all("record", id)) : null;
  const lock = { ...counters, record: records?.get(id) ?? null };
  return { lock, holder: holderFromRow(row), heads, isPassed: mayBeDue(row, atUs) };
}

function holdersOf(statements: SqliteStatements, { lock, holder }: PlannedGuard): Claim[] {
  if (holder && lock.holders === 1) return [holder];
  const further = statements.all("holders", lock.id, SHARE_HOLDERS_MAX).map(claimFromRow);
  return inOrder(holder ? [holder, ...further] : further).slice(0, SHARE_HOLDERS_MAX);
}

function claimsIn({ sharedBy }: Lock, rows: readonly Row[]): Claim[] {
  const claims = rows.map(claimFromRow);
  if (sharedBy) for (const claim of claims) claim.group = groupAt(claim, sharedBy);
  return claims;
}

function queueHead(statements: SqliteStatements, { lock, heads }: PlannedGuard): Queue {
  if (lock.sharedBy && lock.waiting > heads) {
    const max = frontMaxOf(lock, heads);
    const front = claimsIn(lock, statements.all("front", lock.id, max));
    return { head: front, complete: false, frontComplete: front.length < max };
  }
  const head = claimsIn(lock, statements.all("waiters", lock.id, heads));
  return { head, complete: head.length < heads || head.length >= lock.waiting };
}

/** A decision writes only what it read in this transaction, so a missing row is a bug and must not go unnoticed. */
function missing(what: string): never {
  throw new Error(`The ${what} was decided about but does not exist.`);
}

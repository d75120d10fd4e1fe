// What a decision reads. A load locks the guard rows first, exclusively, by primary key in ascending order. Later statements
// read everything else, including the clock, so that none of it is older than the locks.
//
// Every statement that could lock names its index: on a small table the optimizer would scan all rows and wait for
// guard rows that other transactions hold.

import {
  DUE_MAX,
  POOL_QUEUE_READ,
  partsOf,
  QUEUE_HEAD_MAX,
  SHARE_HOLDERS_MAX,
} from "../../../core/bounds.ts";
import { type Claim, type ClaimKey, inOrder, isServerMade, keyText } from "../../../core/claim.ts";
import type { Clock, DatabaseClock } from "../../../core/database-clock.ts";
import type { Lock } from "../../../core/lock.ts";
import { groupAt } from "../../../core/queue-rules.ts";
import type { GroupRead, PoolRows, PoolWaiter, Queue } from "../../../core/rows.ts";
import type { Before } from "../../cached-locks.ts";
import {
  CLAIM_LIST,
  CLAIM_ROW_LENGTH,
  GUARD_LIST,
  HISTORY_LIST,
  HOLDER_LIST,
  POOL_WAITER_LIST,
} from "../../rows/columns.ts";
import {
  bigintOf,
  claimFromRow,
  countersFromRow,
  hasRecord,
  holderFromRow,
  isAskedFor,
  mayBeDue,
  poolWaiterFromRow,
  recordsOf,
} from "../../rows/from-rows.ts";
import { HOLDERS_IN_ORDER, WAITERS_IN_ORDER } from "../../rows/placement.ts";
import { frontMax, groupId, groupRead, groupsToRead, headsUnder } from "../../rows/shares.ts";
import { type KeyOwner, prefixRange, takenBy } from "../../rows/values.ts";
import { BRANCHES_MAX } from "../../storage-bounds.ts";
import { LOCKS_PER_RULE_MAX, type Loaded, type LoadPlan } from "../../store.ts";
import { type Connection, type Row, rowsOf, Trip } from "../connection/connection.ts";
import { isSuccessor, type RuleCache } from "../meta.ts";
import {
  type Branch,
  claimsByKey,
  claimsByRequest,
  monotonicUs,
  NOW_US,
  NOWAIT,
  RECORDS,
} from "../statements.ts";

export interface Read {
  readonly loaded: Loaded;
  readonly before: Before;
  /** What must be true for the decision to be valid; null: the guard rows are locked, so everything is. */
  readonly assumptions: Assumptions | null;
}

/** Assumptions in addition to what was read: the revisions of the guard rows, the values of rowlock_meta, the clock. */
export interface Assumptions {
  readonly newRequestIds: readonly string[];
  readonly serverIdentity: string;
}

export const BEGIN = "START TRANSACTION";
const GUARDS = `SELECT ${GUARD_LIST} FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id IN (?) ORDER BY l.id FOR UPDATE`;
const GUARDS_AT_ONCE = `${GUARDS} ${NOWAIT}`;
/** Pools come after all locks: see proof/pools/README.md. */
const POOL_QUEUE = `(SELECT ${POOL_WAITER_LIST}, c.pool_id FROM rowlock_claim c FORCE INDEX (rowlock_claim_pool)
  WHERE c.pool_id = ? ORDER BY c.pool_rank LIMIT ${POOL_QUEUE_READ})`;
const META = `SELECT ${NOW_US}, rules_revision, epoch, failed_over_at, grants_from, server_identity,
    level_min FROM rowlock_meta WHERE id = 1`;

// Branches of one statement, because the driver spends more on each result than the database on each branch. The last two
// columns say whether the row was read as part of a queue, and by which key of a request id.
const PART_OF_HEAD = 1;
const PART_OF_FRONT = 2;
const PART_OF_GROUP = 3;
const CLAIMS = `SELECT ${CLAIM_LIST}, 0, NULL FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE`;
const listsWith = (key: string) => ({
  holder: `${HOLDER_LIST}, 0, ${key}`,
  claim: `${CLAIM_LIST}, 0, ${key}`,
  history: `${HISTORY_LIST}, 0, ${key}`,
});
const LISTS = listsWith("NULL");
const LISTS_BY_REQUEST = listsWith("r.request_key");
const BY_SERVER_MADE_REQUEST = `(${CLAIMS} c.lock_id IN (?) AND c.request_id IN (?))`;
const HOLDERS = `(${CLAIMS} c.lock_id = ? AND ${HOLDERS_IN_ORDER} LIMIT ${SHARE_HOLDERS_MAX})`;
const QUEUE_HEAD = `(SELECT ${CLAIM_LIST}, ${PART_OF_HEAD}, NULL FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE c.lock_id = ? AND ${WAITERS_IN_ORDER} LIMIT ?)`;
const FRONT = `(SELECT ${CLAIM_LIST}, ${PART_OF_FRONT}, NULL FROM rowlock_claim c FORCE INDEX (rowlock_claim_turn)
  WHERE c.lock_id = ? AND c.turn >= 0 ORDER BY c.turn LIMIT ?)`;
const GROUP_QUEUE = `(SELECT ${CLAIM_LIST}, ${PART_OF_GROUP}, NULL FROM rowlock_claim c FORCE INDEX (rowlock_claim_pool)
  WHERE c.pool_id = ? ORDER BY c.pool_rank LIMIT ?)`;
const DUE = `(${CLAIMS} c.lock_id = ? AND c.deadline <= ? ORDER BY c.state DESC, c.ticket_number LIMIT ${DUE_MAX})`;

// A transaction that changes a rule locks this row first, and its locks after that.
const RULES_LOCK = "SELECT rules_revision FROM rowlock_meta WHERE id = 1 FOR UPDATE";
const WAITED_FOR = `SELECT DISTINCT c.lock_id
  FROM rowlock_claim c FORCE INDEX (PRIMARY) JOIN rowlock_lock l ON l.id = c.lock_id
  WHERE c.state = 1 AND c.lock_id > ? AND l.name >= ? AND l.name < ? ORDER BY c.lock_id LIMIT ${LOCKS_PER_RULE_MAX}`;

/** What a load uses beside the rows. */
type Sources = { readonly rules: RuleCache; readonly clock: DatabaseClock };

/** Begins the transaction, locks the guard rows and reads what the plan asks for. Throws a StoreError. */
export async function load(connection: Connection, plan: LoadPlan, sources: Sources): Promise<Read> {
  const trip = new Trip(plan.rule ? "load_rule" : "load");
  trip.add(BEGIN);
  if (plan.rule) trip.add(RULES_LOCK);
  if (!plan.rule || plan.rule.rulesOnly) return read(connection, trip, plan, sources);
  const { from, below } = prefixRange(plan.rule.prefix);
  const idsAt = trip.add(WAITED_FOR, plan.rule.afterLockId, from, below);
  const results = await connection.run(trip);
  const { rule } = plan;
  const ids = rowsOf(results[idsAt]).map(([id]) => bigintOf(id));
  const locks = ids.map((id) => ({ id, heads: headsUnder(rule, id), likelyQueue: true }));
  return read(connection, new Trip("load"), { ...plan, locks }, sources);
}

/** Reads again the locks that a decision left unfinished, in the same transaction and with the same clock. */
export async function loadAgain(
  connection: Connection,
  again: readonly bigint[],
  pools: readonly bigint[],
  sources: Sources,
  { nowUs, atLeastUs, jumpedAtUs, skippedUs, backAtUs }: Clock,
): Promise<Read> {
  const ids = [...again].sort((a, b) => (a < b ? -1 : 1));
  const locks = ids.map((id) => ({ id, heads: QUEUE_HEAD_MAX, likelyQueue: true }));
  const plan = { locks, pools, claims: [], requestIds: [], holdersOf: [] };
  const next = await read(connection, new Trip("load"), plan, sources);
  return { ...next, loaded: { ...next.loaded, nowUs, atLeastUs, jumpedAtUs, skippedUs, backAtUs } };
}

async function read(connection: Connection, trip: Trip, plan: LoadPlan, sources: Sources): Promise<Read> {
  const ids = plan.locks.map(({ id }) => id);
  const { pools = [] } = plan;
  const guards = plan.impatient ? GUARDS_AT_ONCE : GUARDS;
  const guardsAt = ids.length > 0 ? trip.add(guards, ids) : null;
  const poolsAt = pools.length > 0 ? trip.add(guards, pools) : null;
  const queuesAt =
    poolsAt === null ? null : trip.add(pools.map(() => POOL_QUEUE).join(" UNION ALL "), ...pools);
  const metaAt = trip.add(META);
  const claimsAt = addBranches(trip, branchesOf(plan, new Set(ids)));
  const askedUs = monotonicUs();
  const results = await connection.run(trip);
  const answeredUs = monotonicUs();

  const [meta] = rowsOf(results[metaAt]);
  if (!meta) throw new Error("The row of rowlock_meta is missing.");
  const [now, rulesRevision, epoch, atUs, grantsFromUs, identity, levelMin] = meta;
  const rows = new ReadRows(plan, Number(now));
  if (guardsAt !== null) rows.takeLocks(rowsOf(results[guardsAt]));
  if (poolsAt !== null && queuesAt !== null)
    rows.takePools(rowsOf(results[poolsAt]), rowsOf(results[queuesAt]));
  for (const at of claimsAt) rows.takeClaims(rowsOf(results[at]));
  const { revision, limitRules } = await sources.rules.at(connection, bigintOf(rulesRevision));
  await readFurther(connection, plan, rows);
  const queues = queuesOf(plan, rows);
  const groups = await readGroups(connection, plan, rows, queues);
  return {
    loaded: {
      ...sources.clock.read(Number(now), askedUs, answeredUs),
      failOver: { epoch: bigintOf(epoch), atUs: Number(atUs), grantsFromUs: Number(grantsFromUs) },
      isSuccessor: isSuccessor(connection, identity),
      rulesRevision: revision,
      levelMin: Number(levelMin),
      limitRules,
      locks: rows.locks,
      pools: rows.pools,
      claims: rows.asked,
      takenRequestIds: takenBy(plan.requestIds, rows.owners),
      queues,
      groups,
    },
    before: rows,
    assumptions: null,
  };
}

function branchesOf(plan: LoadPlan, planned: ReadonlySet<bigint>): Branch[] {
  const branches: Branch[] = [];
  const isPlanned = ({ lockId }: ClaimKey) => planned.has(lockId);
  // The guard rows of the plan are read anyway, with their holders.
  branches.push(...claimsByKey(LISTS, plan.claims.filter(isPlanned)).slice(1));
  const others = plan.claims.filter((key) => !isPlanned(key));
  branches.push(...claimsByKey(LISTS, others));
  const ofClients = plan.requestIds.filter((id) => !isServerMade(id));
  branches.push(...claimsByRequest(LISTS_BY_REQUEST, ofClients));
  const serverMade = plan.requestIds.filter(isServerMade);
  if (serverMade.length > 0 && planned.size > 0)
    branches.push([BY_SERVER_MADE_REQUEST, [...planned], serverMade]);
  for (const id of plan.holdersOf) branches.push([HOLDERS, id]);
  for (const { id, heads, likelyQueue, hasShares } of plan.locks) {
    if (likelyQueue) branches.push([QUEUE_HEAD, id, heads]);
    if (hasShares) branches.push([FRONT, id, frontMax(heads)]);
    if (hasShares && !plan.holdersOf.includes(id)) branches.push([HOLDERS, id]);
  }
  return branches;
}

/** Adds the branches in as few statements as possible; returns the indexes of their results. */
function addBranches(trip: Trip, branches: readonly Branch[]): number[] {
  const places: number[] = [];
  for (const part of partsOf(branches, BRANCHES_MAX)) {
    const sql = part.map(([text]) => text).join(" UNION ALL ");
    places.push(trip.add(sql, ...part.flatMap(([, ...values]) => values)));
  }
  return places;
}

/** Reads what only the guard rows reveal: records, what is due, and the heads of queues that the plan did not expect. */
async function readFurther(connection: Connection, plan: LoadPlan, rows: ReadRows): Promise<void> {
  const { locks, recorded, passed, nowUs } = rows;
  const waitedFor = plan.locks.filter(({ id }) => locks.get(id)?.waiting);
  const unread = waitedFor.filter(({ likelyQueue }) => !likelyQueue);
  const shared = waitedFor.filter(({ id }) => locks.get(id)?.sharedBy);
  for (const { id } of shared) rows.askHolder(id);
  const unexpected = shared.filter(({ hasShares }) => !hasShares);
  if (unread.length + recorded.length + passed.length + unexpected.length === 0) return;
  const trip = new Trip(recorded.length > 0 ? "load_records" : "load_queues");
  const places = addBranches(trip, [
    ...passed.map((id): Branch => [DUE, id, nowUs]),
    ...unread.map(({ id, heads }): Branch => [QUEUE_HEAD, id, heads]),
    ...unexpected.flatMap(({ id, heads }): Branch[] => [
      [FRONT, id, frontMax(heads)],
      [HOLDERS, id],
    ]),
  ]);
  const recordsAt = recorded.length > 0 ? trip.add(RECORDS, recorded) : null;
  const results = await connection.run(trip);
  for (const at of places) rows.takeClaims(rowsOf(results[at]));
  if (recordsAt !== null) rows.takeRecords(rowsOf(results[recordsAt]));
}

/** Reads the first waiters of the groups that a decision may need, of locks whose shares are fair. */
async function readGroups(
  connection: Connection,
  plan: LoadPlan,
  rows: ReadRows,
  queues: ReadonlyMap<bigint, Queue>,
): Promise<Loaded["groups"]> {
  const reads = plan.locks.flatMap(({ id, heads }) => {
    const lock = rows.locks.get(id);
    const queue = queues.get(id);
    if (!lock?.sharedBy || !queue) return [];
    const joining = plan.joining?.(lock) ?? [];
    return [{ id, wanted: groupsToRead({ lock, queue, claims: rows.asked, joining, heads }) }];
  });
  if (reads.length === 0) return undefined;
  const branches = reads.flatMap(({ id, wanted }) =>
    [...wanted].map(([group, max]): Branch => [GROUP_QUEUE, groupId(id, group), max]),
  );
  if (branches.length > 0) {
    const trip = new Trip("load_groups");
    const places = addBranches(trip, branches);
    const results = await connection.run(trip);
    for (const at of places) rows.takeClaims(rowsOf(results[at]));
  }
  return new Map(
    reads.map(({ id, wanted }) => {
      const read = [...wanted].map(([group, max]): [string, GroupRead] => [
        group,
        groupRead(rows.ofGroup(id, group), max),
      ]);
      return [id, new Map(read)];
    }),
  );
}

/** Returns the heads of all queues by lock, and whether each is the whole queue. */
function queuesOf(plan: LoadPlan, rows: ReadRows): Loaded["queues"] {
  const queues = new Map<bigint, Queue>();
  for (const { id, heads } of plan.locks) {
    const { waiting = 0, sharedBy } = rows.locks.get(id) ?? {};
    if (waiting === 0) continue;
    const head = rows.heads.get(id) ?? [];
    const complete = head.length < heads || head.length >= waiting;
    const front = rows.fronts.get(id) ?? [];
    const isFront = sharedBy && !complete;
    queues.set(
      id,
      isFront ? { head: front, complete, frontComplete: front.length < frontMax(heads) } : { head, complete },
    );
  }
  return queues;
}

/** Collects rows, also as they were. A claim becomes one object, however many branches have read it. */
class ReadRows implements Before {
  readonly locks = new Map<bigint, Lock>();
  readonly pools = new Map<bigint, PoolRows | null>();
  readonly asked: Claim[] = [];
  readonly heads = new Map<bigint, Claim[]>();
  /** Those at the front of locks whose shares are fair. */
  readonly fronts = new Map<bigint, Claim[]>();
  /** Read as parts of the queues of their groups. */
  readonly #inGroups = new Set<Claim>();
  /** The keys of request ids of the plan that belong to others. */
  readonly owners: KeyOwner[] = [];
  readonly recorded: bigint[] = [];
  /** Ids of locks of which something may be due. */
  readonly passed: bigint[] = [];
  readonly nowUs: number;
  readonly #plan: LoadPlan;
  readonly #locksBefore = new Map<bigint, Lock>();
  readonly #claims = new Map<string, { readonly claim: Claim; readonly before: Claim }>();
  readonly #asked = new Set<Claim>();
  /** Those in guard rows. */
  readonly #firstHolders = new Map<bigint, Claim>();

  /** `nowUs`: the database's clock; what has a deadline until then is due. */
  constructor(plan: LoadPlan, nowUs: number) {
    this.#plan = plan;
    this.nowUs = nowUs;
  }

  lock(id: bigint): Lock | undefined {
    return this.#locksBefore.get(id);
  }

  claim(key: ClaimKey): Claim | undefined {
    return this.#claims.get(keyText(key))?.before;
  }

  takeLocks(rows: readonly Row[]): void {
    for (const row of rows) {
      const lock = { ...countersFromRow(row), record: null };
      this.locks.set(lock.id, lock);
      this.#locksBefore.set(lock.id, { ...lock });
      if (hasRecord(row)) this.recorded.push(lock.id);
      if (mayBeDue(row, this.nowUs)) this.passed.push(lock.id);
      const holder = holderFromRow(row);
      if (!holder) continue;
      const claim = this.#claimOf(holder);
      this.#firstHolders.set(lock.id, claim);
      if (isAskedFor(claim, lock, this.#plan, this.nowUs)) this.#ask(claim);
    }
  }

  takePools(rows: readonly Row[], waiters: readonly Row[]): void {
    for (const id of this.#plan.pools ?? []) this.pools.set(id, null);
    const queues = new Map<bigint, PoolWaiter[]>();
    for (const row of waiters) {
      const poolId = bigintOf(row.at(-1) as Row[number]);
      const queue = queues.get(poolId);
      if (queue) queue.push(poolWaiterFromRow(row));
      else queues.set(poolId, [poolWaiterFromRow(row)]);
    }
    for (const row of rows) {
      const lock = { ...countersFromRow(row), record: null };
      // A union need not keep the order.
      const queue = (queues.get(lock.id) ?? []).sort((a, b) => (a.rank < b.rank ? -1 : 1));
      this.pools.set(lock.id, { lock, queue, complete: queue.length >= lock.waiting });
      this.#locksBefore.set(lock.id, { ...lock });
    }
  }

  takeRecords(rows: readonly Row[]): void {
    for (const [id, record] of recordsOf(this.recorded, rows))
      for (const lock of [this.locks.get(id), this.#locksBefore.get(id)]) if (lock) lock.record = record;
  }

  takeClaims(rows: readonly Row[]): void {
    for (const row of rows) {
      const claim = this.#claimOf(claimFromRow(row));
      const { requestId } = claim;
      const key = row[CLAIM_ROW_LENGTH + 1];
      const part = Number(row[CLAIM_ROW_LENGTH]);
      if (part === PART_OF_HEAD) addTo(this.heads, claim);
      else if (part === PART_OF_FRONT) addTo(this.fronts, claim);
      else if (part === PART_OF_GROUP) this.#inGroups.add(claim);
      else if (key instanceof Uint8Array && !this.#plan.requestIds.includes(requestId))
        this.owners.push({ key, requestId });
      else this.#ask(claim);
    }
  }

  /** Adds the holder in the guard row to the claims that are asked for. */
  askHolder(lockId: bigint): void {
    const holder = this.#firstHolders.get(lockId);
    if (holder) this.#ask(holder);
  }

  /** In order of arrival. */
  ofGroup(lockId: bigint, group: string): Claim[] {
    return inOrder([...this.#inGroups].filter((claim) => claim.lockId === lockId && claim.group === group));
  }

  #claimOf(read: Claim): Claim {
    const key = keyText(read);
    const known = this.#claims.get(key);
    if (known) return known.claim;
    read.group = groupAt(read, this.locks.get(read.lockId)?.sharedBy ?? null);
    this.#claims.set(key, { claim: read, before: { ...read } });
    return read;
  }

  #ask(claim: Claim): void {
    if (this.#asked.has(claim)) return;
    this.#asked.add(claim);
    this.asked.push(claim);
  }
}

function addTo(queues: Map<bigint, Claim[]>, claim: Claim): void {
  const queue = queues.get(claim.lockId);
  if (queue) queue.push(claim);
  else queues.set(claim.lockId, [claim]);
}

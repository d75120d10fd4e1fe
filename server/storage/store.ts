// The seam to the database: what the engine needs of a store, as contracts that the suite in test/storage tests on
// each of them. Owns no logic. Times are the database's clock in microseconds since 1970, as numbers (exact until the
// year 2255); ids, ticket numbers, tokens and versions are bigint end to end.

import type { Claim, ClaimKey, ClaimRef } from "../core/claim.ts";
import type { DatabaseClock } from "../core/database-clock.ts";
import type { LimitRule } from "../core/limit.ts";
import type { Counters, GuardRow, Lock } from "../core/lock.ts";
import type { Rows } from "../core/rows.ts";

/** A guard row to take, and how much of its queue to read. */
export interface LockPlan {
  readonly id: bigint;
  /** How many waiters to read from the head of the queue, if it has any. 1 to QUEUE_HEAD_MAX. */
  readonly heads: number;
  /** A guess: reads the head along with the guard. Where it guessed wrong, a queue costs a further round trip. */
  readonly likelyQueue: boolean;
  /** Whether it is about what is due, or about one who waits, wherever that is in the queue. */
  readonly anywhereInQueue?: boolean;
}

/** What one transaction locks and reads. */
export interface LoadPlan {
  /**
   * Fail at once where another transaction holds a row that this one has to lock (see `isRowLocked`), instead of waiting
   * for it for some seconds. With a rule, only the lock on the rules is waited for, when nothing else is held yet.
   */
  readonly impatient?: boolean;
  /** Guard rows to take exclusively. In ascending order of ids, each once. */
  readonly locks: readonly LockPlan[];
  /** Claims to read by key. Keys that do not exist are left out of the answer. */
  readonly claims: readonly ClaimKey[];
  /** Claims to read by request id, at whatever lock they are. */
  readonly requestIds: readonly string[];
  /** Locks of which all holders are to be read, oldest first, FORCE_RELEASE_MAX of each. */
  readonly holdersOf: readonly bigint[];
  /**
   * A pattern's prefix whose rule is to be changed: the rules are locked first, and up to LOCKS_PER_RULE_MAX locks
   * under the prefix that have waiters, with ids above `afterLockId`, in ascending order, take the place of `locks`
   * (which must be empty). `rulesOnly`: no lock does.
   */
  readonly rule?: { readonly prefix: string; readonly afterLockId: bigint; readonly rulesOnly?: boolean };
}

/** Locks with waiters that are decided in the transaction that changes a pattern; the rest follows in further ones. */
export const LOCKS_PER_RULE_MAX = 500;

/**
 * What a decision goes by: the rows, and the database's clock. Either they were read with the guard rows locked, the
 * clock in a statement of its own after that. Or they are assumed, from what the store itself has written last: then
 * the transaction asserts all of it as it writes, and where anything has changed, it writes nothing and fails as
 * `transient`.
 */
export interface Loaded extends Rows {
  /**
   * The rows were written through another server than the one that answers: it is a copy that was promoted, or
   * restored. Nothing must be decided before `failOver` has noted that.
   */
  readonly isSuccessor: boolean;
  /** Of the limit rules; it rises with each change of one. */
  readonly rulesRevision: bigint;
  /** Those that the plan asked for and, of the plan's locks, those that are due: DUE_MAX at the most. */
  readonly claims: readonly Claim[];
}

/** What to write. */
export interface Changes {
  /** Guard rows, each with a raised revision. Every lock that was decided about is here, changed or not. */
  readonly locks: readonly Lock[];
  readonly added: readonly Claim[];
  /** By key and secret. One that is not there any more fails the whole transaction. */
  readonly changed: readonly Claim[];
  readonly rule?: LimitRule;
  /**
   * Locks whose decision has to go on: after these changes are written they are read again in the same transaction,
   * with QUEUE_HEAD_MAX heads, and `decide` is called again. Empty when done.
   */
  readonly again: readonly bigint[];
}

/** What to note of a fail-over. */
export interface FailOverNote {
  /** The epoch of the rows that told of it. Where another replica has noted it since, nothing is changed. */
  readonly seenEpoch: bigint;
  /** The new epoch is no lower. */
  readonly epochMin: bigint;
  /** How long nothing is granted: the longest time to live of a lease in the rows, within these bounds. */
  readonly pauseUsMin: number;
  readonly pauseUsMax: number;
}

/** Called synchronously inside the transaction, so nothing can be waited for while row locks are held. */
export type DecideRows = (loaded: Loaded) => Changes;

/** A lock as listings show it. */
export interface LockView {
  readonly lock: Lock;
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
}

/** Which locks a listing is of. */
export interface LockQuery {
  readonly prefix: string;
  /** Only names after this one, which need not be there; null: from the first. */
  readonly afterName: string | null;
  readonly max: number;
  /** `busy`: those with a holder or a waiter; `limited`: those with a limit of their own. */
  readonly which: "all" | "busy" | "limited";
}

/** A lock that is waited for, by its size. */
export type WaitedLock = Pick<Lock, "id" | "holders" | "waiting">;

/** What the poll sees of some locks. */
export interface Watched {
  /** Of the guard rows; missing ones are left out. */
  readonly revisions: Map<bigint, bigint>;
  /**
   * With a held or waiting claim whose deadline has passed, a record whose `wakesAtUs` has, or waiters that nobody has looked
   * at since a fail-over's pause.
   */
  readonly due: bigint[];
  /** In how many microseconds the first such time of each of the others passes. */
  readonly dueSoon: Map<bigint, number>;
  /** Of the limit rules, as committed. Decisions that begin from now on, at the same server of the database, go by it. */
  readonly rulesRevision: bigint;
}

/** A lock that is held or waited for, for gauges. */
export interface BusyLock {
  readonly lock: Counters;
  readonly oldestWaiterSinceUs: number | null;
}

/** Locks with records that an index has together: those with one status in one folder. */
export interface RecordGroup {
  /** What their names have up to and with their last slash. */
  readonly folder: string;
  readonly status: string;
}

/** A lock that nobody holds or waits for, and that has attempts left. */
export interface FreeLock {
  readonly id: bigint;
  readonly name: string;
  /** Since when it may be granted; 0: always. */
  readonly dueAtUs: number;
  /** Of its own; null: patterns and the default apply. */
  readonly limit: number | null;
}

/** A place among free locks, in the order in which they are found. */
export type FreePlace = Pick<FreeLock, "dueAtUs" | "name">;

/** Which of the free locks of a group are wanted. */
export interface WantedNames {
  /** Those whose names begin so. */
  readonly prefix: string;
  /** Of these only those with limits of their own. */
  readonly paused: readonly PausedNames[];
}

/** Names for which a pattern says that nothing is granted. */
export interface PausedNames {
  readonly prefix: string;
  /** Not those that begin so: a longer pattern says otherwise. */
  readonly except: readonly string[];
}

/** A lock as found by its name. */
export interface NamedLock extends Omit<FreeLock, "dueAtUs"> {
  /** null: somebody holds it or waits for it, or it has no attempts left. */
  readonly dueAtUs: number | null;
  readonly status: string;
}

/** A guard row as those see it who look for changes. */
export type DecidedLock = Pick<Lock, "id" | "name" | "revision" | "holders" | "waiting">;

/** A place among the guard rows in the order in which they were last decided about. */
export interface DecidedFrom {
  readonly atUs: number;
  /** Of those that were decided about at that time, only these. */
  readonly afterLockId: bigint;
}

/** One page of them. */
export interface DecidedPage {
  /** The clock before the rows were read. */
  readonly nowUs: number;
  /** Of the last fail-over. */
  readonly epoch: bigint;
  /** Another one with each change of a limit rule. */
  readonly rulesRevision: bigint;
  readonly locks: readonly DecidedLock[];
  /** Where the next page begins; null: this is the last one. */
  readonly next: DecidedFrom | null;
}

/**
 * A guard row may say that it was decided about by so much earlier than it was; a second, so that the time is not written
 * with each decision. That it was so is then seen later by as long as its transaction lasts.
 */
export const DECIDED_AT_STEP_US = 1_000_000;

export interface QueuePlace {
  readonly ticketNumber: bigint;
  readonly permits: number;
}

export interface ReplicaRow {
  readonly id: bigint;
  /** Where other replicas reach it, host:port; port 0 where none can. */
  readonly address: string;
  readonly version: string;
  /** Those who poke it have to know it; empty: it is not to be poked. */
  readonly secret: string;
}

/** A replica as the register has it. */
export interface RegisteredReplica extends ReplicaRow {
  readonly sinceUs: number;
  /** It decides by limit rules of this revision or a later one; -1: it has not said so yet. */
  readonly rulesRevision: bigint;
  /** Until when it counts as there, unless it is heard of again. */
  readonly deadlineUs: number;
}

/** How long the mark of a witness is kept that writes no further one. */
export const WITNESS_KEPT_US = 90 * 86_400_000_000;

/** How long a replica counts as there after it was last heard of. */
export const REPLICA_KEPT_US = 20_000_000;
/** Servers that are read from the register: more than anybody runs over one database. */
export const REPLICAS_MAX = 1_000;

/** One thing that `rowlock doctor` found. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** Stable: `durability`, `counters`, `over_limit`, ... */
  readonly check: string;
  /** What is wrong and what to do. */
  readonly message: string;
}

/** Counts and times what a store does; implemented by metrics. */
export interface StoreObserver {
  statement(name: string, seconds: number): void;
  /** One transaction that changed state: its time, the round trips it took, whether it was committed. */
  transaction(seconds: number, roundTrips: number, outcome: "committed" | "rolled_back"): void;
  connection(event: "opened" | "closed" | "destroyed"): void;
}

/** The state of a pool, for gauges. */
export interface PoolState {
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Of so many guard rows that do not exist: how many may be created. */
export type RoomForNames = (missing: number) => number;

/**
 * `resolve`, `transact` and `failOver` are tried once: who calls them repeats them. The other writes are repeated by the
 * store itself.
 */
export interface Store {
  /** Product and version, for the first screen and build info: `MariaDB 10.11.19`. */
  readonly product: string;
  /** The host from which this process reaches the database; null: not over a network. */
  readonly localHost: string | null;
  /** How many transactions are worth running at once. */
  readonly lanes: number;
  /** How many transactions beside those may wait for row locks at once. */
  readonly patientSlots: number;
  /** What is known of the database's clock, from each reading in `transact` and `dueLocks`. */
  readonly clock: DatabaseClock;
  /** How many reads for display and for answers may run at once, so that they do not take what transactions need. */
  readonly readers: number;

  /**
   * Ids of the named locks, creating guard rows that do not exist, in statements of their own. A new guard row starts
   * at the token floor, so that a name that comes back never sees an old token. Names are byte strings in UTF-8;
   * `Job`, `job` and `Job ` are three. Names for which there is no room are left out.
   */
  resolve(names: readonly string[], roomFor?: RoomForNames): Promise<Map<string, bigint>>;
  /** The same without creating: unknown names are left out. */
  find(names: readonly string[]): Promise<Map<string, bigint>>;

  /**
   * One transaction: locks the guard rows and reads, or assumes what would be read; calls `decide` (again for what it left
   * unfinished), writes, commits. Whatever `decide` throws rolls back and is rethrown. Fails with a StoreError of kind
   * `transient` (rolled back, repeat it), `unknown_outcome` (it may have been committed: repeat it with commands that
   * recognise their own work) or `unavailable`.
   */
  transact(plan: LoadPlan, decide: DecideRows): Promise<void>;

  /**
   * Notes that the database has become another server, or an older copy of itself: raises the epoch and lets nothing be
   * granted for a while. Safe to repeat. Answers for how long from now nothing is granted.
   */
  failOver(note: FailOverNote): Promise<number>;

  /**
   * A sign of life for the places of waiters that this replica holds streams for: deadline = min(now + keepForUs,
   * wait_until), replica = this one, where the claim still waits. Takes no guard row: it changes no state, and a claim
   * that a decision has just ended stays ended. Waits for nobody: answers for which waiters it could not be given,
   * because another transaction holds their rows.
   */
  heartbeat(replica: bigint, claims: readonly ClaimRef[], keepForUs: number): Promise<readonly ClaimKey[]>;
  /**
   * Registers the replica, or says that it is still there, and by which limit rules it decides. Proves that the database can
   * be written.
   */
  register(replica: ReplicaRow, keepForUs: number, rulesRevision: bigint): Promise<void>;
  /**
   * Writes the mark of a witness, where the database has one of these or this mark already; `expected` null: whatever it has.
   * With the database's clock.
   */
  mark(
    witness: bigint,
    expected: readonly bigint[] | null,
    mark: bigint,
  ): Promise<{ readonly isDone: boolean; readonly nowUs: number }>;
  /** The register of replicas, oldest first. Those that have died may be among them, past their deadline. */
  replicas(max: number): Promise<{ nowUs: number; replicas: RegisteredReplica[] }>;
  /** Takes the replica out of the register, with the mark of the witness that has its number. */
  retire(replica: bigint): Promise<void>;
  /** For the poll, in one statement. Deadlines that come within `aheadUs` are told, too. Without locks, only the rules are read. */
  watch(lockIds: readonly bigint[], aheadUs: number): Promise<Watched>;
  /** Claims by key, as committed, with the clock at which they were read. */
  claims(keys: readonly ClaimKey[]): Promise<{ nowUs: number; claims: Claim[] }>;
  /** Claims by request id, at whatever lock, likewise. */
  claimsByRequest(requestIds: readonly string[]): Promise<{ nowUs: number; claims: Claim[] }>;
  /**
   * Locks with a held or waiting claim whose deadline has passed, or a record whose `wakesAtUs` has, and with ids above
   * `afterLockId`, in ascending order. With the clock at which they were read.
   */
  dueLocks(afterLockId: bigint, max: number): Promise<{ nowUs: number; lockIds: bigint[] }>;
  /** Deletes ended claims whose retention has passed, by the database's clock and before `untilUs`; how many. */
  purgeClaims(untilUs: number, max: number): Promise<number>;
  /**
   * Deletes guard rows of locks without any claim or record and whose limit was never set (else its version would fall),
   * that were last decided about more than `idleUs` ago, after raising the token floor to theirs. How many.
   */
  purgeLocks(idleUs: number, max: number): Promise<number>;

  /** The whole queue of a lock, in order, as committed. A read for display; grows with the queue. */
  queue(lockId: bigint): Promise<{ nowUs: number; places: QueuePlace[] }>;
  /** First holders of a lock, oldest first. */
  holders(lockId: bigint, max: number): Promise<{ nowUs: number; claims: Claim[] }>;
  /**
   * A step of a listing: the next guard rows, in byte order of their names, at most `max`; fewer, or none, where more
   * would take longer than a step should. `next`: the name after which the next step begins; null: there is none.
   */
  list(query: LockQuery): Promise<{ locks: GuardRow[]; next: string | null }>;
  /**
   * Groups of locks with records whose names may begin with the prefix, in order of folder and status and after `after`, at
   * most `max`. Steps from one to the next, however many locks there are between them, in a bounded number of reads: `isLast`
   * says whether there are no more behind them.
   */
  recordGroups(
    prefix: string,
    after: RecordGroup | null,
    max: number,
  ): Promise<{ groups: readonly RecordGroup[]; isLast: boolean }>;
  /**
   * Wanted locks of these groups that are free and due by now, those longest due first, then by the bytes of their names;
   * after `after`. Reads so many entries of each group at the most, wanted or not, and none of locks that are not free or not
   * due. `next`: up to which place it has looked; null: at all that there are. As committed: whoever wants one asks for it.
   */
  freeLocks(
    groups: readonly RecordGroup[],
    after: FreePlace | null,
    wanted: WantedNames,
    entries: number,
  ): Promise<{ locks: readonly FreeLock[]; next: FreePlace | null }>;
  /** In how long the next lock of these groups that is free is due, no longer than was asked for; null: none is. */
  nextDueIn(groups: readonly RecordGroup[]): Promise<number | null>;
  /** Locks by name, with or without a record; those that nobody has named are left out. With the latest that the clock may be. */
  namedLocks(names: readonly string[]): Promise<{ nowUs: number; locks: readonly NamedLock[] }>;
  /**
   * Guard rows that were decided about from `from` on until `untilUs` (null: until now), in order, at most `max`. One that
   * was decided about several times may be among those of an earlier time: see DECIDED_AT_STEP_US. Sees all that was committed
   * before it was called, at whatever server of a cluster, and waits for that where it has to.
   */
  decidedSince(from: DecidedFrom, untilUs: number | null, max: number): Promise<DecidedPage>;
  /**
   * Locks under the prefix that are waited for: those whose first waiter came earliest, or those with most waiters, first.
   * Grows with the number of claims that wait.
   */
  waitedLocks(prefix: string, order: "longest_wait" | "most_waiters", max: number): Promise<WaitedLock[]>;
  /**
   * These locks with `shown` holders and waiters each, all as of one moment, in this order; those that are gone are left
   * out. Reads all of them at once: the caller sees to it that they are few.
   */
  views(ids: readonly bigint[], shown: number): Promise<LockView[]>;
  /** One lock by its name, likewise. */
  view(name: string, shown: number): Promise<LockView | null>;
  /** Limit rules, as committed. */
  limitRules(): Promise<readonly LimitRule[]>;
  /**
   * Tells all locks that are held or waited for, each once, in pages. On MySQL as of one moment. No statement of it takes longer
   * the more there are; how often it is done is for the caller to bound.
   */
  busyLocks(see: (locks: readonly BusyLock[]) => void): Promise<void>;

  /** Compares counters with rows and rows with each other; at most `max` findings. */
  checkInvariants(max: number): Promise<Finding[]>;
  /** What about the server's settings could lose acknowledged commits. */
  checkDurability(): Promise<Finding[]>;
  pool(): PoolState;
  close(): Promise<void>;
}

/** Why a store could not do something. The cause is for the log; the message may be shown to an operator. */
export class StoreError extends Error {
  readonly kind: "transient" | "unknown_outcome" | "unavailable";
  /** Label for metrics: `deadlock`, `lock_wait_timeout`, `connection_lost`, `read_only`, `full`, ... */
  readonly reason: string;

  constructor(kind: StoreError["kind"], reason: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
    this.kind = kind;
    this.reason = reason;
  }
}

/** StoreError.reason of a transaction that went by what had changed meanwhile: nothing of it was done. */
export const CHANGED = "changed";

/** StoreError.reason of a transaction that met a row which another one holds; at once, where it was impatient. */
export const ROW_LOCKED = "lock_wait_timeout";

/** Whether the transaction may have been committed, or not. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "unknown_outcome";
}

/** Whether nothing was done because another transaction holds a row. */
export function isRowLocked(error: unknown): error is StoreError {
  return error instanceof StoreError && error.reason === ROW_LOCKED;
}

// The contract between the engine and the database; the suite in test/storage tests each store against it. Contains no
// logic. Times are readings of the database's clock in microseconds since 1970, as numbers (exact until the year 2255).
// Ids, ticket numbers, tokens and versions are bigint everywhere.

import type { BoundUse } from "../core/bound-use.ts";
import type { Claim, ClaimKey, ClaimRef } from "../core/claim.ts";
import type { DatabaseClock } from "../core/database-clock.ts";
import type { LevelMin } from "../core/level.ts";
import type { LimitRule } from "../core/limit.ts";
import type { Counters, GuardRow, Lock } from "../core/lock.ts";
import type { NotedChange } from "../core/noted-change.ts";
import type { PoolRows, Rows } from "../core/rows.ts";
import type { Span } from "../core/span.ts";
import type { ClaimTimes } from "../core/transitions.ts";

export interface LockPlan {
  readonly id: bigint;
  /** How many waiters to read from the head of the queue, if there are any. 1 to QUEUE_HEAD_MAX, or WHOLE_QUEUE. */
  readonly heads: number;
  /** Reads the head together with the guard row. If this guess is wrong, a queue costs one more round trip. */
  readonly likelyQueue: boolean;
  /** Whether the lock's shares are fair, as far as is known: reads those at the front of its queue, too. Unset: they are not. */
  readonly hasShares?: boolean;
  /** Whether the decision is about due claims, or about a waiter at any place in the queue. */
  readonly anywhereInQueue?: boolean;
  /** Whether one of `requestIds` is of a command for this lock. */
  readonly byRequest?: boolean;
}

/** Reads all who wait. */
export const WHOLE_QUEUE = 100_000_000;

export interface LoadPlan {
  /**
   * Fail at once (see `isRowLocked`) if another transaction holds a row that this one must lock. On MySQL, a
   * transaction with `rule` still waits for the lock on the rules, before it holds any other.
   */
  readonly impatient?: boolean;
  /** Guard rows to lock exclusively. In ascending order of ids, each once. */
  readonly locks: readonly LockPlan[];
  /**
   * Guard rows of pools to lock after the others, in ascending order of ids, each once, with the first of those who wait there.
   * Unset: none. Pools that do not exist are null in the result.
   */
  readonly pools?: readonly bigint[];
  /** Claims to read by key. Keys without a claim are missing from the result. */
  readonly claims: readonly ClaimKey[];
  /**
   * Claims to read by request id: those of clients on any lock, and those that a server made among the live claims of
   * `locks`.
   */
  readonly requestIds: readonly string[];
  /** Locks whose holders are to be read, oldest first, at most FORCE_RELEASE_MAX of each. */
  readonly holdersOf: readonly bigint[];
  /** Of a lock whose shares are fair: the groups that claims of these commands may join. Unset: none. */
  readonly joining?: (lock: Lock) => readonly string[];
  /**
   * The prefix of a pattern whose rule is to be changed. The transaction locks the rules first, and then up to
   * LOCKS_PER_RULE_MAX locks under the prefix that have waiters and ids above `afterLockId`, in ascending order. They
   * replace `locks`, which must be empty. `rulesOnly`: it locks no lock. `wholeQueues`: of these locks it reads all who wait.
   */
  readonly rule?: {
    readonly prefix: string;
    readonly afterLockId: bigint;
    readonly rulesOnly?: boolean;
    readonly wholeQueues?: ReadonlySet<bigint> | undefined;
  };
  /** The statements are parts of this span; unset: nobody traces them. */
  readonly span?: Span | undefined;
}

/** Locks with waiters that the transaction which changes a pattern decides about; further ones take the rest. */
export const LOCKS_PER_RULE_MAX = 500;

/**
 * What a decision uses: the rows and the database's clock. Either the store locked the guard rows first and then read
 * everything else, the clock in a statement of its own. Or it assumes that what it last wrote itself is unchanged: its
 * transaction then asserts that as it writes, and if anything is wrong, it writes nothing and fails as `transient`.
 */
export interface Loaded extends Rows {
  /**
   * The rows were written through another database server than the one that answers: a copy that was promoted or
   * restored. Nothing may be decided before `failOver` has recorded that.
   */
  readonly isSuccessor: boolean;
  /** The revision of the limit rules; it rises with each change of a rule, and when `levelMin` rises. */
  readonly rulesRevision: bigint;
  readonly levelMin: number;
  /** The claims that the plan asked for and the due claims of the plan's locks, at most DUE_MAX of those. */
  readonly claims: readonly Claim[];
}

export interface Writes {
  /** Guard rows, each with a raised revision. Contains every lock that was decided about, changed or not. */
  readonly locks: readonly Lock[];
  /** The same of the pools that were read, which have no claims of their own, with their queues. Unset: none were. */
  readonly pools?: readonly PoolRows[];
  readonly added: readonly Claim[];
  /** Written by key and secret. A claim that no longer exists fails the whole transaction. */
  readonly changed: readonly Claim[];
  readonly rule?: LimitRule;
  /** Changes that somebody made, to be kept with the time of the decision; unset: none. */
  readonly noted?: readonly NotedChange[];
  /**
   * Locks whose decision is unfinished. After the store has written these changes, it reads the locks again in the same
   * transaction, with QUEUE_HEAD_MAX heads, and calls `decide` again.
   */
  readonly again: readonly bigint[];
}

export interface FailOverNote {
  /**
   * The epoch of the rows that revealed the fail-over. If another replica has recorded it since, nothing is changed.
   */
  readonly seenEpoch: bigint;
  readonly epochMin: bigint;
  /** Bounds of the pause without grants, which is the longest time to live of a lease in the rows. */
  readonly pauseUsMin: number;
  readonly pauseUsMax: number;
}

/** Called synchronously inside the transaction, so that it cannot wait for anything while row locks are held. */
export type DecideRows = (loaded: Loaded) => Writes;

export interface LockView {
  readonly lock: Lock;
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
}

export interface LockQuery {
  readonly prefix: string;
  /** Only names after this one, which need not exist; null: from the first name. */
  readonly afterName: string | null;
  readonly max: number;
  /** `busy`: those with a holder or a waiter; `limited`: those with a limit of their own. */
  readonly which: "all" | "busy" | "limited";
}

export type WaitedLock = Pick<Lock, "id" | "holders" | "waiting">;

export interface Polled {
  /** Revisions by lock id; missing guard rows are left out. */
  readonly revisions: Map<bigint, bigint>;
  /**
   * Locks that have a held or waiting claim whose deadline has passed, whose `wakesAtUs` has passed, or that have
   * waiters that no decision has considered since the end of a fail-over's pause.
   */
  readonly due: bigint[];
  /** For each of the other locks, in how many microseconds its first such time comes. */
  readonly dueSoon: Map<bigint, number>;
  /**
   * The committed revision of the limit rules. Decisions that begin after this read, on the same database server, use
   * this revision or a later one.
   */
  readonly rulesRevision: bigint;
}

/** A lock with holders or waiters, for gauges. */
export interface BusyLock {
  readonly lock: Counters;
  /** The labels of the holder in the guard row; null: there is none. */
  readonly firstHolderLabels: Claim["labels"] | null;
  readonly oldestWaiterSinceUs: number | null;
}

/** A live claim beside the first holder of its lock, for gauges. */
export type FurtherClaim = Pick<Claim, "labels" | "state">;

export type FreeSelector =
  /** Those with these names, with or without a record, and names that nobody has used. */
  | { readonly kind: "names"; readonly names: readonly string[]; readonly statuses: readonly string[] }
  /** Those with records whose names begin with a prefix. */
  | {
      readonly kind: "prefix";
      readonly prefix: string;
      /** Only locks with one of these statuses; empty: with any. */
      readonly statuses: readonly string[];
      /** Under these names, only locks with a limit of their own. */
      readonly paused: readonly PausedNames[];
    };

/** Names to which a pattern gives a limit of 0. */
export interface PausedNames {
  readonly prefix: string;
  /** Except names with these prefixes, to which longer patterns apply. */
  readonly except: readonly string[];
}

/** A lock without holders or waiters, and with attempts left. */
export interface FreeLock {
  /** null: nobody has used the name yet. */
  readonly id: bigint | null;
  readonly name: string;
  /** The time from which it may be granted; 0: always. */
  readonly freeSinceUs: number;
  readonly limit: number | null;
}

/** Locks with records that are adjacent in the index of records: those with one status in one folder. */
export interface RecordGroup {
  /** Their names up to and including the last slash. */
  readonly folder: string;
  readonly status: string;
}

/** Which locks with records a listing by status wants. */
export interface RecordSelector {
  readonly prefix: string;
  /** Empty: any. */
  readonly statuses: readonly string[];
  /** Only those without attempts. */
  readonly isExhausted: boolean;
}

/** Where a lock stands in the index of records. */
export interface RecordPosition extends RecordGroup {
  /** Since or from when it is due; null: it is held, waited for or exhausted. */
  readonly dueAtUs: number | null;
  readonly name: string;
}

export interface RecordPage {
  readonly locks: readonly { readonly id: bigint; readonly at: RecordPosition }[];
  /** Where the next page begins; null: this is the last page. */
  readonly next: RecordPosition | null;
}

export interface RecordGroups {
  readonly groups: readonly RecordGroup[];
  readonly isLast: boolean;
}

/** How far a search for free locks has come: which groups it reads together, and where it is in them. */
export interface FreePosition {
  /** The last group before them; null: they are the first groups. */
  readonly behind: RecordGroup | null;
  /** The last lock before this position; null: the groups have not been read yet. */
  readonly after: Pick<FreeLock, "freeSinceUs" | "name"> | null;
  /** These groups, if they were found already. A position that is kept for later should not have them. */
  readonly groups?: RecordGroups;
}

export const FIRST_FREE: FreePosition = { behind: null, after: null };

export interface FreePage {
  /** Those longest free first, then by the bytes of their names. */
  readonly locks: readonly FreeLock[];
  readonly at: FreePosition;
  /** Where the next page begins; null: this is the last page. */
  readonly next: FreePosition | null;
  /**
   * In how many microseconds the next lock becomes free, never an overestimate; null: none does, or it is unknown.
   * Known for names; under a prefix, for an empty last page that began among the first groups.
   */
  readonly nextInUs: number | null;
}

export type DecidedLock = Pick<Lock, "id" | "name" | "revision" | "holders" | "waiting">;

/** A position among the guard rows in the order of their last decisions. */
export interface DecidedFrom {
  readonly atUs: number;
  /** Of the locks decided about at `atUs`, only those with higher ids. */
  readonly afterLockId: bigint;
}

export interface DecidedPage {
  /** The clock before the rows were read. */
  readonly nowUs: number;
  readonly epoch: bigint;
  readonly locks: readonly DecidedLock[];
  /** Where the next page begins; null: this is the last page. */
  readonly next: DecidedFrom | null;
}

/**
 * A guard row's `decided_at` may be this much earlier than its last decision, so that not every decision writes it.
 * Readers see a decision later still, by the duration of its transaction.
 */
export const DECIDED_AT_STEP_US = 1_000_000;

export type QueuePlace = Pick<Claim, "lockId" | "ticketNumber" | "permits"> & {
  /** Where shares are fair, and only there: its turn, and the id of its group, which is null for a claim for several locks. */
  readonly share?: { readonly turn: bigint | null; readonly groupId: bigint | null } | undefined;
};

export interface ReplicaRow {
  readonly id: bigint;
  /** Where other replicas reach it, host:port; port 0 if no replica can. */
  readonly address: string;
  readonly version: string;
  /** A server must know it to poke this replica; empty: this replica must not be poked. */
  readonly secret: string;
}

export interface RegisteredReplica extends ReplicaRow {
  readonly sinceUs: number;
  /** The replica decides by limit rules of this revision or a later one; -1: it has reported none yet. */
  readonly rulesRevision: bigint;
  readonly level: number;
  /** The replica counts as alive until this time; each registration extends it. */
  readonly deadlineUs: number;
}

/** How long a witness's mark is kept after its last write. */
export const WITNESS_KEPT_US = 90 * 86_400_000_000;

/** How long a replica counts as alive after its last registration. */
export const REPLICA_KEPT_US = 20_000_000;
/** Servers that are read from the register: more than any deployment runs over one database. */
export const REPLICAS_MAX = 1_000;

/** One finding of `rowlock doctor`. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** Stable: `durability`, `counters`, `over_limit`, ... */
  readonly check: string;
  readonly message: string;
}

/** Counts and times a store's work; implemented by metrics. */
export interface StoreObserver {
  statement(name: string, seconds: number): void;
  /** One deciding transaction: its duration, its round trips, and whether it was committed. */
  transaction(seconds: number, roundTrips: number, outcome: "committed" | "rolled_back"): void;
  connection(event: "opened" | "closed" | "destroyed"): void;
  /** What happens among the servers of a database that has several addresses. */
  servers?(event: ServersEvent): void;
}

/** Addresses are as in the database URL: `db-1:3306`. */
export type ServersEvent =
  /** All connections lead to `to` from now on. `from` null: the store has just been opened. */
  | {
      readonly kind: "moved";
      readonly from: string | null;
      readonly to: string;
      readonly why: string;
      /** Since the server before it was first in doubt. */
      readonly afterMs: number;
    }
  /** A server cannot be used for a reason that is no part of a cluster's life, such as a wrong password. */
  | { readonly kind: "fault"; readonly address: string; readonly reason: string; readonly message: string }
  /** Servers that share no commits can be written at once; `chosen` is used. Empty: it is over. */
  | { readonly kind: "separate"; readonly chosen: string; readonly others: readonly string[] };

/** One of several servers of a database, as of the last look at it. */
export interface DatabaseServer {
  readonly address: string;
  /** Whether all connections lead to it. */
  readonly isChosen: boolean;
  readonly isUsable: boolean;
  /** Why not, or why it is not used although it could be; null: nothing stands against it. */
  readonly why: string | null;
  /** Product and version; null: it was not reached. */
  readonly product: string | null;
  /** About how far its rows are behind those of the chosen server, with a step of the heartbeats; null: unknown. */
  readonly behindS: number | null;
}

/** SQLite takes only the observer and `cachedLocks`: it has one connection, and runs one transaction at once. */
export interface StoreOptions {
  readonly observer?: StoreObserver;
  /** The most connections to a database server. */
  readonly poolSize?: number;
  /** Transactions at once; null or unset: chosen to fit the pool. */
  readonly lanes?: number | null;
  /** The most locks whose rows the store remembers. */
  readonly cachedLocks?: number | undefined;
}

export interface PoolState {
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Live claims of one principal; `claims` includes the waiters. */
export interface ClaimsOfPrincipal {
  readonly principal: string;
  readonly claims: number;
  readonly waiters: number;
}

export interface RecordsOfPrincipal {
  readonly principal: string;
  readonly records: number;
}

export interface EndedClaim {
  readonly claim: Claim;
  readonly lockName: string;
}

/** A position among all ended claims in the order of their ends: before it are those that ended earlier. */
export interface EndedPosition extends ClaimKey {
  readonly endedAtUs: number;
}

export interface KeptChange extends NotedChange {
  readonly atUs: number;
  /** Random; distinguishes changes of one instant. */
  readonly id: bigint;
}

export type ChangePosition = Pick<KeptChange, "atUs" | "id">;

export interface HistoryStats {
  /** Ended claims, about: the database's own estimate. */
  readonly rows: number;
  /** How long the oldest ended claim has been kept beyond its time; 0: none has. */
  readonly overdueUs: number;
}

/** A transaction of somebody else that holds a row. */
export interface RowHolder {
  /** Its connection at the database server. */
  readonly connectionId: bigint;
  readonly user: string;
}

/**
 * The engine's access to a database. `resolve`, `transact` and `failOver` try once, and their callers retry them. The
 * store itself retries the other writes.
 */
export interface Store {
  /** Product and version, for the start-up message and build info: `MariaDB 10.11.19`. */
  readonly product: string;
  /** This process's own address on its connection to the database; null: it has none (SQLite, or a Unix socket). */
  readonly localHost: string | null;
  /** How many transactions are worth running at once. */
  readonly lanes: number;
  /** How many further transactions may wait for row locks at once. */
  readonly patientSlots: number;
  /** What this process knows of the database's clock, from each reading in `transact` and `dueLocks`. */
  readonly clock: DatabaseClock;
  /** How many reads for display and for answers may run at once, so that they leave connections for transactions. */
  readonly readers: number;

  /**
   * Returns the ids of the named locks. Creates missing guard rows, in statements of their own, if `mayMake` names
   * them; the others are left out. A new guard row starts at the token floor, so that a name that was removed and
   * returns never repeats an old token. Names are byte strings in UTF-8; `Job`, `job` and `Job ` are three names.
   */
  resolve(
    names: readonly string[],
    mayMake?: (missing: readonly string[]) => readonly string[],
  ): Promise<Map<string, bigint>>;
  /** How many live claims each principal has; those without a principal are left out. Reads all of them. */
  claimsOfPrincipals(): Promise<ClaimsOfPrincipal[]>;
  /** How many records each principal has; those without a principal are left out. Reads an index of all others. */
  recordsOfPrincipals(): Promise<RecordsOfPrincipal[]>;
  /** Returns the ids of the named locks without creating guard rows; unknown names are left out. */
  find(names: readonly string[]): Promise<Map<string, bigint>>;

  /**
   * Runs one transaction: locks the guard rows and reads, or assumes what it would read; calls `decide`, again for what
   * is left unfinished; writes; commits. If `decide` throws, rolls back and rethrows. Fails with a StoreError of kind
   * `transient` (rolled back: retry), `unknown_outcome` (possibly committed: retry with commands that recognise their
   * own work) or `unavailable`.
   */
  transact(plan: LoadPlan, decide: DecideRows): Promise<void>;

  /**
   * Records that the database has become another server, or an older copy of itself: raises the epoch and stops all
   * grants for a while. Safe to repeat. Returns for how many microseconds from now nothing is granted.
   */
  failOver(note: FailOverNote): Promise<number>;

  /**
   * Extends the places of waiters whose streams this replica serves to min(now + keepForUs, wait_until), never to an
   * earlier time, with this replica, if the claim still waits. Locks no guard row: a claim that a decision has just
   * ended stays ended. Returns the waiters that it skipped because another transaction holds their rows; a store that
   * cannot skip rows waits for them.
   */
  heartbeat(replica: bigint, claims: readonly ClaimRef[], keepForUs: number): Promise<readonly ClaimKey[]>;
  /**
   * Registers the replica or extends its registration, with the revision of the limit rules that it decides by, and the
   * level and the latest migration of this version. Success proves that the database can be written.
   */
  register(replica: ReplicaRow, keepForUs: number, rulesRevision: bigint): Promise<void>;
  /**
   * Writes a witness's mark if the stored one is one of `expected` or already `mark`; `expected` null: in any case.
   * Returns whether the mark is now stored.
   */
  mark(
    witness: bigint,
    expected: readonly bigint[] | null,
    mark: bigint,
  ): Promise<{ readonly isDone: boolean; readonly nowUs: number }>;
  /** Returns the register of replicas, oldest first. It may contain dead ones, past their deadline. */
  replicas(max: number): Promise<{ nowUs: number; replicas: RegisteredReplica[] }>;
  levelMin(): Promise<LevelMin>;
  /**
   * Raises it; does nothing if it is as high. From then on no server below it commits a decision about rows that a
   * later transaction has written.
   */
  raiseLevelMin(levelMin: LevelMin): Promise<void>;
  /** Removes the replica from the register, and the mark of the witness with the same id. */
  retire(replica: bigint): Promise<void>;
  /**
   * Reads what a poll needs, in one statement, including deadlines within the next `aheadUs`. Without locks, reads only
   * the revision of the rules.
   */
  poll(lockIds: readonly bigint[], aheadUs: number): Promise<Polled>;
  /** Returns claims by key, as committed, and the clock of the read. */
  claims(keys: readonly ClaimKey[]): Promise<{ nowUs: number; claims: Claim[] }>;
  /**
   * Returns claims by a client's request id, on any lock. Sees everything that was committed before it began, at any
   * node of a cluster.
   */
  claimsByRequest(requestIds: readonly string[]): Promise<{ nowUs: number; claims: Claim[] }>;
  /**
   * Returns locks with ids above `afterLockId` that have a held or waiting claim whose deadline has passed, or whose
   * `wakesAtUs` has passed; in ascending order. `next`: the id after which the next step begins; null: there are
   * no more. Looks at about `max` locks, and writes their bounds of deadlines anew, so a step may return none although
   * others follow.
   */
  dueLocks(
    afterLockId: bigint,
    max: number,
  ): Promise<{ nowUs: number; lockIds: bigint[]; next: bigint | null }>;
  /** Deletes ended claims whose retention has passed by the database's clock and before `untilUs`; returns how many. */
  purgeClaims(untilUs: number, max: number): Promise<number>;
  /**
   * Forgets the request ids of claims that ended from `fromUs` to `untilUs`, of about `max` of these, those that ended
   * first first. Returns the time from which to go on; null: all are forgotten. Safe to repeat.
   */
  forgetRequests(fromUs: number, untilUs: number, max: number): Promise<number | null>;
  /**
   * Deletes the oldest ended claims of those that ended before `untilUs`, whatever the time for which they are kept;
   * returns how many. The history begins after them.
   */
  trimHistory(untilUs: number, max: number): Promise<number>;
  /**
   * Deletes changes from before `untilUs`, and the oldest ones beyond `keptMax`; returns how many. The history of
   * changes begins after the latter.
   */
  purgeChanges(untilUs: number, keptMax: number, max: number): Promise<number>;
  /**
   * Deletes guard rows that were last decided about more than `idleUs` ago and have no claim, no record and no limit
   * that was ever set (its version must not fall). First raises the token floor to their highest token. Returns how
   * many.
   */
  purgeLocks(idleUs: number, max: number): Promise<number>;

  /**
   * Returns the whole queue of a lock, in order, and its guard row, as committed; null: there is none. For display; the
   * cost grows with the queue.
   */
  queue(lockId: bigint): Promise<{ nowUs: number; lock: Counters | null; places: QueuePlace[] }>;
  /** The same of those that wait at a pool, by their ranks. */
  poolQueue(poolId: bigint): Promise<{ nowUs: number; lock: Counters | null; places: QueuePlace[] }>;
  holders(lockId: bigint, max: number): Promise<{ nowUs: number; claims: Claim[] }>;
  /**
   * Returns one step of a listing: the next guard rows, in byte order of their names. At most `max`, and fewer or none
   * if more would take too long. `next`: the name after which the next step begins; null: the listing is complete.
   */
  list(query: LockQuery): Promise<{ locks: GuardRow[]; next: string | null }>;
  /**
   * Returns wanted locks that are free now, from a position on. Under a prefix, skips from group to group of locks in a
   * bounded number of reads, then reads at most `atMost` index entries of each of these groups, wanted or not, and none
   * of locks that are not free. So a page may be empty although others follow. Of names, returns all that are free in
   * one page. The result is as committed and reserves nothing.
   */
  freeLocks(selector: FreeSelector, from: FreePosition, atMost: number): Promise<FreePage>;
  /** Returns locks with records behind a position (null: from the first on), in the order of the index, at most `max`. */
  byStatus(selector: RecordSelector, after: RecordPosition | null, max: number): Promise<RecordPage>;
  /**
   * Returns at most `max` guard rows that were decided about from `from` until `untilUs` (null: until now), in order. A
   * later time also finds what was decided before the clock was set back. A lock with several decisions may appear at
   * an earlier one's time, see DECIDED_AT_STEP_US. Includes everything that any server of a cluster committed before
   * the call, and waits for it if necessary.
   */
  decidedSince(from: DecidedFrom, untilUs: number | null, max: number): Promise<DecidedPage>;
  /**
   * Returns locks under the prefix that have waiters: first those whose first waiter came earliest, or those with the
   * most waiters. The cost grows with the number of waiting claims.
   */
  waitedLocks(prefix: string, order: "longest_wait" | "most_waiters", max: number): Promise<WaitedLock[]>;
  /**
   * Returns these locks in this order, with at most `shown` holders and waiters each, all as of one moment. Missing
   * locks are left out. Reads all of them at once, so the caller must keep the list short.
   */
  views(ids: readonly bigint[], shown: number): Promise<LockView[]>;
  /** The same of one lock by its name; null: it does not exist. */
  view(name: string, shown: number): Promise<LockView | null>;
  /** Returns live claims of a lock with ticket numbers above `afterTicket`, in order, as committed. */
  liveClaimsOf(lockId: bigint, afterTicket: bigint, max: number): Promise<Claim[]>;
  /**
   * Returns ended claims of a lock with ticket numbers below `belowTicket` (null: from the newest on), newest first.
   * Reads no others.
   */
  endedClaimsOf(lockId: bigint, belowTicket: bigint | null, max: number): Promise<Claim[]>;
  /**
   * Returns a ticket number above those of all ended claims of the lock that were requested at `atUs` or earlier, and
   * not above that of any that was requested more than a second later; as long as no clock was set back. The number of
   * reads grows with the logarithm of the history.
   */
  ticketAfter(lockId: bigint, atUs: number): Promise<bigint>;
  /**
   * Returns the ended claims of all locks that come before a position in the order of their ends (null: from the newest
   * on), newest first.
   */
  endedClaims(from: EndedPosition | null, max: number): Promise<EndedClaim[]>;
  /** Keeps a change that no transaction of this store makes, with the present time of the database's clock. */
  noteChange(change: NotedChange): Promise<void>;
  /**
   * Returns changes before a position (null: from the newest on), newest first. `targets`: only those of these names
   * and patterns (as they are written, with their stars), by an index; null: all.
   */
  changes(
    targets: readonly string[] | null,
    before: ChangePosition | null,
    max: number,
  ): Promise<KeptChange[]>;
  /**
   * A transaction of somebody else that holds the lock's guard row now; null: there is none, or the database does not
   * say.
   */
  rowHolder(lockId: bigint): Promise<RowHolder | null>;
  /**
   * Waits until each of these guard rows, one after the other, was held by no other transaction, for a second or two at most, and
   * holds none meanwhile. An embedded database does not wait.
   */
  waitForRows(lockIds: readonly bigint[]): Promise<void>;
  historyStats(): Promise<HistoryStats>;
  /**
   * Notes by which settings ended claims and changes are kept. If they differ from those that were noted, the history
   * begins now: what is older may have been kept by shorter times. Safe to repeat.
   */
  noteKeptBy(settings: string): Promise<void>;
  /** From when on nothing was deleted before its time or lost by a fail-over of the database. */
  historyFrom(): Promise<{ readonly claimsUs: number; readonly changesUs: number }>;
  /** Returns the limit rules, as committed. */
  limitRules(): Promise<readonly LimitRule[]>;
  /**
   * Passes all locks with holders or waiters to `see`, each once, in pages. On MySQL as of one moment. No single
   * statement takes longer when there are more locks. The caller bounds how often it runs.
   */
  busyLocks(see: (locks: readonly BusyLock[]) => void): Promise<void>;
  /** The same for all live claims that are not the first holders of their locks. */
  furtherClaims(see: (claims: readonly FurtherClaim[]) => void): Promise<void>;
  /** The same for the times of all live claims. */
  claimTimes(see: (claims: readonly ClaimTimes[]) => void): Promise<void>;

  /** Compares counters with rows, and rows with each other; returns at most `max` findings. */
  checkInvariants(max: number): Promise<Finding[]>;
  /**
   * The same without the checks that read ended claims, for use beside decisions. Null: it would take longer than
   * `msMax`, or, on an embedded database, hold other work up.
   */
  checkLiveClaims(max: number, msMax: number): Promise<Finding[] | null>;
  /** Findings about settings of the database server that could lose acknowledged commits. */
  checkDurability(): Promise<Finding[]>;
  /** Findings about rights that a server needs and the user of the database lacks. Changes nothing. */
  checkRights(): Promise<Finding[]>;
  pool(): PoolState;
  /** The servers of a database that has several addresses, in their order; empty: it has one. */
  servers(): readonly DatabaseServer[];
  /** What is used of the bounds of the pool; an embedded database has none. */
  bounds(): readonly BoundUse[];
  close(): Promise<void>;
}

/** Why a store failed. The cause is for the log; the message may be shown to an operator. */
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

/** StoreError.reason of a transaction whose assumptions had become wrong: it wrote nothing. */
export const CHANGED = "changed";

/** StoreError.reason of a transaction that needs a row which another one holds. An impatient one fails at once. */
export const ROW_LOCKED = "lock_wait_timeout";

/** Whether the outcome is unknown: the transaction may or may not have been committed. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "unknown_outcome";
}

/** Whether the transaction did nothing because another one holds a row. */
export function isRowLocked(error: unknown): error is StoreError {
  return error instanceof StoreError && error.reason === ROW_LOCKED;
}

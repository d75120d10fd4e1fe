// The bounds of the stores' own work, each with its reason. What decisions read is in core/bounds.ts, what one change of
// a pattern takes is part of the seam (LOCKS_PER_RULE_MAX in store.ts).

import { TTL_US_MIN } from "../core/bounds.ts";

/** Connections to MySQL, where nobody says how many. */
export const POOL_SIZE_DEFAULT = 10;
/** More transactions at once make smaller batches, and each costs the database about the same. */
export const LANES_DEFAULT = 3;
/** Transactions that wait for row locks, each for one lock: beside the lanes, so that these never wait with them. */
export const PATIENT_SLOTS_MAX = 3;
/** Heartbeats, polls and reads go on while all lanes are at work and all patient transactions wait. */
export const CONNECTIONS_BESIDE_LANES = 2;

/** For a caller that finds all connections in use: less than anybody waits for an answer. */
export const POOL_WAIT_MS_MAX = 2_000;
/** Callers that wait; each of them is a transaction or a read of many commands, so this is far above what is normal. */
export const POOL_WAITING_MAX = 1_000;
/** From the first statement of a lease of a connection to its last. */
export const LEASE_MS_MAX = 5_000;
/** How long a statement waits for a row lock, where it waits: what holds one for longer is stuck. */
export const LOCK_WAIT_S = 2;
/** Idle connections are dropped well before the server ends them, which it does after 8 s. */
export const IDLE_MS_MAX = 4_000;
export const IDLE_SWEEP_MS = 1_000;
/** Until a connection is there and set up; a little less than a caller waits for one, so that it hears the reason. */
export const CONNECT_MS_MAX = 1_800;
export const TCP_KEEPALIVE_MS = 5_000;
/** How long a connection that is being closed may take to say goodbye. */
export const GOODBYE_MS_MAX = 500;

/** How far a node of a cluster may be behind the others: longer than flow control lets it be. */
export const MARK_AGAIN_MS = 3_000;

/** Branches of one UNION: a parser goes one level deeper with each. */
export const BRANCHES_MAX = 100;
/** Rows of one UPDATE: the time to pick a value for each of them grows with the square. */
export const UPDATE_ROWS_MAX = 128;
/**
 * How groups of records are stepped through. The first reads are of a few entries, as there are few groups for most; then of so
 * many that one read finds hundreds of groups with a few locks each. Reads of one call.
 */
export const GROUP_ENTRIES = 4;
export const GROUP_READS_SMALL = 4;
export const GROUP_ENTRIES_MAX = 256;
export const GROUP_READS_MAX = 24;
/** Patterns whose names one read leaves out; a caller sees the names of others. */
export const PAUSED_PATTERNS_MAX = 20;
/** Names that one statement looks up or makes rows for. */
export const NAMES_MAX = 500;
/**
 * Waiters that are read from the head of each queue when a pattern's rule changes. There can be LOCKS_PER_RULE_MAX
 * queues in that transaction, most of which move by a few places; the rest of a longer one follows through `again`.
 */
export const HEADS_PER_RULE_LOCK = 16;
/**
 * Guard rows that one step of a listing reads, and that SQLite looks at to find those that are wanted: some milliseconds, in
 * which this process does nothing else.
 */
export const LIST_ROWS_MAX = 200;
export const LIST_SCAN_MAX = 2_000;

/**
 * Guard rows that one search for idle ones looks at, most of which may remember something: some milliseconds of SQLite. No
 * fewer than are cleaned away at once, or a backlog of idle ones would go more slowly.
 */
export const IDLE_SCAN_MAX = 1_000;

/** A count of all busy locks: what one of its statements reads, some milliseconds, and how long all of it may take. */
export const BUSY_CLAIMS_PAGE = 2_000;
export const BUSY_LOCKS_PAGE = 500;
export const CENSUS_MS_MAX = 60_000;

/** The checks of `rowlock doctor` read all rows, which may take a while, and so many locks at a time. */
export const CHECK_MS_MAX = 10 * 60_000;
export const CHECK_PAGE = 1_000;

/** Between two tries to reach the database at start: the first pause, which doubles, and the longest. */
export const START_PAUSE_MS = 250;
export const START_PAUSE_MS_MAX = 5_000;

/** What a server keeps for optimistic decisions, some 40 MB: locks, live claims of all, holders and the head of the queue of one. */
export const CACHED_LOCKS_MAX = 20_000;
export const CACHED_CLAIMS_MAX = 50_000;
export const CACHED_HOLDERS_MAX = 500;
export const CACHED_QUEUE_MAX = 128;
/** So often a server has to have found a lock as it had left it, which others have written before. */
export const ALONE_AFTER_OTHERS = 2;
/**
 * How uncertain the database's clock may be for a decision that does not read it: a quarter of the shortest time to
 * live, as its leases last that much longer. And how long after such a decision it may be written.
 */
export const CLOCK_UNSURE_US_MAX = TTL_US_MIN / 4;
export const CLOCK_BEHIND_US_MAX = 100_000;
/** SQLite has the system's clock, which Node tells in whole milliseconds. */
export const CLOCK_COARSE_US = 1_000;

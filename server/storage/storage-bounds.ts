// The bounds of the stores' own work, each with its reason. Those that decisions read are in core/bounds.ts; the bound
// on the locks of one pattern change is part of the store's contract (LOCKS_PER_RULE_MAX in store.ts).

import { TTL_US_MIN } from "../core/bounds.ts";

/** Connections to MySQL if the settings give no number. */
export const POOL_SIZE_DEFAULT = 10;
/** More concurrent transactions make smaller batches, and each transaction costs the database about the same. */
export const LANES_DEFAULT = 3;
/** Transactions that wait for row locks, each for a single lock, beside the lanes, which never wait with them. */
export const PATIENT_SLOTS_MAX = 3;
/** Reserved for heartbeats, polls and reads, which continue while all lanes and all patient slots are busy. */
export const CONNECTIONS_BESIDE_LANES = 2;

/** How long a caller waits when all connections are in use: less than any client waits for an answer. */
export const POOL_WAIT_MS_MAX = 2_000;
/** Waiting callers. Each is a transaction or a read for many commands, so this is far above the normal number. */
export const POOL_WAITING_MAX = 1_000;
/** How long a connection is lent, from its first statement to its last. */
export const LOAN_MS_MAX = 5_000;
/** How long a patient statement waits for a row lock. A transaction that holds one for longer is stuck. */
export const LOCK_WAIT_S = 2;
/** Idle connections are closed well before the server ends them, which it does after 8 s (wait_timeout). */
export const IDLE_MS_MAX = 4_000;
/** How often the pool looks for idle connections to close. */
export const IDLE_SWEEP_MS = 1_000;
/** To open a connection; slightly less than POOL_WAIT_MS_MAX, so that the caller learns the reason for the failure. */
export const CONNECT_MS_MAX = 1_800;
export const TCP_KEEPALIVE_MS = 5_000;

/** How often the chosen one of several database servers is looked at, so that its silence is noticed soon. */
export const LOOK_INTERVAL_MS = 500;
/** At every such turn the other servers are looked at, too: one of them may have been promoted. */
export const LOOK_AROUND_TURNS = 3;
/** How long one look takes at most: a server that is busy answers a read within it. */
export const LOOK_MS_MAX = 1_000;
/** The same for a server that has just not answered for that long. */
export const LOOK_AGAIN_MS_MAX = 500;
/** The pause after a look at all servers that has found none to use. */
export const LOOK_PAUSE_MS = 100;
/** How soon a server is asked again that refused the user, its password or its certificate. */
export const REFUSED_AGAIN_MS = 10_000;
/** How long a preferred node of a cluster must be usable before connections come back to it. */
export const BACK_AFTER_MS = 30_000;
/** How long transactions may take to finish at a server that is left without need. */
export const LEAVE_MS_MAX = 1_000;
/** How long a server counts as stuck after a commit that it did not answer. */
export const STUCK_MS = 15_000;
/** How long a move waits until a node of Galera has applied what the others have committed. */
export const CATCH_UP_MS_MAX = 2_000;
/** How long a graceful close of a connection may take. */
export const CLOSE_MS_MAX = 500;

/** How far a cluster node may lag behind the others: longer than flow control allows. */
export const MARK_AGAIN_MS = 3_000;

/**
 * What a database server must take at once (max_allowed_packet): the longest statement that cannot be divided looks up
 * NAMES_MAX names, in a quarter of this. Larger writes are divided.
 */
export const PACKET_BYTES_MIN = 1_048_576;
/** What a packet has beside the text of the statements. */
export const PACKET_BYTES_BESIDE = 1_024;
/** What a statement has at most beside the values of its rows, and what a row has beside its texts. */
export const STATEMENT_BYTES_BESIDE = 65_536;
export const ROW_BYTES_BESIDE = 2_048;
/** The longest row as text: a claim with sixteen long labels, in hexadecimal digits. */
export const ROW_BYTES_MAX = 16_384;

/** Branches of one UNION: the parser recurses one level deeper with each branch. */
export const BRANCHES_MAX = 100;
/** Rows of one UPDATE: the time to pick each row's value from a CASE grows with the square of the rows. */
export const UPDATE_ROWS_MAX = 128;
/** Groups of free locks (one status in one folder) that are read together; each costs one entry into an index. */
export const FREE_GROUPS_MAX = 500;
/** Index entries that one read of free locks examines in all its groups: some milliseconds. */
export const FREE_ENTRIES_MAX = 2_000;
/** Groups that one page of a listing by status reads, one after the other. */
export const STATUS_GROUPS_MAX = 64;
/** Index entries per range in the first reads of record groups: few, because most callers have few groups. */
export const GROUP_ENTRIES = 4;
/** Reads per call that use GROUP_ENTRIES. */
export const GROUP_READS_SMALL = 4;
/** Index entries per range in later reads: enough to find hundreds of groups with a few locks each. */
export const GROUP_ENTRIES_MAX = 256;
/** Reads of record groups per call. */
export const GROUP_READS_MAX = 24;
/** Names that one statement looks up or creates rows for. */
export const NAMES_MAX = 500;
/**
 * Waiters that are read from the head of each queue when a pattern's rule changes. There can be LOCKS_PER_RULE_MAX
 * queues, most of which advance by a few places; `again` handles the rest.
 */
export const HEADS_PER_RULE_LOCK = 16;
/** Guard rows that one step of a listing returns. */
export const LIST_ROWS_MAX = 200;
/** The same that SQLite scans: some milliseconds, during which this process does nothing else. */
export const LIST_SCAN_MAX = 2_000;

/**
 * Guard rows that one search for idle ones scans: some milliseconds of SQLite. At least as many as one clean-up
 * removes, or a backlog of idle rows would shrink more slowly, as most may have to stay.
 */
export const IDLE_SCAN_MAX = 1_000;

/** Ended claims that SQLite deletes in one go: some milliseconds, during which this process does nothing else. */
export const PURGE_SLICE = 250;

/** Locks that one statement of the census of busy locks reads: some milliseconds. */
export const BUSY_LOCKS_PAGE = 500;
/** The time limit of the whole census on MySQL. */
export const CENSUS_MS_MAX = 60_000;

/** The time limit of the checks of `rowlock doctor` on MySQL. They read all rows, which may take a while. */
export const CHECK_MS_MAX = 10 * 60_000;
/**
 * Guard rows and live claims that SQLite checks in the background: a few milliseconds for each of some twenty checks,
 * during which this process does nothing else.
 */
export const CHECKED_ROWS_MAX = 5_000;
/** Rows that one query of these checks returns. */
export const CHECK_PAGE = 1_000;

/** The first pause between attempts to reach the database at start, each twice as long as the last; and the longest. */
export const START_PAUSE_MS = 250;
export const START_PAUSE_MS_MAX = 5_000;

/**
 * How often, and how many times, MariaDB is asked who holds a row while another connection waits for it. It renews what
 * it reports ten times a second, and that connection waits for a second at most.
 */
export const ROW_HOLDER_LOOK_MS = 120;
export const ROW_HOLDER_LOOKS_MAX = 6;
/** How long nobody asks again who holds a row after the database has denied the answer. */
export const ROW_HOLDER_REST_MS = 60_000;

/** Locks that a store remembers if it is given no number: about 1.6 KB each with one holder. */
export const CACHED_LOCKS_DEFAULT = 20_000;
/** Live claims of all remembered locks, for each lock that may be remembered. */
export const CACHED_CLAIMS_OF_LOCK = 2;
/** Holders of one cached lock. */
export const CACHED_HOLDERS_MAX = 500;
/** Waiters that are cached from the head of one queue. */
export const CACHED_QUEUE_MAX = 128;
/** Of a queue whose shares are fair and that is longer: those at the front that are read for the cache, with their groups. */
export const CACHED_FRONT_READ = 32;
/** Its waiters that are cached. */
export const CACHED_SHARES_MAX = 1_000;
/** If more wait at a pool than are known, at least so many must be: a decision may let several go on. */
export const POOL_QUEUE_KNOWN_MIN = 32;
/**
 * How often this server must find its own last write of a lock unchanged, after another server's, to cache it again.
 */
export const ALONE_AFTER_OTHERS = 2;
/**
 * How uncertain the database's clock may be for a decision that does not read it: a quarter of the shortest time to
 * live, because leases of that decision last that much longer.
 */
export const CLOCK_UNSURE_US_MAX = TTL_US_MIN / 4;
/** How long after such a decision its transaction may still be written. */
export const CLOCK_BEHIND_US_MAX = 100_000;
/** SQLite uses the system clock, which Node reports in whole milliseconds. */
export const CLOCK_COARSE_US = 1_000;

/**
 * Attempts to open an SQLite file that another process has, and the longest pause between: it may only be opening it.
 */
export const OPEN_TRIES_MAX = 3;
export const OPEN_PAUSE_MS_MAX = 200;

/** SQLite's memory for pages, in KiB, and how long its log grows before it is written into the file, in pages of 4 KiB. */
export const CACHE_KIB = 32_768;
export const LOG_PAGES = 8_192;

// The bounds of the engine's own work, each with its reason. core/bounds.ts has those that clients can rely on.

/** Commands and locks in one transaction, so that it holds row locks for a few milliseconds at most. */
export const BATCH_COMMANDS_MAX = 256;
export const BATCH_LOCKS_MAX = 128;

/** The same while clients crowd: others wait for the one under way and for their own, so both are short. */
export const CROWDED_BATCH_LOCKS_MAX = 32;
/** How long clients crowd after they last met: one that calls again and again meets the others in that time. */
export const CROWDED_FOR_MS = 1_000;

/** Diverged copies share a revision one time in a million; 63 bits last for 10^13 transactions. */
export const REVISION_STEP_MAX = 2 ** 20;

/** Rounds of further reading in one transaction: about 2,000 grants; the next transaction grants the rest. */
export const AGAIN_ROUNDS_MAX = 8;

/**
 * How long a lock stays out of the lanes after another transaction held its rows: the first time, the growth factor
 * each time it is held again, and the maximum. The first time is about as long as a transaction of another replica. The
 * maximum is so long that lanes rarely fail on a lock that two replicas write alternately.
 */
export const HELD_UP_MS = 50;
export const HELD_UP_GROWTH = 4;
export const HELD_UP_MS_MAX = 10_000;
/** The same after a failed wait for the lock. Meanwhile the engine starts no background work on the lock. */
export const STUCK_MS = 1_000;
/** Longest pause between tries of a command about several locks while another transaction holds rows. */
export const APART_PAUSE_MS_MAX = 200;
/** How long a command waits for a lock before heartbeats keep the place that its client has come back to. */
export const RETURNED_AFTER_MS = 250;
/** When a client may retry after the database was unavailable. */
export const UNAVAILABLE_RETRY_AFTER_MS = 1_000;
/** When a client may retry after a bound was reached. */
export const OVERLOADED_RETRY_AFTER_MS = 250;

/** Principals whose marks are remembered (secrets.ts), at about 300 bytes each. */
export const PRINCIPALS_REMEMBERED_MAX = 10_000;
/** Locks whose names, ids and last tokens a server remembers apart from their rows, at about 400 bytes each. */
export const LOCKS_REMEMBERED_MAX = 50_000;
/** Claims for several locks whose rows a server remembers, at about 2 kB each. */
export const SETS_REMEMBERED_MAX = 5_000;
/** Names resolved together, and names that wait to be resolved: as many as commands may wait by default. */
export const RESOLVE_NAMES_MAX = 200;
export const RESOLVE_QUEUED_MAX = 10_000;
/** Seconds' worth of new names that a server may create at once after it has created none for a while. */
export const NEW_NAMES_BURST_S = 10;
/** When a client may retry after the server has created as many names as it may. */
export const NEW_NAMES_RETRY_AFTER_MS = 1_000;
/** Attempts at a command whose guard row is cleaned away between look-up and decision. */
export const STALE_ID_TRIES_MAX = 5;

/** Waiters in one heartbeat statement. */
export const HEARTBEAT_KEYS_MAX = 1_000;
/** Heartbeats in one grace period: the place survives if one or two fail. */
export const HEARTBEATS_PER_GRACE = 4;
/** Calls that have gone without the database knowing yet; claims of further ones end with their grace period. */
export const DETACHMENTS_MAX = 100_000;
/** How many detachments are repeated together, and how often. */
export const DETACHMENTS_AT_ONCE = 256;
export const DETACHMENTS_INTERVAL_MS = 1_000;
/** When a heartbeat is repeated for waiters whose rows another transaction held. */
export const HEARTBEAT_AGAIN_MS = 500;
/** Claims and request ids in one read for clients that came back to held-up locks. */
export const RETURNED_READ_MAX = 500;
/** Timers cover ends within this time: the interval of the sweep. */
export const DUE_AHEAD_US = 1_000_000;
/** Timers fire this long after the end, because the replica's knowledge of the clock may lag. */
export const DUE_AFTER_MS = 2;
/** Locks in one poll statement. */
export const POLL_LOCKS_MAX = 1_000;
/** Longest rest of the poll after failures: a grant lapses if its waiter does not learn of it soon after an outage. */
export const POLL_REST_MS_MAX = 250;
/** Poked claims that wait to be read. Claims beyond that wait for the poll: one read of their locks serves a crowd faster. */
export const POKED_MAX = 1_000;
/** Delays before rereading a poked claim that still waits here: this node of a cluster may apply the grant later. */
export const POKED_AGAIN_MS = [4, 8, 16, 32, 64, 128, 256];
/** Pause between two rounds of place updates. */
export const PLACES_PACE_MS = 100;
/** Queues read at once for place updates: the connections are for decisions, heartbeats and polls. */
export const PLACES_READS_MAX = 2;
/**
 * Places read or sent in one go, about a millisecond of work, and the pause after it. That is 50,000 a second for the
 * whole server: a queue of 10,000 waiters takes half a second, and decisions continue meanwhile.
 */
export const PLACES_SLICE = 500;
export const PLACES_SLICE_PAUSE_MS = 10;

/**
 * Bounds of one Capture attempt. LOOKS: reads of free locks, each of some milliseconds, before the search is cut short
 * because it finds almost nothing to take; the next search continues from there. TRIED: candidates.
 */
export const CAPTURE_LOOKS_MAX = 20;
export const CAPTURE_TRIED_MAX = 1_000;
/**
 * Captures at work at once. Each reads and decides a few times, so these are enough to keep all lanes busy, and a new
 * one waits only for a few others. Then captures that wait for their turn, of one client and of all.
 */
export const CAPTURES_AT_ONCE_MAX = 32;
export const CAPTURES_QUEUED_EACH_MAX = 1_000;
export const CAPTURES_QUEUED_MAX = 10_000;
/** Request ids of captures with an unknown outcome; a repeat of one that is forgotten looks as if it were the first call. */
export const CAPTURES_IN_DOUBT_MAX = 1_000;
/** Lines whose search position is remembered. */
export const CAPTURE_LINES_MAX = 1_000;
/**
 * When a line of waiting captures looks again without a hint: after POLL_MS, or later if there are many lines (EACH).
 * If a lock is due sooner, the line looks then, but no sooner than MIN after the last round. After a long round, the
 * line rests REST_SHARE times as long, but at most REST_MS_MAX: one stall of the database must not delay it for long.
 */
export const CAPTURE_POLL_MS = 1_000;
export const CAPTURE_POLL_MS_EACH = 20;
export const CAPTURE_POLL_MS_MIN = 2;
export const CAPTURE_REST_SHARE = 9;
export const CAPTURE_REST_MS_MAX = 2_000;
/** Locks whose last seen revision is remembered: more than are reported repeatedly in a busy second. */
export const CAPTURE_SEEN_MAX = 10_000;

/**
 * Watches of locks: how many, over how many locks (about 30 MB of what is known of them), and how many unread changes
 * of one watch. Beyond those changes, a new snapshot costs no more.
 */
export const WATCHES_MAX = 100;
export const WATCHED_LOCKS_MAX = 100_000;
export const WATCH_PENDING_MAX = 10_000;
/** One round of watch updates: locks read, claims read of all these locks, and names of deleted locks in a message. */
export const WATCH_LOCKS_MAX = 100;
export const WATCH_CLAIMS_MAX = 200;
export const WATCH_GONE_MAX = 500;
/** Pause between rounds: when all was sent, when more is left to send, and when the read failed. */
export const WATCH_PACE_MS = 100;
export const WATCH_PAUSE_MS = 20;
export const WATCH_FAILED_MS = 1_000;
/**
 * How long a transaction lasts from its clock reading to its end: nearly always, and at most (LOAN_MS_MAX of the store
 * plus a slow commit). WIDE_SWEEP_MS: how often a sweep goes back by the maximum.
 */
export const TRANSACTION_US_USUAL = 500_000;
export const TRANSACTION_US_MAX = 7_000_000;
export const WIDE_SWEEP_MS = 1_000;
/** Guard rows in one read of a sweep. */
export const DECIDED_ROWS_MAX = 500;
/** Known locks checked together, and how often the next part of them is checked. */
export const KNOWN_CHECKED_MAX = 1_000;
export const KNOWN_CHECKED_MS = 1_000;
/** Sweeps rest this many times as long as they took, up to a maximum: a stalled database may soon be quick again. */
export const WATCH_REST_SHARE = 9;
export const WATCH_REST_MS_MAX = 1_000;
/** All watches begin anew after this long without a sweep, or after the clock went back by this much. */
export const SWEEP_BEHIND_MS = 5_000;
export const CLOCK_BACK_US = 1_000_000;

/** How long a rule change waits for other servers, longer than a transaction or a poll; and how often it asks. */
export const RULES_AWAITED_MS = 7_000;
export const RULES_ASKED_MS = 20;

/** Owed advances: how often they are retried, and how many at a time. */
export const OWED_AGAIN_MS = 250;
export const OWED_AT_ONCE_MAX = 256;

/**
 * Reads for display. Listings at once: few, however many readers there are, because they come in bursts that nobody
 * waits for. Listings that wait, each for a page of some ten milliseconds. Claims in one step: a few milliseconds' work
 * even with as many labels as allowed; an embedded database does nothing else meanwhile.
 */
export const LISTINGS_AT_ONCE_MAX = 2;
export const LISTINGS_QUEUED_MAX = 100;
export const CLAIMS_PER_STEP_MAX = 20;
/** Locks read in a step, and locks with waiters that are gone through, for a caller that may not see all of them. */
export const SEARCHED_PER_STEP = 200;
export const WAITED_LOCKS_MAX = 10_000;
/** Claims (live and ended ones each) and changes that one page of a listing searches: some hundred milliseconds. */
export const CLAIMS_SEARCHED_MAX = 10_000;
export const CHANGES_SEARCHED_MAX = 10_000;
/**
 * What an explanation of a wait reads: recent ended claims, of which so many leases make an estimate, at least and at
 * most; and changes, among which it looks for the one that set the limit.
 */
export const RECENT_CLAIMS_READ = 300;
export const ESTIMATED_FROM_MIN = 5;
export const ESTIMATED_FROM_MAX = 100;
export const LIMIT_CHANGES_READ = 100;
/** Waits that an estimate plays: some milliseconds of computing. */
export const PLAYED_WAITS = 100;
/**
 * Rows that another transaction has held for this long are a cause of waiting: ordinary transactions take milliseconds.
 * A lock that this server has not tried to write is looked at twice, with this pause.
 */
export const ROWS_HELD_MS_MIN = 1_000;
export const ROWS_LOOKED_AGAIN_MS = 100;
/** Reads that complete answers (holders, place) and wait for their turn: as many as commands may wait by default. */
export const ANSWERS_QUEUED_MAX = 10_000;

/** Locks that one sweep advances together, and how many rounds it makes while there are more. */
export const SWEEP_LOCKS_MAX = 256;
export const SWEEP_ROUNDS_MAX = 20;
export const SWEEP_INTERVAL_MS = 1_000;
/**
 * After the clock was set back: when the next round of claims is brought back, and when all claims are looked at again,
 * until a look finds none. By then every transaction is over that had read the clock before.
 */
export const AHEAD_INTERVAL_MS = 1_000;
export const AHEAD_AGAIN_MS = TRANSACTION_US_MAX / 1_000;
/** Claims that one round brings back, and how many rounds it makes before the next interval. */
export const AHEAD_CLAIMS_MAX = 256;
export const AHEAD_ROUNDS_MAX = 20;
/** Pools that one look at all of them reads, holders of a lock that are counted together, and how often servers look for pools to count. */
export const POOLS_LISTED_MAX = 10_000;
export const POOLS_READ_MAX = 100;
export const COUNTED_CLAIMS_MAX = 256;
export const COUNTED_LOCKS_AT_ONCE = 64;
export const POOLS_INTERVAL_MS = 5_000;
/** How soon the change of a rule about a pool is tried again whose row another transaction holds: it must not wait with the rules. */
export const POOL_HELD_UP_MS = 20;
/** Rows that one round of a purge deletes, and its rounds: more than end between two purges, at thousands a second. */
export const PURGE_ROWS_MAX = 1_000;
export const PURGE_ROUNDS_MAX = 100;
export const PURGE_INTERVAL_MS = 5_000;
/** How far a server that starts looks back for request ids that others have not forgotten, beside the retention time. */
export const FORGOTTEN_BEFORE_US = 24 * 3_600 * 1_000_000;
/** How often the ended claims and the changes are counted, about. */
export const TRIM_INTERVAL_MS = 60_000;
/** Changes that are kept: a few hundred bytes each, more than people make in years. */
export const CHANGES_KEPT_MAX = 1_000_000;

/**
 * One check of the rows of live claims in the background: its findings, and how long it may take, beside decisions and
 * with a snapshot that keeps the database from tidying up. After a check, none begins for REST_SHARE times as long.
 */
export const FINDINGS_MAX = 100;
export const CHECKED_MS_MAX = 30_000;
export const CHECKED_REST_SHARE = 99;
/** When the next check begins after one that would have taken too long: that costs a connection with what it knows. */
export const CHECKED_AGAIN_MS = 6 * 3_600_000;

/** How long a decision counts as evidence about the database: a refused client retries sooner than that. */
export const RECENT_DECISIONS_MS = 3_000;
/** When leftovers of an interrupted probe end. */
export const PROBE_TTL_US = 5_000_000;

/** Claims of traced calls whose wait is shown at once; beyond it, the longest waits are shown as if they had ended. */
export const QUEUE_SPANS_MAX = 10_000;
/** How much later than a read of a grant this replica may hear of its own commit of it. */
export const OWN_GRANT_AWAITED_MS = 250;

/** How often a replica renews its register entry: several times within the entry's life (REPLICA_KEPT_US). */
export const BEAT_INTERVAL_MS = 5_000;

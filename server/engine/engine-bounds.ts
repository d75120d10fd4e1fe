// The bounds of the engine's own work, each with its reason. What clients can rely on is in core/bounds.ts.

/** Commands and locks of one transaction: row locks are held for some milliseconds at the most. */
export const BATCH_COMMANDS_MAX = 256;
export const BATCH_LOCKS_MAX = 128;

/** Two rows that went different ways meet at one revision once in a million; 63 bits last for 10^13 transactions. */
export const REVISION_STEP_MAX = 2 ** 20;

/** Rounds of reading on in one transaction: about 2,000 grants; the rest follows in the next transaction. */
export const AGAIN_ROUNDS_MAX = 8;

/**
 * A lock whose rows another transaction held stays out of the lanes for so long, and longer each time it is found held
 * again. The first time is about as long as a transaction of another replica lasts. With the longest, lanes seldom look
 * in vain at a lock that two replicas write in turns.
 */
export const HELD_UP_MS = 50;
export const HELD_UP_GROWTH = 4;
export const HELD_UP_MS_MAX = 10_000;
/** The same for a lock that was waited for in vain. Meanwhile nothing is begun about it in the background. */
export const STUCK_MS = 1_000;
/** How long a lock is waited for before heartbeats keep the places of those who have come back to it. */
export const COMEBACKS_AFTER_MS = 250;
/** Locks that are remembered as held: more than can be found so in that time. */
export const HELD_UP_LOCKS_MAX = 10_000;
/** When a client may try again after the database was away. */
export const UNAVAILABLE_RETRY_AFTER_MS = 1_000;
/** When a client may try again after a bound was reached. */
export const OVERLOADED_RETRY_AFTER_MS = 250;

/** Names whose ids are remembered: 200 bytes each or so. */
export const LOCK_IDS_MAX = 50_000;
/** Locks of which the last token is remembered, to notice when the database has lost it. */
export const LOCKS_REMEMBERED_MAX = 50_000;
/** Names resolved in one go, and names that wait for it: as many as commands may by default. */
export const RESOLVE_NAMES_MAX = 200;
export const RESOLVE_QUEUED_MAX = 10_000;
/** Seconds of new names that a server may create at once after it has created none for a while. */
export const NEW_NAMES_BURST_S = 10;
/** When a client may try again after the server has created as many names as it may. */
export const NEW_NAMES_RETRY_AFTER_MS = 1_000;
/** How often a command is sent after a guard row that was cleaned away between its look-up and its decision. */
export const STALE_ID_TRIES_MAX = 5;

/** Waiters that one statement heartbeats. */
export const HEARTBEAT_KEYS_MAX = 1_000;
/** Heartbeats in one grace period: one or two may fail and the place is still kept. */
export const HEARTBEATS_PER_GRACE = 4;
/** Calls that are gone and of which the database does not know yet; those beyond are left to their grace period. */
export const DETACHMENTS_MAX = 100_000;
/** How many of them are told again at a time, and how often that is tried. */
export const DETACHMENTS_AT_ONCE = 256;
export const DETACHMENTS_INTERVAL_MS = 1_000;
/** When waiters whose rows another transaction held are heartbeaten again. */
export const HEARTBEAT_AGAIN_MS = 500;
/** Claims and request ids of one read, which looks for those who have come back to locks that are held up. */
export const COMEBACKS_READ_MAX = 500;
/** Ends that come within this time are awaited by timers: as long as the sweep takes to come by. */
export const DUE_AHEAD_US = 1_000_000;
/** Later than the end itself by what the replica's knowledge of the clock may lag. */
export const DUE_AFTER_MS = 2;
/** Locks of one poll statement. */
export const POLL_LOCKS_MAX = 1_000;
/** When a claim that a poke tells of, and that still waits here, is looked at again: a node may apply the grant later. */
export const POKED_AGAIN_MS = [4, 8, 16, 32, 64, 128, 256];
/** From the end of one round of telling places to the start of the next. */
export const PLACES_PACE_MS = 100;
/** Queues read at once to tell places: connections are for decisions, heartbeats and polls. */
export const PLACES_READS_MAX = 2;
/**
 * Places read or told in one go, about a millisecond of work, and the pause after it: 50,000 a second for the whole server,
 * so that a queue of 10,000 waiters is told in half a second and decisions go on meanwhile.
 */
export const PLACES_SLICE = 500;
export const PLACES_SLICE_PAUSE_MS = 10;

/**
 * Captures. Groups of locks (one status in one folder) that are looked at together: for each, an index is entered once. Index
 * entries of one look, some milliseconds; looks of one attempt: where nearly all that is found cannot be had, it is cut short,
 * and the next one goes on from there. Candidates of one attempt.
 */
export const CAPTURE_GROUPS_MAX = 500;
export const CAPTURE_PAGE = 2_000;
export const CAPTURE_LOOKS_MAX = 20;
export const CAPTURE_TRIED_MAX = 1_000;
/**
 * Captures that are at work at a time: each reads and decides a few times, so these are enough to keep all lanes busy, and a
 * newcomer waits for a few of them only. Those that wait for their turn, of one client and of all.
 */
export const CAPTURES_AT_ONCE_MAX = 32;
export const CAPTURES_QUEUED_EACH_MAX = 1_000;
export const CAPTURES_QUEUED_MAX = 10_000;
/** Lines of Captures of which is remembered how far they have looked. */
export const CAPTURE_LINES_MAX = 1_000;
/**
 * How long a line of those that wait goes without looking, where nothing has told it to: a second, or longer where there are
 * many lines. And how soon after the last time it looks again; after one that took long, so many times as long, up to the last
 * bound: a database that stalled once must not keep the line waiting for many times that long.
 */
export const CAPTURE_POLL_MS = 1_000;
export const CAPTURE_POLL_MS_EACH = 20;
export const CAPTURE_POLL_MS_MIN = 2;
export const CAPTURE_REST_SHARE = 9;
export const CAPTURE_REST_MS_MAX = 2_000;
/** Locks of which is remembered at which revision they were seen: more than are told again and again in a busy second. */
export const CAPTURE_SEEN_MAX = 10_000;

/**
 * Watches of locks. How many, over how many locks: 30 MB or so of what is known of each. Locks and names of one watch that
 * have changed and not been read by its client: beyond that, a snapshot costs no more.
 */
export const WATCHES_MAX = 100;
export const WATCHED_LOCKS_MAX = 100_000;
export const WATCH_PENDING_MAX = 10_000;
/** Locks, and claims of all of them, that one round of telling reads; names of locks that are gone in one message. */
export const WATCH_LOCKS_MAX = 100;
export const WATCH_CLAIMS_MAX = 200;
export const WATCH_GONE_MAX = 500;
/** From one round to the next: where all was told, where more is to be told, and where it could not be read. */
export const WATCH_PACE_MS = 100;
export const WATCH_PAUSE_MS = 20;
export const WATCH_FAILED_MS = 1_000;
/**
 * How long a transaction lasts from its clock to its end: nearly always, and at the most (LEASE_MS_MAX of the store, and a
 * commit that is slow). How often a sweep goes back by the latter, and how often the next locks that are known are looked at.
 */
export const TRANSACTION_US_USUAL = 500_000;
export const TRANSACTION_US_MAX = 7_000_000;
export const WIDE_SWEEP_MS = 1_000;
/** Guard rows of one read of a sweep, and locks that are known and looked at together. */
export const DECIDED_ROWS_MAX = 500;
export const KNOWN_LOOKED_AT_MAX = 1_000;
/** Sweeps rest for so many times as long as they took, up to so long: a database that stalls may soon be quick again. */
export const WATCH_REST_SHARE = 9;
export const WATCH_REST_MS_MAX = 1_000;
/** After so long without a sweep all watches begin anew; and after a clock that was set back by so much. */
export const SWEEP_BEHIND_MS = 5_000;
export const CLOCK_BACK_US = 1_000_000;

/**
 * How long a change of a rule waits for servers that have not said that they decide by it: as long as a transaction may last
 * that one of them has begun before, and longer than a poll of theirs. And how often it asks.
 */
export const RULES_AWAITED_MS = 7_000;
export const RULES_ASKED_MS = 20;

/** Advances that are owed: how often they are tried again, and how many at a time. */
export const OWED_AGAIN_MS = 250;
export const OWED_AT_ONCE_MAX = 256;

/**
 * Reads for display. Listings at once: few, however many there is room for, as they come in bursts that nobody waits
 * for. Listings that wait, each for a page of some ten milliseconds. Claims of one step: some milliseconds with all
 * labels that there may be, in which an embedded database does nothing else.
 */
export const LISTINGS_AT_ONCE_MAX = 2;
export const LISTINGS_QUEUED_MAX = 100;
export const CLAIMS_PER_STEP_MAX = 20;
/** Reads that complete answers (who holds, what place) and wait for their turn: as many as commands may by default. */
export const ANSWERS_QUEUED_MAX = 10_000;

/** Locks that one sweep brings up to date at a time, and how many times it goes on while there are more. */
export const SWEEP_LOCKS_MAX = 256;
export const SWEEP_ROUNDS_MAX = 20;
export const SWEEP_INTERVAL_MS = 1_000;
/** Rows that one statement deletes, and how many statements a purge makes at the most. */
export const PURGE_ROWS_MAX = 1_000;
export const PURGE_ROUNDS_MAX = 50;
export const PURGE_INTERVAL_MS = 5_000;

/** How long a decision counts for whether the database can be used: a client that is refused tries again sooner. */
export const RECENT_DECISIONS_MS = 3_000;
/** What a probe that was cut off leaves behind ends after this time. */
export const PROBE_TTL_US = 5_000_000;

/** How often a replica says that it is there: several times while one saying counts (REPLICA_KEPT_US). */
export const BEAT_INTERVAL_MS = 5_000;

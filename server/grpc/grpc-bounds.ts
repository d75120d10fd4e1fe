// The bounds of the gRPC layer's own work, each with its reason. What clients can rely on is in core/bounds.ts.

/**
 * A connection without traffic is pinged this often, and given up when no answer comes within the time-out: the place
 * of a waiter that froze must not be kept by a connection that nobody reads from.
 */
export const KEEPALIVE_MS = 10_000;
export const KEEPALIVE_TIMEOUT_MS = 5_000;

/** How long a connection may take for its TLS handshake, and then to say that it speaks HTTP/2, before it is closed. */
export const HANDSHAKE_MS = 8_000;

/**
 * Calls that one connection may have open beside its waits, so that Renew and Release never queue behind waits. Above it
 * the transport lets a client wait, or refuses without a reason. The bounds that give reasons must be met first: this is
 * as many as commands may wait for the database by default.
 */
export const SHORT_CALLS_MAX = 10_000;

/**
 * Calls that one connection may give up: at once twice as many as it can have open, and then more in a second than this
 * server can grant locks. A client that gives up more is taken for an attacker, and its connection ends. Honest clients
 * that let deadlines pass reach what Node allows by default, 1,000 and 33 a second.
 */
export const RESETS_BURST_SHARE = 2;
export const RESETS_PER_SECOND = 2_000;

/**
 * Calls in a row that the transport may refuse before it ends the connection: no bound. It counts calls that were given
 * up a moment ago as open, so an honest client that replaces them is refused some. The bounds above stop the others.
 */
export const REFUSED_IN_A_ROW_MAX = 2 ** 32 - 1;

/** When a client that has too many waits may try again on the same connection. Another connection is there at once. */
export const WAITS_RETRY_AFTER_MS = 1_000;

/** Most bytes of locks on one page of ListLocks: well below the 4 MiB that clients accept unless told otherwise. */
export const PAGE_BYTES_MAX = 1_048_576;

/** Most bytes of locks in one message of a watch: it is kept until its client reads, also in a session. */
export const WATCH_BYTES_MAX = 131_072;

/**
 * Labels that are looked at one by one, and characters of a key that are quoted: all violations together must fit into
 * the trailer, for which clients allow as little as 8 KiB.
 */
export const LABELS_CHECKED_MAX = 16;
export const VIOLATIONS_OF_NAMES_MAX = 16;
export const QUOTED_CHARS_MAX = 24;

/**
 * Renewals of one command are answered together, so long after the first of them at the latest: within the third of the
 * shortest time to live in which it is to be renewed.
 */
export const RENEWED_LATER_MS_MAX = 500;

/** Claims of one poke to another server, and how long one may take. One that fails is followed by none for so long. */
export const POKED_CLAIMS_MAX = 1_000;
export const POKE_TIMEOUT_MS = 1_000;
export const POKE_REST_MS = 2_000;

/** Other servers that are asked for a decision when this one has lost its database: one that decides is enough. */
export const OTHERS_ASKED_MAX = 5;

/** When a client may try elsewhere after this server began to stop: at once, but not in a tight loop. */
export const SHUTTING_DOWN_RETRY_AFTER_MS = 100;

/** Faults of one reason are logged once in this time, with the number of those in between: an outage must not fill the disk. */
export const FAULT_LOG_INTERVAL_MS = 1_000;

/** Reads of a place that moved on between the decision and the read, before the place is taken to be the first. */
export const PLACE_TRIES_MAX = 3;

/**
 * Places that are told at once, about a millisecond or two of work, and the pause after them: 2,500 a second for the whole
 * server, which leaves most of its time to decisions. In a larger crowd each is told less often, and then the latest place.
 */
export const PLACES_AT_ONCE = 25;
export const PLACES_PAUSE_MS = 10;

/** A call that is cancelled so shortly before its deadline is counted as one whose deadline has passed. */
export const DEADLINE_SLACK_MS = 100;

/** Leases of one renew_leases: some hundred kilobytes of answer. */
export const RENEWED_AT_ONCE_MAX = 1_000;

/**
 * Commands that the engine has at a time, shared by the sessions and connections that have some: more than all lanes take at
 * once, so that a client that is alone keeps them busy, and few enough for a newcomer to wait for a fraction of a second. The
 * least share lets each of a thousand clients go on.
 */
export const COMMANDS_AT_ONCE_MIN = 8;
export const COMMANDS_AT_ONCE = 1_024;
/** Commands that are read of one session before others are: a millisecond or two of work. */
export const COMMANDS_PER_TURN_MAX = 100;
/** Commands of one client that wait for that: leases are renewed by the thousand, and some clients have many thousands. */
export const ADMISSION_QUEUED_MAX = 100_000;

/** Bytes of results that a session holds for a client that does not read: some thousand answers, or two large pages. */
export const SESSION_UNREAD_BYTES_MAX = 4_194_304;

/** A session is ended after the first share of the grace period in silence; its client should be heard after the second. */
export const SILENCE_PER_GRACE = 1 / 2;
export const HEARTBEAT_PER_GRACE = 1 / 8;

/**
 * How long a session keeps a lease in mind after its time is over. This server hears of the end within a second or so of when
 * it has the database, unless another server was the one to end it.
 */
export const LEASE_FORGOTTEN_AFTER_MS = 60_000;

/**
 * How long a lease that was acknowledged stays provisional, as a share of the grace period that it lasts: whoever renews or
 * releases it by then spares the database a write.
 */
export const CONFIRM_PER_GRACE = 1 / 8;

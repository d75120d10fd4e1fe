// The bounds of the gRPC layer's own work, each with its reason. What clients can rely on is in core/bounds.ts.

/**
 * The server pings a connection without traffic this often, and closes it without an answer in time: a connection that
 * nobody reads from must not keep the place of a waiter that froze.
 */
export const KEEPALIVE_MS = 10_000;
export const KEEPALIVE_TIMEOUT_MS = 5_000;

/** How long a connection may take for its TLS handshake, and then to show that it speaks HTTP/2. */
export const HANDSHAKE_MS = 8_000;

/**
 * Connections of one address that may close without a caller who was identified on them: so many at once, and a tenth of
 * them a second, as probes, health checks and clients with wrong tokens do, together from one node of a cluster. An
 * address with more gets its next ones one every SPACED_MS, until SPACED_FOR_MS after the last one too many.
 */
export const WASTED_CONNECTIONS = { most: 50, spanMs: 10_000 };
export const SPACED_MS = 100;
export const SPACED_FOR_MS = 10_000;
export const SPACED_ADDRESSES_MAX = 10_000;
/** Of the connections that the server has room for, those that one address may have, so that another one finds room. */
export const ADDRESS_SHARE = 3 / 4;
/** Seconds for which the connections of one address may come at once: all clients behind it come back after a restart. */
export const ADDRESS_BURST_S = 10;

/** Bytes of the headers of a call, unless a setting says otherwise: a JWT with many claims has some kilobytes. */
export const HEADER_BYTES_MAX = 16_384;

/**
 * Calls that a connection may have open before a caller was identified on it: its client holds back further ones, for
 * one round trip. As many as HTTP/2 advises to allow at least.
 */
export const UNKNOWN_STREAMS_MAX = 100;
/**
 * Calls that such a connection may open in a tick of the event loop before it is cut off. So it has taken calls back by
 * the hundred, as no client does at first.
 */
export const UNKNOWN_OPENED_AT_ONCE_MAX = 2 * UNKNOWN_STREAMS_MAX;
/**
 * Calls that may fail on a connection for who their callers are, or come to nothing before anybody was identified,
 * before the connection is ended: so many at once, and a tenth of them a second. A client that calls rarely never
 * gets there. A connection with known callers may be that of a proxy, and carry the calls of many.
 */
export const FAILED_CALLS = {
  unknown: { most: 100, spanMs: 10_000 },
  known: { most: 1_000, spanMs: 10_000 },
};
/** How long an ended connection has left: for its last answers, or for its calls under way if it has known callers. */
export const LEAVES_MS = { known: 10_000, unknown: 1_000 };
/**
 * Calls of other services (health, reflection) that a connection may have open, and make: nobody is asked who they are
 * there. Probes make one a second at most.
 */
export const OTHER_STREAMS_MAX = 100;
export const OTHER_CALLS = { most: 200, spanMs: 4_000 };
/**
 * Measured and rounded up: what an open call takes without its headers. Headers take their bytes once in the
 * transport, and once more in grpc-js.
 */
export const STREAM_BYTES = 8_192;
export const HEADER_TIMES = 2;
/**
 * Once open calls take CROWDED_STREAMS_SHARE of their room, a connection with OWN_STREAMS_SHARE of it gets no more,
 * except for renewals and releases.
 */
export const CROWDED_STREAMS_SHARE = 3 / 4;
export const OWN_STREAMS_SHARE = 1 / 32;

/** The share by which the age at which connections end varies. */
export const AGE_JITTER = 0.1;
/** How long calls on a connection that has reached its age may take to finish before they are cut off. */
export const FINISH_MS = 10_000;

/**
 * How long a client may take to send a request, and how much memory all requests may take that have not arrived
 * completely, with what each of their parts takes beside its bytes. The server looks this often.
 */
export const REQUEST_ARRIVES_MS = 10_000;
export const ARRIVING_BYTES_MAX = 67_108_864;
export const PART_OF_MESSAGE_BYTES = 256;
export const ARRIVING_LOOK_MS = 250;

/** How long after its answer a call is closed whose request has not ended: a reset would overtake the answer. */
export const ANSWER_LEAVES_MS = 1_000;

/**
 * Calls that one connection may have open beside its waits, so that Renew and Release never queue behind waits. Above
 * this, the transport delays or refuses calls without a reason. The bounds that give reasons must take effect first, so
 * this equals the default number of commands that may wait for the database.
 */
export const SHORT_CALLS_MAX = 10_000;

/**
 * Calls that one connection may cancel: a burst of twice as many as it can have open, and then more per second than this
 * server can grant locks. Honest clients whose deadlines pass do reach Node's defaults of 1,000 and 33 per second.
 */
export const RESETS_BURST_SHARE = 2;
export const RESETS_PER_SECOND = 2_000;

/**
 * Calls that one connection may begin in a tick of the event loop, and how long the calls beyond that keep the others
 * waiting in each tick: one packet can open hundreds of calls, which take tens of milliseconds.
 */
export const CALLS_AT_ONCE = 8;
export const CALLS_TURN_MS = 4;

/**
 * Calls that one connection may open in a tick of the event loop before it takes turns with others in being read: the
 * transport would read up to two megabytes of each in a tick, which can open tens of thousands of calls.
 */
export const CALLS_READ_AT_ONCE = 64;
/**
 * After a tick in which one connection has opened more calls than that, no such connection is read for as long as these
 * calls took to open, measured: a packet without bodies can open four thousand, in half a second.
 */
export const CALLS_READ_MANY = 256;
export const CALL_OPENS_MS = 0.1;
/** Between two reads of such connections of strangers: time for some ticks that serve others alone. */
export const READ_REST_MS = 20;
/** Calls that came to nothing lately on a connection, above which it counts like that of a stranger. */
export const FAILED_LATELY = 20;

/**
 * Calls in a row that the transport may refuse before it ends the connection: unbounded, because the transport counts
 * calls that were cancelled a moment ago as open, so it refuses some of an honest client. The bounds above stop dishonest
 * ones.
 */
export const REFUSED_IN_A_ROW_MAX = 2 ** 32 - 1;

/** When a client with too many waits may try again on the same connection. It can open another connection at once. */
export const WAITS_RETRY_AFTER_MS = 1_000;

/** Bytes of items on one page of a listing at most: well below the 4 MiB that clients accept by default. */
export const PAGE_BYTES_MAX = 1_048_576;

/**
 * Bytes of locks in one message of a watch at most: the server keeps the message until the client reads it, also in a
 * session.
 */
export const WATCH_BYTES_MAX = 131_072;

/**
 * Labels checked one by one, violations reported for a capture's names, and characters of a key that errors quote: all
 * violations must fit into the trailer, and some clients accept only 8 KiB.
 */
export const LABELS_CHECKED_MAX = 16;
export const VIOLATIONS_OF_NAMES_MAX = 16;
export const QUOTED_CHARS_MAX = 24;

/**
 * The renewals of one command are answered together, at most this long after the first is done: one slow renewal must not
 * use up the time in which the holders of the others have to hear of theirs.
 */
export const RENEWED_LATER_MS_MAX = 500;

/** Claims per poke to another server, its time, and how long that server gets none after one has failed. */
export const POKED_CLAIMS_MAX = 1_000;
export const POKE_TIMEOUT_MS = 1_000;
export const POKE_REST_MS = 2_000;

/** Other servers asked for a decision when this one has lost its database: one that can decide is enough. */
export const OTHERS_ASKED_MAX = 5;

/** When a client may try another server after this one began to stop: soon, but not in a tight loop. */
export const SHUTTING_DOWN_RETRY_AFTER_MS = 100;

/** Faults of one reason are logged once per interval: an outage must not fill the disk. */
export const FAULT_LOG_INTERVAL_MS = 1_000;

/**
 * Lines about denied calls: warnings for one address and reason, and for all addresses; then the same for the audit, where
 * each known caller counts by itself. Known callers have all of this, and so have strangers. And how many addresses or
 * callers are distinguished.
 */
export const LOGGED_DENIALS_EACH = { most: 1, spanMs: 1_000 };
export const LOGGED_DENIALS_ALL = { most: 20, spanMs: 1_000 };
export const AUDITED_DENIALS_EACH = { most: 20, spanMs: 1_000 };
export const AUDITED_DENIALS_ALL = { most: 200, spanMs: 1_000 };
export const DENIED_ADDRESSES_MAX = 1_000;

/**
 * Reads of a place before it is taken to be the first: a read finds nothing if the place has moved on since the
 * decision.
 */
export const PLACE_TRIES_MAX = 3;

/**
 * Places sent in one go (a millisecond or two of work), and the pause after them: 2,500 a second for the whole server,
 * which leaves most of its time to decisions. In a larger crowd, each client hears less often.
 */
export const PLACES_AT_ONCE = 25;
export const PLACES_PAUSE_MS = 10;

/** The longest deadline of a call, and the longest timer of Node: 24 days. A later deadline counts as none. */
export const DEADLINE_MS_MAX = 2 ** 31 - 1;
/** A call that is cancelled this shortly before its deadline counts as one whose deadline has passed. */
export const DEADLINE_SLACK_MS = 100;

/** Leases per renew_leases command: an answer of some hundred kilobytes. */
export const RENEWED_AT_ONCE_MAX = 1_000;

/**
 * Renewals of one lease within its ttl that cost its client nothing: ten times as many as clients make. What comes sooner,
 * and renewals and releases that find no lease, take from the client's allowance: so many at once, and so many a second.
 * Beyond the first number, it grows with the renewals of the last seconds that cost nothing, so that a client with 100,000
 * leases may renew all of them at once after it has lost its connection.
 */
export const RENEWALS_PER_TTL = 30;
export const RENEWALS_SPARE = 1_000;
export const RENEWALS_PER_SECOND = 100;
export const RENEWALS_PROVEN_MS = 10_000;
/** What calls under way together may cost beyond the allowance: it is given back within a second. */
export const RENEWALS_DEBT_MAX = 100;
/** When a client with too many renewals may try again: soon, as the shortest lease lasts a second. */
export const RENEWALS_RETRY_AFTER_MS_MIN = 100;
export const RENEWALS_RETRY_AFTER_MS_MAX = 1_000;
/** Clients whose renewals are bounded by what they did before: some megabytes. */
export const RENEWALS_BOUNDED_MAX = 10_000;

/**
 * Commands in the engine at a time, shared by the sessions and connections that have some, and the least share of each.
 * More than all lanes take at once, so that a lone client keeps them busy, and so few that a newcomer waits for a fraction
 * of a second only. The least share lets each of a thousand clients make progress.
 */
export const COMMANDS_AT_ONCE_MIN = 8;
export const COMMANDS_AT_ONCE = 1_024;
/**
 * Commands begun in one session before other sessions are read: some milliseconds of work. Then the same for a session
 * that has used up its last tick while other clients are served: a call takes about three ticks, so they are to be short.
 */
export const COMMANDS_PER_TICK_MAX = 100;
export const CROWDED_COMMANDS_PER_TICK_MAX = 20;
/** Commands of one client that may wait for admission: some renew leases by many thousands. */
export const ADMISSION_QUEUED_MAX = 100_000;

/**
 * How long the next of a client's waiting calls or commands may have waited when another one comes that neither renews nor
 * gives back a lease: a longer queue would only make everything late. So a short burst is queued, however large.
 */
export const LATE_MS = 500;

/**
 * When a refused call is to come back. By the least time, the queue that refused it is gone. The longest is half of the
 * usual grace period, for which a waiter keeps its place. Steps, so that each refusal is encoded once.
 */
export const RETRY_AFTER_MIN_MS = 2 * LATE_MS;
export const RETRY_AFTER_MAX_MS = 5_000;
export const RETRY_AFTER_STEP_MS = 100;

/** Bytes of results that a session holds for a client that does not read: some thousand answers, or two large pages. */
export const SESSION_UNREAD_BYTES_MAX = 4_194_304;

/**
 * The server ends a session after SILENCE_PER_GRACE of the grace period in silence; its client should send something
 * every HEARTBEAT_PER_GRACE of it.
 */
export const SILENCE_PER_GRACE = 1 / 2;
export const HEARTBEAT_PER_GRACE = 1 / 8;

/**
 * How long a session remembers a lease after its deadline. While this server has the database, it learns of the end
 * within about a second, unless another server ended the lease.
 */
export const LEASE_FORGOTTEN_AFTER_MS = 60_000;

/**
 * How long an acknowledged lease stays provisional, as a share of the grace period. If the client renews or releases it
 * before then, the server saves a write to the database.
 */
export const CONFIRM_PER_GRACE = 1 / 8;

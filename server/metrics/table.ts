// The metrics of a server, all in one table: name, help, labels and buckets. Dashboards and alerts rely on names and
// labels, so these stay. A label takes only words of the code, classes of names, and the most used ones of what operators
// have named: values of a label of claims, and pools. It is never the name of a lock.

import type { EndReason } from "../core/claim.ts";
import { counter, gauge, histogram, type Live } from "./series.ts";

// The buckets of histograms. Each bucket of each label value is a time series.

/**
 * A transaction: a commit takes 0.1 ms embedded and 0.3 to 1 ms in MySQL, trouble begins at 100 ms, and nothing
 * outlasts the deadline of a transaction, a few seconds.
 */
const TRANSACTION_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];
/**
 * A statement. There are a few dozen, each with its own series. They show which statement is slow, so a few steps
 * from usual to trouble are enough; the transaction's buckets show how slow the whole is.
 */
const STATEMENT_SECONDS = [0.001, 0.005, 0.025, 0.1, 1];
/** A command or call: a batch and its wait for a lane. Calls that wait for a lock are in the last buckets. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
/** How long a claim waits for or holds a lock: from a hand-over within a millisecond to a nightly job of hours. */
const LOCK_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];
/** Commands or locks of one transaction: powers of two up to the largest batch that helps. */
const BATCH_SIZE = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** Two is good. More means a wrong guess about a queue, a decision in parts, or a retry. */
const ROUND_TRIPS = [1, 2, 3, 4, 6, 8, 12, 20];
/** Commands or results in one message of a session: none in a heartbeat, one for a lone caller, hundreds in a crowd. */
const MESSAGE_ITEMS = [0, 1, 4, 16, 64, 256, 1_024];
/** Sessions that end at once are in trouble; others last as long as their client's process. */
const SESSION_SECONDS = [1, 60, 3_600, 86_400];

const LEASE_ENDS: readonly EndReason[] = [
  "released",
  "failed",
  "expired",
  "force_released",
  "lapsed",
  "cancelled",
  "spent",
];
const TICKET_ENDS: readonly EndReason[] = [
  "cancelled",
  "timed_out",
  "lapsed",
  "never_fits",
  "exhausted",
  "status_mismatch",
  "superseded",
  "force_released",
];
const LOOPS = [
  "poll",
  "poke",
  "heartbeat",
  "detachments",
  "sweep",
  "purge",
  "beat",
  "places",
  "advance",
  "watches",
  "doctor",
];
/** What checks of the rows of live claims can find damaged. */
export const INVARIANTS = [
  "counters",
  "overlap",
  "tokens",
  "order",
  "deadlines",
  "places",
  "no_guard",
  "records",
  "not_granted",
];

export const METRICS = {
  // Claims, by class of the lock's name.
  acquires: counter(
    "rowlock_acquires_total",
    "Requests for a lock by first answer: granted, queued, spent, a refusal, or, for a known request id, the state of its claim. " +
      "One for several locks counts at each.",
    ["class", "mode", "outcome"],
  ),
  renewals: counter(
    "rowlock_renewals_total",
    "Renewals by outcome: renewed, lost (the lease had ended), not_held (it still waits), unknown.",
    ["class", "outcome"],
  ),
  waitSeconds: histogram(
    "rowlock_wait_duration_seconds",
    "Time from the request to the grant, for granted requests, with or without a wait in the queue.",
    ["class", "queued"],
    { buckets: LOCK_SECONDS },
  ),
  holdSeconds: histogram(
    "rowlock_hold_duration_seconds",
    "Time from the grant to the end of a lease, for any reason, without spends.",
    ["class"],
    { buckets: LOCK_SECONDS },
  ),
  enqueued: counter("rowlock_enqueued_total", "Requests that took a place in a queue.", ["class"]),
  leasesEnded: counter(
    "rowlock_leases_ended_total",
    "Leases that ended, by reason: released, expired, force_released, lapsed or cancelled (never fetched); and spends.",
    ["class", "reason"],
    { known: { reason: LEASE_ENDS } },
  ),
  ticketsEnded: counter(
    "rowlock_tickets_ended_total",
    "Waiters that left a queue without the lock, by reason: cancelled, timed_out, lapsed, never_fits, exhausted, " +
      "status_mismatch, force_released.",
    ["class", "reason"],
    { known: { reason: TICKET_ENDS } },
  ),

  // What else the engine does.
  captures: counter(
    "rowlock_captures_total",
    "Capture attempts by result: all of the requested leases, some, none, or repeated (the leases of an earlier attempt).",
    ["outcome"],
    { known: { outcome: ["all", "some", "none", "repeated"] } },
  ),
  captureRefusals: counter(
    "rowlock_capture_refusals_total",
    "Candidates of captures that were refused because another request took the lock first.",
  ),
  watchLocks: counter(
    "rowlock_watch_locks_told_total",
    "Locks that watches have sent: current states (stands) or deletions.",
    ["event"],
    { known: { event: ["stands", "deleted"] } },
  ),
  watchesBegunAnew: counter(
    "rowlock_watches_begun_anew_total",
    "Watches that began anew, by cause: a slow reader, an outage or fail-over of the database, its clock.",
    ["cause"],
    { known: { cause: ["slow_reader", "outage", "failed_over", "clock"] } },
  ),
  commandSeconds: histogram(
    "rowlock_command_duration_seconds",
    "Time from the submission of a command to its committed answer, without the wait for the lock.",
    ["verb"],
    { buckets: CALL_SECONDS },
  ),
  limitChanges: counter(
    "rowlock_limit_changes_total",
    "Limits and rates that were set or removed, of single names, of patterns and of pools.",
    ["target"],
    { known: { target: ["name", "pattern", "pool"] } },
  ),
  recordChanges: counter(
    "rowlock_record_changes_total",
    "Records of locks that UpdateRecord set, or that DeleteRecord deleted.",
    ["change"],
    { known: { change: ["set", "deleted"] } },
  ),
  transactionRetries: counter(
    "rowlock_transaction_retries_total",
    "Transactions that were repeated, by cause.",
    ["cause"],
    { known: { cause: ["deadlock"] } },
  ),
  failOvers: counter(
    "rowlock_fail_overs_total",
    "Fail-overs and restores of the database that this server noticed; each pauses grants.",
  ),
  clockJumps: counter(
    "rowlock_clock_jumps_total",
    "Jumps of the database's clock relative to this process's clock, by direction: ahead or behind.",
    ["direction"],
    { known: { direction: ["ahead", "behind"] } },
  ),
  loopFailures: counter(
    "rowlock_loop_failures_total",
    "Runs of background loops that failed; the loop goes on.",
    ["loop"],
    { known: { loop: LOOPS } },
  ),
  transactionCommands: histogram(
    "rowlock_transaction_commands",
    "Commands that were decided in one transaction.",
    [],
    { buckets: BATCH_SIZE },
  ),
  transactionLocks: histogram(
    "rowlock_transaction_locks",
    "Locks that were decided about in one transaction.",
    [],
    { buckets: BATCH_SIZE },
  ),

  // What the database costs.
  statementSeconds: histogram(
    "rowlock_statement_duration_seconds",
    "One statement at the database, by its name in the source.",
    ["statement"],
    { buckets: STATEMENT_SECONDS },
  ),
  transactionSeconds: histogram(
    "rowlock_transaction_duration_seconds",
    "One transaction that changes state, from taking a connection to its commit or rollback.",
    ["outcome"],
    { buckets: TRANSACTION_SECONDS },
  ),
  connectionEvents: counter(
    "rowlock_connection_events_total",
    "Connections to the database that were opened, closed, or destroyed because their state was in doubt.",
    ["event"],
    { known: { event: ["opened", "closed", "destroyed"] } },
  ),
  databaseMoves: counter(
    "rowlock_database_moves_total",
    "Moves of all connections to another server of a database that has several addresses.",
  ),
  databaseChosen: gauge(
    "rowlock_database_server_chosen",
    "1 for the server to which all connections lead, of a database that has several addresses; 0 for the others.",
    ["address"],
  ),
  databaseUsable: gauge(
    "rowlock_database_server_usable",
    "1 for each server that could be used at the last look, of a database that has several addresses; 0 for the others.",
    ["address"],
  ),
  roundTrips: histogram(
    "rowlock_transaction_round_trips",
    "Round trips to the database of one transaction; an embedded database has none.",
    [],
    { buckets: ROUND_TRIPS },
  ),

  // What clients and other servers see.
  calls: counter(
    "rowlock_grpc_calls_total",
    "Calls that have ended, by method and status code, and by the way they came: as a call, in a session or from the page.",
    ["method", "via", "code"],
    // These mean that something is wrong at the server. Each method has their series from its first call on.
    { known: { code: ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED"] } },
  ),
  // The code is not a label here, because each code would add a series per bucket.
  callSeconds: histogram(
    "rowlock_grpc_call_duration_seconds",
    "Duration of a call, by method, in a session or not. An Acquire that waits and WaitInQueue last as long as the wait, and WatchLocks as long as the watch.",
    ["method"],
    { buckets: CALL_SECONDS },
  ),
  openStreams: gauge(
    "rowlock_grpc_open_streams",
    "Streams of WaitInQueue and WatchLocks that are open at this server.",
  ),
  messageItems: histogram(
    "rowlock_session_message_items",
    "Commands in one message that a session has received, and results in one that it has sent.",
    ["direction"],
    { buckets: MESSAGE_ITEMS, known: { direction: ["received", "sent"] } },
  ),
  sessionBytes: counter(
    "rowlock_session_bytes_total",
    "Bytes of the messages that sessions have received and sent.",
    ["direction"],
    { known: { direction: ["received", "sent"] } },
  ),
  sessionSeconds: histogram(
    "rowlock_session_duration_seconds",
    "Duration of sessions, by the status code that ended them.",
    ["code"],
    { buckets: SESSION_SECONDS },
  ),
  pokes: counter(
    "rowlock_pokes_total",
    "Claims that were granted to waiters of another server, by their poke: sent to it, lost on the way, or received here.",
    ["event"],
    { known: { event: ["sent", "lost", "received"] } },
  ),

  // The state of the whole database, as lock-gauges.ts counts it.
  busyLocks: gauge("rowlock_busy_locks", "Locks that are held or waited for. The same at every replica.", [
    "class",
  ]),
  waiters: gauge("rowlock_waiters", "Claims that wait. The same at every replica.", ["class"]),
  heldPermits: gauge(
    "rowlock_held_permits",
    "Permits that are held; a reader or writer counts as one. The same at every replica.",
    ["class"],
  ),
  limitPermits: gauge(
    "rowlock_limit_permits",
    "Sum of the limits in force of busy locks. The same at every replica.",
    ["class"],
  ),
  oldestWaiterSeconds: gauge(
    "rowlock_oldest_waiter_age_seconds",
    "How long the oldest waiter has waited, by this server's clock; 0 if nobody waits.",
    ["class"],
  ),
  holdersByLabel: gauge(
    "rowlock_holders_by_label",
    "Claims that hold a lock, by the value of the label of claims that ROWLOCK_METRICS_LABEL names: the 50 values with most " +
      "claims, the rest as other. The same at every replica.",
    ["label", "value"],
  ),
  waitersByLabel: gauge(
    "rowlock_waiters_by_label",
    "Claims that wait, in the same way. The same at every replica.",
    ["label", "value"],
  ),
  poolLimit: gauge(
    "rowlock_pool_limit",
    "The limit of a pool; a pool that has only a rate has none here. Of the pools, the 50 with most claims; the rest have none. " +
      "The same at every replica.",
    ["pool"],
  ),
  poolHeldPermits: gauge(
    "rowlock_pool_held_permits",
    "Permits of a pool that are taken, by holders and by claims that wait at a wider pool: the 50 pools with most claims, the " +
      "rest as other. The same at every replica.",
    ["pool"],
  ),
  poolWaiting: gauge(
    "rowlock_pool_waiting",
    "Claims that have their own lock and wait at the pool, in the same way. The same at every replica.",
    ["pool"],
  ),
  jobLastSuccess: gauge(
    "rowlock_job_last_success_timestamp_seconds",
    "When the last run of a lock of ROWLOCK_METRICS_JOBS ended that was released and had not failed, by its record; 0: none is known. " +
      "The same at every replica.",
    ["job_name"],
  ),
  jobOkWithin: gauge(
    "rowlock_job_ok_within_seconds",
    "How old the last success of such a lock may be, as ROWLOCK_METRICS_JOBS says.",
    ["job_name"],
  ),
  jobFailures: gauge(
    "rowlock_job_failures",
    "How many runs of such a lock in a row, up to the last one, have failed or were lost. The same at every replica.",
    ["job_name"],
  ),
  historyRows: gauge(
    "rowlock_history_rows",
    "Ended claims that are kept, about: the database's own estimate. The same at every replica.",
  ),
  historyOverdueSeconds: gauge(
    "rowlock_history_overdue_seconds",
    "How long the oldest ended claim has been kept beyond its time, which is how far cleaning is behind; 0: it is not. " +
      "The same at every replica.",
  ),
  gaugesComplete: gauge(
    "rowlock_lock_gauges_complete",
    "1 if the gauges of locks cover all busy locks, as counted within the last minute; 0 if they could not be counted.",
  ),
  replicas: gauge(
    "rowlock_replicas",
    "Servers on this database that were alive in the last 20 s. The same at every replica.",
  ),

  // The bounds of this server, as their keepers report them. Both have the same series.
  boundUsed: gauge(
    "rowlock_bound_used",
    "What is used of a bound of this server. kind: room, beyond which the server refuses more; turns, beyond which work " +
      "waits for its turn; client, what each client has for itself, as of the client that has used the largest share.",
    ["bound", "kind"],
  ),
  boundMax: gauge("rowlock_bound_max", "The bounds of this server: how much may be used.", ["bound", "kind"]),

  deletedRows: counter(
    "rowlock_deleted_rows_total",
    "Rows that this server has deleted when their time was over: ended claims, and locks that nobody uses any more.",
    ["what"],
    { known: { what: ["ended_claims", "idle_locks"] } },
  ),
  invariantFindings: gauge(
    "rowlock_invariant_findings",
    "Damage that the last check of the rows of live claims found, as rowlock doctor names it. Only the server that " +
      "checks has this.",
    ["check"],
  ),

  // This server.
  ready: gauge(
    "rowlock_ready",
    "1 if this server should get calls: its decisions get through, and it is not stopping.",
  ),
  reloadFailed: gauge(
    "rowlock_reload_failed",
    "1 if files that the server reads again could not be used when they were last read, so that what they said before is in force.",
    ["file"],
  ),
  reloadSuccessSeconds: gauge(
    "rowlock_reload_success_timestamp_seconds",
    "When what is in force was read from its files, in seconds since 1970.",
    ["file"],
  ),
  certificateExpiresSeconds: gauge(
    "rowlock_certificate_expires_timestamp_seconds",
    "Until when the certificates of a file in force are valid, in seconds since 1970: those of the listener (certificate), of " +
      "the authorities of its clients (client_ca), and for the database (database_ca, database_certificate).",
    ["file"],
  ),
  buildInfo: gauge("rowlock_build_info", "Always 1; the labels are the versions that run.", [
    "version",
    "node",
    "database",
  ]),
};

export type AllSeries = Live<typeof METRICS>;

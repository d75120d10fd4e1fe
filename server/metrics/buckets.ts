// Buckets of all histograms, in one place, with their reasons: each bucket of each label value is a time series.

/**
 * A transaction: an embedded commit takes 0.1 ms, one of MySQL 0.3 to 1 ms, trouble begins at 100 ms, and nothing lasts
 * longer than the deadline of a transaction, which is a few seconds.
 */
export const TRANSACTION_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/**
 * One statement of a few dozen, each with series of its own. They tell which statement is slow, and so need no more than
 * the steps from usual to trouble; how slow the whole is, the transaction's buckets tell.
 */
export const STATEMENT_SECONDS = [0.001, 0.005, 0.025, 0.1, 1];

/** A command or call: a batch and its wait for a lane. Calls that wait for a lock are in the last buckets. */
export const CALL_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
];

/** How long somebody waits for or holds a lock: from a hand-over within a millisecond to a nightly job of hours. */
export const LOCK_SECONDS = [
  0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400,
];

/** Commands or locks of one transaction: powers of two up to the largest batch that helps. */
export const BATCH_SIZE = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Two is good; more means a guess about a queue that was wrong, a decision in parts, or a retry. */
export const ROUND_TRIPS = [1, 2, 3, 4, 6, 8, 12, 20];

/** Commands or results in one message of a session: none in a heartbeat, one for who is alone, hundreds in a crowd. */
export const MESSAGE_ITEMS = [0, 1, 4, 16, 64, 256, 1_024];

/** Sessions that end at once are in trouble; others last as long as their process. */
export const SESSION_SECONDS = [1, 60, 3_600, 86_400];

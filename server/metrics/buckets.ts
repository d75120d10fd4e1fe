// The buckets of all histograms, with their reasons. Each bucket of each label value is a time series.

/**
 * A transaction: a commit takes 0.1 ms embedded and 0.3 to 1 ms in MySQL, trouble begins at 100 ms, and nothing
 * outlasts the deadline of a transaction, a few seconds.
 */
export const TRANSACTION_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/**
 * A statement. There are a few dozen, each with its own series. They show which statement is slow, so a few steps
 * from usual to trouble are enough; the transaction's buckets show how slow the whole is.
 */
export const STATEMENT_SECONDS = [0.001, 0.005, 0.025, 0.1, 1];

/** A command or call: a batch and its wait for a lane. Calls that wait for a lock are in the last buckets. */
export const CALL_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
];

/** How long a claim waits for or holds a lock: from a hand-over within a millisecond to a nightly job of hours. */
export const LOCK_SECONDS = [
  0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400,
];

/** Commands or locks of one transaction: powers of two up to the largest batch that helps. */
export const BATCH_SIZE = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Two is good. More means a wrong guess about a queue, a decision in parts, or a retry. */
export const ROUND_TRIPS = [1, 2, 3, 4, 6, 8, 12, 20];

/** Commands or results in one message of a session: none in a heartbeat, one for a lone caller, hundreds in a crowd. */
export const MESSAGE_ITEMS = [0, 1, 4, 16, 64, 256, 1_024];

/** Sessions that end at once are in trouble; others last as long as their client's process. */
export const SESSION_SECONDS = [1, 60, 3_600, 86_400];

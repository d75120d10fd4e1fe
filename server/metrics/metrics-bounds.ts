// The bounds of the metrics' own work, each with its reason. Buckets of histograms are in buckets.ts.

/** Distinct values of one label; what comes after them is counted as `other`. A leak of time series is worse. */
export const LABEL_VALUES_MAX = 100;

/** Locks that one read of the gauges looks at, those with most waiters first: some milliseconds on an embedded database. */
export const BUSY_LOCKS_MAX = 2_000;
/** Several scrapers share a read of the gauges. */
export const GAUGES_FRESH_MS = 3_000;
/** For that read: below the usual time-out of a scrape, 10 s. */
export const GAUGES_READ_MS_MAX = 2_000;

/** Probes of the database: how long an answer counts, and how long one is waited for. */
export const PROBE_FRESH_MS = 1_000;
export const PROBE_MS_MAX = 2_000;

/** Connections to the listener: scrapers and probes are few; more at once is a mistake or an attack. */
export const CONNECTIONS_MAX = 100;
export const REQUEST_MS_MAX = 10_000;

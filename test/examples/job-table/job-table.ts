// The old job table of the tests: some dozens of jobs of all kinds, and rows that nobody can move.

import { createPool, type Pool } from "mysql2/promise";

const COLUMNS = `(
  job_id           VARCHAR(300) NULL,
  enabled          INT NULL,
  state            VARCHAR(100) NULL,
  running_on       VARCHAR(64) NULL,
  running_at       DATETIME NULL,
  last_run         DATETIME NULL,
  next_run         DATETIME NULL,
  interval_seconds INT NULL,
  attempts         INT NOT NULL DEFAULT 0
)`;

export interface Job {
  readonly job: string | null;
  readonly enabled?: number | null;
  readonly state?: string | null;
  readonly runningOn?: string | null;
  /** Expressions of SQL. */
  readonly runningAt?: string;
  readonly lastRun?: string;
  readonly nextRun?: string;
  readonly every?: number | null;
  readonly attempts?: number;
}

const many = (count: number, make: (index: number) => Job) =>
  Array.from({ length: count }, (_, at) => make(at));

/** 48 jobs. */
export const JOBS: readonly Job[] = [
  ...many(24, (at) => ({ job: `plain-${at}`, nextRun: `NOW() + INTERVAL ${at + 1} HOUR`, lastRun: "NOW()" })),
  ...many(6, (at) => ({ job: `disabled-${at}`, enabled: 0, nextRun: "NOW() - INTERVAL 1 DAY" })),
  ...many(6, (at) => ({ job: `overdue-${at}`, nextRun: `NOW() - INTERVAL ${at + 1} HOUR` })),
  ...many(5, (at) => ({ job: `never-run-${at}` })),
  ...many(4, (at) => ({ job: `failed-${at}`, state: "failed", attempts: at + 2, nextRun: "NOW()" })),
  ...many(3, (at) => running(`running-${at}`)),
];

/** A job that a host of the old system runs. */
export function running(job: string): Job {
  return {
    job,
    state: "running",
    runningOn: "old-9",
    runningAt: "NOW()",
    nextRun: "NOW() - INTERVAL 1 MINUTE",
  };
}

/** Each with the fault that is found. */
export const BAD: readonly (Job & { readonly fault: string })[] = [
  { job: null, fault: "null: has no name" },
  { job: "x".repeat(252), fault: `"${"x".repeat(252)}": the lock's name has more than 255 bytes` },
  { job: "star*", fault: '"star*": ends in a star, so the shell takes it for a pattern' },
  { job: "half-enabled", enabled: 7, fault: '"half-enabled": enabled is 7, and neither 0 nor 1' },
  { job: "stateless", state: null, fault: '"stateless": has no state' },
  { job: "wordy", state: "y".repeat(64), fault: '"wordy": state has more than 63 bytes' },
  {
    job: "half-running",
    state: "running",
    fault: '"half-running": state is running, and running_at is NULL',
  },
  {
    job: "nowhere",
    state: "running",
    runningAt: "'2026-01-02 03:04:05'",
    fault: '"nowhere": runs since 2026-01-02 03:04:05, and nobody knows where',
  },
  {
    job: "zero",
    nextRun: "'0000-00-00'",
    fault: '"zero": next_run is 0000-00-00 00:00:00, which is no time within ten years',
  },
  {
    job: "far",
    nextRun: "'2099-12-31 00:00:00'",
    fault: '"far": next_run is 2099-12-31 00:00:00, which is no time within ten years',
  },
  { job: "restless", every: 0, fault: '"restless": interval_seconds is 0, and not above 0' },
  {
    job: "tried-out",
    attempts: 7,
    fault: '"tried-out": -2 attempts are left, and not 0 to 1000000',
  },
  { job: "twin", fault: '"twin": has 2 rows' },
  { job: "twin", fault: '"twin": has 2 rows' },
];

/** An empty table `jobs`, on one connection, so that its SQL mode applies. */
export async function jobTable(url: string, jobs: readonly Job[]): Promise<Pool> {
  const pool = createPool({ uri: url, connectionLimit: 1 });
  // Old tables have dates of zeros.
  await pool.query("SET SESSION sql_mode = ''");
  await pool.query(`CREATE TABLE jobs ${COLUMNS}`);
  await addJobs(pool, jobs);
  return pool;
}

async function addJobs(pool: Pool, jobs: readonly Job[]): Promise<void> {
  for (const {
    job,
    enabled = 1,
    state = "idle",
    runningOn = null,
    every = 3600,
    attempts = 0,
    ...times
  } of jobs) {
    const { runningAt = "NULL", lastRun = "NULL", nextRun = "NULL" } = times;
    await pool.query(`INSERT INTO jobs VALUES (?, ?, ?, ?, ${runningAt}, ${lastRun}, ${nextRun}, ?, ?)`, [
      job,
      enabled,
      state,
      runningOn,
      every,
      attempts,
    ]);
  }
}

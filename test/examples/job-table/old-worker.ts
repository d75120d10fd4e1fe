// A worker of the old system, which knows only the table. It runs one job at a time, chosen at random of those that are due.

import type { Pool, ResultSetHeader, RowDataPacket } from "mysql2/promise";

const DUE = `enabled = 1 AND attempts < 5 AND (next_run IS NULL OR next_run <= NOW())
  AND running_at IS NULL AND state IN ('idle', 'failed')`;

/** How often it looks at the table. */
const LOOK_EVERY_MS = 100;

export interface OldWorker {
  readonly name: string;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly pool: Pool;
  readonly say: (line: string) => void;
}

/** Ends after its job once `stop` is aborted. */
export async function workAsBefore({ name, random, pool, say }: OldWorker, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const [rows] = await pool.query<RowDataPacket[]>(`SELECT job_id FROM jobs WHERE ${DUE} ORDER BY job_id`);
    const job = rows[Math.floor(random() * rows.length)]?.job_id as string | undefined;
    if (job !== undefined && (await isClaimed(pool, name, job))) {
      say(`${job} begins`);
      await pause(random() * 40);
      say(`${job} ends`);
      await finishAsBefore(pool, name, job);
    }
    await pause(random() * LOOK_EVERY_MS);
  }
}

async function isClaimed(pool: Pool, name: string, job: string): Promise<boolean> {
  const [{ affectedRows }] = await pool.query<ResultSetHeader>(
    `UPDATE jobs SET running_on = ?, running_at = NOW(), state = 'running', attempts = attempts + 1
      WHERE job_id = ? AND ${DUE}`,
    [name, job],
  );
  return affectedRows === 1;
}

export async function finishAsBefore(pool: Pool, name: string, job: string): Promise<void> {
  await pool.query(
    `UPDATE jobs SET running_on = NULL, running_at = NULL, state = 'idle', attempts = 0, last_run = NOW(),
      next_run = NOW() + INTERVAL interval_seconds SECOND WHERE job_id = ? AND running_on = ?`,
    [job, name],
  );
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

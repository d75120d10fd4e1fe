// The old job table, and all that the programs here know of it: replace the statements with those of your system.

import { createPool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";

const { JOBS_URL = "mysql://root@127.0.0.1:3306/app", JOBS_TIME_ZONE, JOBS_PREFIX = "jobs/" } = process.env;

/** A row as the programs here read it; all can be wrong, which `faults.ts` finds. */
export interface Row {
  readonly job: string | null;
  readonly enabled: number | null;
  /** The lock's status. */
  readonly state: string | null;
  /** Who runs it, and since when, as text; null: nobody. */
  readonly runningOn: string | null;
  readonly runningAt: string | null;
  /** The same time as text, and in seconds since 1970; null: due at once. */
  readonly nextRun: string | null;
  readonly nextRunS: number | null;
  readonly everyS: number | null;
  /** null: any number. */
  readonly attemptsLeft: number | null;
  /** The clock of the table's database. */
  readonly nowS: number;
}

/** Reads the rows. To leave rows out, add a WHERE; without attempts, write NULL AS attemptsLeft. */
const ROWS = `
  SELECT CAST(job_id AS CHAR) AS job, enabled, state, running_on AS runningOn, CAST(running_at AS CHAR) AS runningAt,
    CAST(next_run AS CHAR) AS nextRun, UNIX_TIMESTAMP(next_run) AS nextRunS, interval_seconds AS everyS,
    5 - CAST(attempts AS SIGNED) AS attemptsLeft, UNIX_TIMESTAMP(NOW(6)) AS nowS
  FROM jobs`;

/** The old workers' own claim, and one line more: only the holder of the job's lock may take over what a lost holder had. */
const CLAIM = `
  UPDATE jobs SET running_on = ?, running_at = NOW(), state = 'running', attempts = attempts + 1
  WHERE job_id = ? AND enabled = 1 AND attempts < 5 AND (next_run IS NULL OR next_run <= NOW())
    AND (running_at IS NULL AND state IN ('idle', 'failed')
      OR running_on LIKE 'rowlock:%')`;

/** What the old workers do at the end of a run, if the row is still theirs. */
const DONE = `
  UPDATE jobs SET running_on = NULL, running_at = NULL, state = 'idle', attempts = 0, last_run = NOW(),
    next_run = NOW() + INTERVAL interval_seconds SECOND
  WHERE job_id = ? AND running_on = ?`;
const FAILED = `
  UPDATE jobs SET running_on = NULL, running_at = NULL, state = 'failed', next_run = NOW() + INTERVAL 60 SECOND
  WHERE job_id = ? AND running_on = ?`;

export const PREFIX = JOBS_PREFIX;
/** Begins the owner of a row that a new worker has claimed; the token of its lock follows. */
export const NEW_OWNER = "rowlock:";
export const isRunning = ({ runningAt }: Row): boolean => runningAt !== null;

export class JobTable implements AsyncDisposable {
  readonly #pool = createPool({ uri: JOBS_URL, connectionLimit: 2, decimalNumbers: true });

  constructor() {
    // For tables that keep another zone than that of the database: +00:00 for UTC.
    if (JOBS_TIME_ZONE !== undefined)
      this.#pool.on("connection", (made) => void made.query("SET time_zone = ?", [JOBS_TIME_ZONE]));
  }

  async rows(): Promise<Row[]> {
    return await this.#rows(ROWS);
  }

  /** undefined: there is no such job any more. */
  async row(job: string): Promise<Row | undefined> {
    const [row] = await this.#rows(`SELECT * FROM (${ROWS}) AS jobs WHERE job = ?`, [job]);
    return row;
  }

  /** Whether the job is `owner`'s now. */
  async claim(job: string, owner: string): Promise<boolean> {
    return await this.#changes(CLAIM, [owner, job]);
  }

  /** Whether the job was `owner`'s until now. */
  async finish(job: string, owner: string, isDone: boolean): Promise<boolean> {
    return await this.#changes(isDone ? DONE : FAILED, [job, owner]);
  }

  async #rows(sql: string, values: string[] = []): Promise<Row[]> {
    const [rows] = await this.#pool.query<(Row & RowDataPacket)[]>(sql, values);
    return rows;
  }

  async #changes(sql: string, values: string[]): Promise<boolean> {
    const [{ affectedRows }] = await this.#pool.query<ResultSetHeader>(sql, values);
    return affectedRows === 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

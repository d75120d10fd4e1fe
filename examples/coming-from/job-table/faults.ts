// What is wrong with the rows: all of it at once, so that one look at the table mends it. Changes nothing.

import { isRunning, PREFIX, type Row } from "./table.ts";

const NAME_BYTES_MAX = 255;
const STATUS_BYTES_MAX = 63;
const ATTEMPTS_MAX = 1_000_000;
const AHEAD_S_MAX = 10 * 365.25 * 86_400;

/** Sentences such as `"mail": enabled is 7, and neither 0 nor 1`. */
export function faultsOf(rows: readonly Row[]): string[] {
  const counts = new Map<string | null, number>();
  for (const { job } of rows) counts.set(job, (counts.get(job) ?? 0) + 1);
  const twice = [...counts].filter(([, count]) => count > 1);
  return [
    ...rows.flatMap((row) => [...faultsOfRow(row)].map((fault) => `${JSON.stringify(row.job)}: ${fault}`)),
    ...twice.map(([job, count]) => `${JSON.stringify(job)}: has ${count} rows`),
  ];
}

function* faultsOfRow(row: Row): Generator<string> {
  const { job, enabled, state, runningOn, runningAt, nextRun, nextRunS, everyS, attemptsLeft, nowS } = row;
  if (job === null || job.trim() === "") yield "has no name";
  else if (Buffer.byteLength(PREFIX + job) > NAME_BYTES_MAX)
    yield `the lock's name has more than ${NAME_BYTES_MAX} bytes`;
  else if (job.endsWith("*")) yield "ends in a star, so the shell takes it for a pattern";
  if (enabled !== 0 && enabled !== 1) yield `enabled is ${enabled}, and neither 0 nor 1`;

  if (state === null) yield "has no state";
  else if (Buffer.byteLength(state) > STATUS_BYTES_MAX) yield `state has more than ${STATUS_BYTES_MAX} bytes`;
  else if ((state === "running") !== isRunning(row))
    yield `state is ${state}, and running_at is ${runningAt ?? "NULL"}`;
  if (isRunning(row) && runningOn === null) yield `runs since ${runningAt}, and nobody knows where`;

  // MySQL counts seconds to 2038 or later, depending on its version.
  if (nextRun !== null && (!nextRunS || nextRunS > nowS + AHEAD_S_MAX))
    yield `next_run is ${nextRun}, which is no time within ten years`;
  if (everyS === null || !(everyS > 0)) yield `interval_seconds is ${everyS}, and not above 0`;
  if (attemptsLeft !== null && !(attemptsLeft >= 0 && attemptsLeft <= ATTEMPTS_MAX))
    yield `${attemptsLeft} attempts are left, and not 0 to ${ATTEMPTS_MAX}`;
}

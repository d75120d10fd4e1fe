// What a row's lock lacks. Pure: compares one row with its lock, and says what to change.

import type { LimitSetting, LockView, RecordChanges, RecordView } from "@rowlock/client";
import { isRunning, NEW_OWNER, type Row } from "./table.ts";

export interface Move {
  readonly name: string;
  readonly kind: "new" | "changed" | "same" | "left" | "busy";
  readonly words: string;
  readonly record?: RecordChanges;
  readonly limit?: { readonly permits: number | null; readonly ifVersion?: bigint; readonly reason: string };
  readonly fault?: string;
}

/** A release sets the next run as a time from now, so it is not exactly that of the row. */
const SAME_MS = 2_000;
const REASON_BYTES_MAX = 255;

export function changeOf(row: Row, name: string, lock?: LockView, setting?: LimitSetting): Move {
  const { runningOn, runningAt } = row;
  const isNewWorkers = runningOn?.startsWith(NEW_OWNER) ?? false;
  if (isRunning(row) && !isNewWorkers)
    return { name, kind: "left", words: `left to ${runningOn}, which runs it since ${runningAt}` };
  // At its end, the worker makes the lock like the row.
  if (isNewWorkers || (lock && lock.holderCount > 0))
    return { name, kind: "busy", words: "a new worker has it" };
  const permits = setting?.limit ?? lock?.limit.permits ?? 1;
  const fault =
    permits > 1 ? `"${row.job}": its lock has a limit of ${permits}, so it could run twice` : undefined;
  const record = recordOf(row);
  const isSame = lock?.record !== undefined && isLike(lock.record, record);
  const limit = limitOf(row, name, setting);
  return {
    name,
    kind: lock?.record === undefined ? "new" : isSame && !limit ? "same" : "changed",
    words: wordsOf(record, limit),
    ...(!isSame && { record: { ...record, ifVersion: lock?.record?.version ?? 0 } }),
    ...(limit && { limit }),
    ...(fault !== undefined && { fault }),
  };
}

export function recordOf({ nextRunS, attemptsLeft, state }: Row) {
  return {
    notBefore: nextRunS === null ? null : new Date(nextRunS * 1_000),
    attemptsLeft,
    status: state ?? "",
  };
}

type Wanted = ReturnType<typeof recordOf>;

function isLike(now: RecordView, { notBefore, attemptsLeft, status }: Wanted): boolean {
  const isDueAlike =
    now.notBefore === undefined || notBefore === null
      ? now.notBefore === undefined && notBefore === null
      : Math.abs(now.notBefore.getTime() - notBefore.getTime()) <= SAME_MS;
  return isDueAlike && (now.attemptsLeft ?? null) === attemptsLeft && now.status === status;
}

const DISABLED = "disabled in the job table";

/** A limit of 0 for a disabled job. `rowlock resume NAME` undoes it, too, as `rowlock pause` writes such a reason. */
function limitOf(row: Row, name: string, setting?: LimitSetting): Move["limit"] {
  const { limit, reason = "", version } = setting ?? {};
  const ifVersion = version === undefined ? {} : { ifVersion: version };
  if (row.enabled === 0 && limit !== 0) {
    const paused = `${DISABLED} [paused by ${JSON.stringify(name)}; was ${limit ?? "unset"}]`;
    return {
      permits: 0,
      reason: Buffer.byteLength(paused) <= REASON_BYTES_MAX ? paused : DISABLED,
      ...ifVersion,
    };
  }
  // A limit of 0 that somebody else has set stays.
  if (row.enabled === 0 || limit !== 0 || !reason.startsWith(DISABLED)) return undefined;
  return { permits: null, reason: "enabled in the job table", ...ifVersion };
}

function wordsOf({ notBefore, attemptsLeft, status }: Wanted, limit: Move["limit"]): string {
  const due = notBefore ? `not before ${notBefore.toISOString().replace(".000Z", "Z")}` : "due at any time";
  const paused = limit && (limit.permits === 0 ? ", paused" : ", not paused any more");
  return `${due}, attempts ${attemptsLeft ?? "unlimited"}, status ${JSON.stringify(status)}${paused ?? ""}`;
}

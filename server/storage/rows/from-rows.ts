// Converts rows to the core's types, the same for every store. Rows are arrays in the order of the lists in columns.ts.
// Integers arrive as numbers, as decimal text (BIGINT of MySQL) or as bigint (SQLite): ids, versions, tickets and
// tokens become bigint; times, counts and sums are exact as numbers. Text is stored as UTF-8 bytes.

import { type Claim, type ClaimKey, fromBase36, type Level, type Member, roomOf } from "../../core/claim.ts";
import type { LevelMin } from "../../core/level.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Counters, LockRecord, RunEnd } from "../../core/lock.ts";
import { type QueueRules, queueRulesOf } from "../../core/queue-rules.ts";
import type { Rate } from "../../core/rate.ts";
import type { PoolWaiter } from "../../core/rows.ts";
import type { LoadPlan } from "../store.ts";
import { HOLDER_PART } from "./columns.ts";
import { END_REASONS, MODES, STATES, type WrittenMember, wordOf } from "./values.ts";

export type Row = readonly (string | number | bigint | Uint8Array | null)[];

type Column = Row[number] | undefined;

/** A row of LOCK_LIST. */
export function countersFromRow(row: Row): Counters {
  return {
    id: bigintOf(row[0]),
    name: textOf(row[1]),
    limit: numberOrNull(row[2]),
    limitVersion: bigintOf(row[3]),
    limitReason: textOf(row[4]),
    nextTicket: bigintOf(row[5]),
    lastToken: bigintOf(row[6]),
    heldPermits: Number(row[7]),
    sharedHolders: Number(row[8]),
    exclusiveHolders: Number(row[9]),
    holders: Number(row[10]),
    waiting: Number(row[11]),
    waitingPermits: Number(row[12]),
    revision: bigintOf(row[13]),
    changeMark: bigintOf(row[15]),
    recordFloor: bigintOf(row[16]),
    rate: rateOf(row[17], row[18], row[19]),
    rateUntilUs: Number(row[20]),
    wakesAtUs: numberOrNull(row[21]),
    entering: Number(row[22]),
    enteringPermits: Number(row[23]),
    counting: bigintOrNull(row[24]),
    queueRules: queueRulesFrom(row[25]),
    sharedBy: row[26] == null ? null : textOf(row[26]),
    orderKeyUs: Number(row[27]),
    firstHolder: bigintOrNull(row[28]),
  };
}

function queueRulesFrom(text: Column): QueueRules | null {
  return text === null || text === undefined ? null : queueRulesOf(textOf(text));
}

function rateOf(permits: Column, perUs: Column, burst: Column): Rate | null {
  if (permits === null) return null;
  return { permits: Number(permits), perUs: Number(perUs), burst: Number(burst) };
}

/** Whether the guard row says that the lock has a record. */
export function hasRecord(row: Row): boolean {
  return Number(row[14]) !== 0;
}

/** A row of RECORD_LIST, which begins with the lock's id. */
function recordFromRow(row: Row): LockRecord {
  return {
    status: textOf(row[1]),
    notBeforeUs: numberOrNull(row[2]),
    attemptsLeft: numberOrNull(row[3]),
    version: bigintOf(row[4]),
    attemptsSince: bigintOf(row[11]),
    principal: textOf(row[12]),
    lastRun:
      row[9] === null
        ? null
        : {
            owner: textOf(row[5]),
            fencingToken: bigintOf(row[6]),
            grantedAtUs: Number(row[7]),
            endedAtUs: Number(row[8]),
            end: wordOf(END_REASONS, row[9]) as RunEnd,
            status: textOf(row[10]),
          },
    failures: Number(row[13]),
    lastSuccess:
      row[17] === null
        ? null
        : {
            owner: textOf(row[14]),
            fencingToken: bigintOf(row[15]),
            grantedAtUs: Number(row[16]),
            endedAtUs: Number(row[17]),
            end: "released",
            status: textOf(row[18]),
          },
  };
}

/** Returns records by lock id. Throws if one of the locks has none, because its guard row says that it has one. */
export function recordsOf(lockIds: readonly bigint[], rows: readonly Row[]): Map<bigint, LockRecord> {
  const records = new Map(rows.map((row) => [bigintOf(row[0]), recordFromRow(row)]));
  const missing = lockIds.find((id) => !records.has(id));
  if (missing !== undefined)
    throw new Error(`Lock ${missing} has no record, although its guard row says that it has one.`);
  return records;
}

/** A row of CLAIM_LIST, HOLDER_LIST or HISTORY_LIST. */
export function claimFromRow(row: Row): Claim {
  const endReason = Number(row[22]);
  return {
    lockId: bigintOf(row[0]),
    ticketNumber: bigintOf(row[1]),
    secret: textOf(row[2]),
    requestId: textOf(row[3]),
    mode: wordOf(MODES, row[4]),
    permits: Number(row[5]),
    owner: textOf(row[6]),
    principal: textOf(row[7]),
    labels: JSON.parse(textOf(row[8])),
    terms: row[9] === null ? null : JSON.parse(textOf(row[9])),
    requestedAtUs: Number(row[10]),
    waitUntilUs: numberOrNull(row[11]),
    state: wordOf(STATES, row[12]),
    turn: bigintOrNull(row[25]),
    group: null,
    ttlUs: numberOrNull(row[13]),
    deadlineUs: numberOrNull(row[14]),
    // 0 means absent (NOTHING in values.ts).
    replica: bigintOf(row[15]) || null,
    provisional: Number(row[16]) !== 0,
    fencingToken: bigintOf(row[17]),
    grantedAtUs: Number(row[18]) || null,
    levels: row[19] === null ? null : levelsOf(textOf(row[19])),
    members: row[20] === null ? null : membersOf(textOf(row[20])),
    // NULL for a live claim.
    endedAtUs: Number(row[21]) || null,
    endReason: endReason ? wordOf(END_REASONS, endReason) : null,
    endNote: row[23] === null ? "" : textOf(row[23]),
    endedBy: row[24] === null ? "" : textOf(row[24]),
  };
}

const LEVEL_STATES: Readonly<Record<string, Level["state"]>> = { h: "has", w: "waits", l: "left" };

/** What `levelsText` has written. */
export function levelsOf(text: string): Level[] {
  return text.split(" ").map((level) => {
    const [poolId = "", rank = "", state = "", permits] = level.split(":");
    return {
      ...{ poolId: fromBase36(poolId), rank: fromBase36(rank), state: LEVEL_STATES[state] ?? "left" },
      ...(permits !== undefined && { permits: Number.parseInt(permits, 36) }),
    };
  });
}

/** What `membersText` has written. */
export function membersOf(text: string): Member[] {
  return (JSON.parse(text) as WrittenMember[]).map(([lockId, ticketNumber, name, mode, permits, token]) => ({
    ...{ lockId: fromBase36(lockId), ticketNumber: fromBase36(ticketNumber) },
    ...{ name, mode: wordOf(MODES, mode), permits, fencingToken: fromBase36(token) },
  }));
}

/** The holder in a row of GUARD_LIST; null: the guard row has none. */
export function holderFromRow(row: Row): Claim | null {
  return row[HOLDER_PART - 2] === null ? null : claimFromRow(row.slice(HOLDER_PART));
}

/** Whether a load of the plan has to return the holder of a guard row. A sole one is, because a refusal shows it. */
export function isAskedFor(holder: Claim, lock: Counters, plan: LoadPlan, nowUs: number): boolean {
  const { lockId, ticketNumber, requestId, deadlineUs } = holder;
  return (
    lock.holders === 1 ||
    (deadlineUs !== null && deadlineUs <= nowUs) ||
    plan.holdersOf.includes(lockId) ||
    plan.requestIds.includes(requestId) ||
    plan.claims.some((key) => key.lockId === lockId && key.ticketNumber === ticketNumber)
  );
}

/** Whether something of this lock may be due, by a row of GUARD_LIST. */
export function mayBeDue(row: Row, nowUs: number): boolean {
  const boundUs = boundOf(row);
  return boundUs !== null && boundUs <= nowUs;
}

/** The bound of deadlines in a row of GUARD_LIST. */
export function boundOf(row: Row): number | null {
  return numberOrNull(row[HOLDER_PART - 1]);
}

/** A row that begins with the key of a claim. */
export function claimKeyFromRow([lockId, ticketNumber]: Row): ClaimKey {
  return { lockId: bigintOf(lockId), ticketNumber: bigintOf(ticketNumber) };
}

/** A row of POOL_WAITER_LIST. */
export function poolWaiterFromRow([
  lockId,
  ticketNumber,
  rank,
  permits,
  ttl = null,
  levels,
]: Row): PoolWaiter {
  const sum = levels && levelsOf(textOf(levels)).find(({ state }) => state === "waits")?.permits;
  const ofClaim = { permits: sum || Number(permits), ttlUs: numberOrNull(ttl) };
  return {
    ...{ lockId: bigintOf(lockId), ticketNumber: bigintOf(ticketNumber), rank: bigintOf(rank) },
    ...{ room: roomOf(ofClaim), permits: ofClaim.permits },
  };
}

/** A row of RULE_LIST. */
export function limitRuleFromRow(row: Row): LimitRule {
  const [prefix, limit, permits, perUs, burst, version, reason, changeMark, poolId, queueRules] = row;
  return {
    prefix: textOf(prefix),
    limit: numberOrNull(limit),
    rate: rateOf(permits, perUs, burst),
    queueRules: queueRulesFrom(queueRules),
    version: bigintOf(version),
    reason: textOf(reason),
    changeMark: bigintOf(changeMark),
    ...(poolId !== null && { poolId: bigintOf(poolId) }),
  };
}

/** A row of LEVEL_MIN_LIST; undefined: the schema does not have these columns yet. */
export function levelMinFromRow(row: Row | undefined): LevelMin {
  return row ? { level: Number(row[0]), by: textOf(row[1]) } : { level: 0, by: "" };
}

export function bigintOf(value: Column): bigint {
  return BigInt(value as string | number | bigint);
}

export function bigintOrNull(value: Column): bigint | null {
  return value === null || value === undefined ? null : bigintOf(value);
}

export function numberOrNull(value: Column): number | null {
  return value === null ? null : Number(value);
}

export function textOf(value: Column): string {
  if (value instanceof Buffer) return value.toString();
  const { buffer, byteOffset, byteLength } = value as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}

// What people see of locks: one lock as a page, with its holders and its queue and why each waiter waits; many locks as
// a table; a lock as a line; and its limit and record in words.

import type {
  ClaimView,
  LimitSetting,
  LimitView,
  LockView,
  QueueRulesView,
  RateView,
  RecordView,
} from "../typescript/src/index.ts";
import { alsoWords, othersOf } from "./also.ts";
import type { LockOrder } from "./lock-orders.ts";
import { localTime } from "./past-times.ts";
import { poolLine } from "./pools.ts";
import { columns, counted, type Paint, shown, timeWords } from "./print.ts";
import { queueRulesText } from "./queue-rules.ts";
import { rateText } from "./rates.ts";

const OWNERS_MAX = 3;

export function lockPage(lock: LockView, nowMs: number, paint: Paint): string {
  const { name, limit, rate, heldPermits, holderCount, waiterCount, draining, lastToken } = lock;
  const { holders, waiters, record, queueRules, pools = [] } = lock;
  const drains = draining ? paint("yellow", ", more than the limit allows: it drains") : "";
  const words = limitWords(limit);
  const head = columns([
    ["name", paint("bold", shown(name))],
    ["limit", limit.permits === 0 ? paint("red", words) : words],
    ...(rate ? [["rate", `${rateWords(rate)}, ${rate.available} available`]] : []),
    ...pools.map((pool, at) => [at === 0 ? "pools" : "", poolLine(pool, paint)]),
    ["held", `${heldPermits} by ${holderCount}${drains}`],
    ["waiting", waitingWords(waiterCount, paint)],
    ...(queueRules ? [["queue", queueRulesWords(queueRules)]] : []),
    ["last token", String(lastToken)],
    ...(record ? recordRows(record, nowMs) : []),
  ]);
  const held = holders.map((claim) => holderCells(claim, nowMs));
  const queue = waiters.map((claim, at) => waiterCells(claim, waitsFor(lock, at, nowMs), nowMs));
  return (
    head +
    section("holders", held, holderCount - held.length, paint) +
    section("waiters", queue, waiterCount - queue.length, paint)
  );
}

function section(title: string, rows: readonly string[][], more: number, paint: Paint): string {
  if (rows.length === 0) return "";
  return `\n${paint("bold", title)}\n${columns(rows)}${more > 0 ? `and ${more} more\n` : ""}`;
}

/** A grant needs a moment to reach its client. */
const UNFETCHED_AFTER_MS = 5_000;

/** Whether nobody has fetched the lease for so long that perhaps nobody will. */
export function isUnfetched({ provisional, grantedAt }: ClaimView, nowMs: number): boolean {
  return provisional === true && nowMs - (grantedAt?.getTime() ?? 0) >= UNFETCHED_AFTER_MS;
}

function holderCells(claim: ClaimView, nowMs: number): string[] {
  const { ticketNumber, token, grantedAt, expiresAt } = claim;
  return [
    `#${ticketNumber}`,
    taken(claim),
    since(grantedAt, nowMs),
    expiresAt ? `${timeWords(Math.max(0, expiresAt.getTime() - nowMs))} left` : "no end",
    `token ${token}`,
    `${ownerOf(claim)}${alsoWords(othersOf(claim))}${isUnfetched(claim, nowMs) ? " (granted, but not fetched yet)" : ""}`,
  ];
}

function waiterCells(claim: ClaimView, reason: string, nowMs: number): string[] {
  const { ticketNumber, requestedAt } = claim;
  const who = `${ownerOf(claim)}${alsoWords(othersOf(claim))}`;
  return [`#${ticketNumber}`, taken(claim), since(requestedAt, nowMs), reason, who];
}

/**
 * Says what the waiter at this place waits for. Those that wait at a pool come first: they have the lock, and nobody is behind
 * them in its queue.
 */
function waitsFor(lock: LockView, at: number, nowMs: number): string {
  const { limit, rate, waiters, record } = lock;
  const { mode, permits, spendOnly, pool, also } = waiters[at] as ClaimView;
  if (pool !== undefined) return `at the pool ${shown(pool)}`;
  const before = waiters[at - 1];
  if (before && before.pool === undefined)
    return lock.queueRules?.shareBy === undefined ? `behind #${before.ticketNumber}` : "for its turn";
  const entering = waiters.filter((waiter) => waiter.pool !== undefined && !waiter.spendOnly);
  const holders = [...lock.holders, ...entering];
  const heldPermits = entering.reduce((sum, claim) => sum + claim.permits, lock.heldPermits);
  if (limit.permits === 0) return "until the limit is raised";
  if (record?.notBefore && record.notBefore.getTime() > nowMs)
    return `until it is due ${dueWords(record, nowMs)}`;
  const held = holders[0]?.mode;
  const isOfPermits = mode === "permit" && (held === undefined || held === "permit");
  const free = Math.max(0, limit.permits - heldPermits);
  const fitsBeside = isOfPermits
    ? permits <= free
    : held === undefined || (mode === "shared" && held === "shared");
  const fits = spendOnly || fitsBeside;
  if (fits && rate && permits > (rate.available ?? 0)) return "until its rate allows it";
  if (fits && also) return "for its other locks";
  if (isOfPermits) return `for ${counted(permits, "permit")}, ${free} free`;
  if (mode === "shared" && held === "exclusive") return "until the writer ends";
  return holders.length === 1 ? `until #${holders[0]?.ticketNumber} ends` : "until all holders end";
}

export function taken({ mode, permits, spendOnly }: ClaimView): string {
  if (spendOnly) return `${permits} of the rate`;
  return mode === "permit" ? counted(permits, "permit") : mode;
}

function since(date: Date | undefined, nowMs: number): string {
  return date ? `for ${timeWords(Math.max(0, nowMs - date.getTime()))}` : "";
}

export function ownerOf({ owner, labels }: ClaimView): string {
  return [owner, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)].map(shown).join(" ");
}

const TITLES = [
  "NAME",
  "LIMIT",
  "RATE",
  "HELD",
  "WAITING",
  "LONGEST WAIT",
  "STATUS",
  "ATTEMPTS",
  "DUE",
  "HOLDERS",
];
/** These columns are left out if no lock fills them. */
const RARE = ["RATE", "LONGEST WAIT", "STATUS", "ATTEMPTS", "DUE"];

/** @param order by which the locks are sorted: the table shows what that compares. */
export function lockTable(
  locks: readonly LockView[],
  nowMs: number,
  paint: Paint,
  order: LockOrder = "name",
): string {
  if (locks.length === 0) return "There are no such locks.\n";
  const rows = locks.map((lock) => tableCells(lock, nowMs, paint, order));
  const isThere = TITLES.map((title, at) => !RARE.includes(title) || rows.some((row) => row[at] !== ""));
  const titles = TITLES.map((title) => paint("bold", title));
  return columns([titles, ...rows].map((row) => row.filter((_, at) => isThere[at])));
}

function tableCells(lock: LockView, nowMs: number, paint: Paint, order: LockOrder): string[] {
  const { name, limit, rate, heldPermits, draining, waiterCount, record, waiters } = lock;
  const first = order === "longest-wait" ? waiters[0]?.requestedAt : undefined;
  return [
    shown(name),
    limit.permits === 0 ? paint("red", "0") : `${limit.permits}`,
    rate ? rateText(rate) : "",
    draining ? paint("yellow", `${heldPermits}`) : `${heldPermits}`,
    waitingWords(waiterCount, paint),
    first ? timeWords(Math.max(0, nowMs - first.getTime())) : "",
    shown(record?.status ?? ""),
    `${record?.attemptsLeft ?? ""}`,
    dueWords(record, nowMs),
    ownersOf(lock),
  ];
}

function waitingWords(waiting: number, paint: Paint): string {
  return waiting > 0 ? paint("yellow", `${waiting}`) : "0";
}

/** The owners of the first leases, and how many more there are. */
function ownersOf({ holders, holderCount }: LockView): string {
  const owners = holders.slice(0, OWNERS_MAX).map(({ owner }) => shown(owner));
  const more = holderCount - owners.length;
  return [...owners, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}

/** One lock on a line. */
export function lockLine(lock: LockView, nowMs: number): string {
  const { name, limit, rate, queueRules, heldPermits, waiterCount, draining, record } = lock;
  const held = heldPermits > 0 || lock.holderCount > 0 ? `held by ${ownersOf(lock)}` : "free";
  const permits = heldPermits > 1 ? ` (${heldPermits} permits)` : "";
  const { status = "", attemptsLeft, notBefore } = record ?? {};
  return [
    `${shown(name)}: limit ${limit.permits}`,
    ...(rate ? [`rate ${rateText(rate)}`] : []),
    `${held}${permits}`,
    ...(draining ? ["drains"] : []),
    `${waiterCount} waiting`,
    ...(queueRules ? [queueRulesText(queueRules)] : []),
    ...(status === "" ? [] : [`status ${shown(status)}`]),
    ...(attemptsLeft === undefined ? [] : [`${counted(attemptsLeft, "attempt")} left`]),
    ...(notBefore ? [`due ${dueWords(record, nowMs)}`] : []),
  ].join(", ");
}

/** The limit, and where it comes from. */
export function limitWords(limit: LimitView): string {
  return `${limit.permits} (${sourceWords(limit)})`;
}

/** The rate, and where it comes from. */
export function rateWords(rate: RateView): string {
  return `${rateText(rate)} (${sourceWords(rate)})`;
}

/** The queue rules, and where they come from. */
export function queueRulesWords(rules: QueueRulesView): string {
  return `${queueRulesText(rules)} (${sourceWords(rules)})`;
}

function sourceWords({
  source,
  pattern = "",
  reason,
  version,
}: LimitView | RateView | QueueRulesView): string {
  const from =
    source === "default"
      ? "nothing was set"
      : source === "pattern"
        ? `from ${pattern === "" ? "a pattern" : shown(pattern)}`
        : "set for this name";
  const words = [from, source === "default" ? "" : `version ${version}`, shown(reason)];
  return words.filter(Boolean).join(", ");
}

/** Says what it means that some servers have not confirmed the new limit, and what to do. */
export function behindWords(count: number): string {
  const servers = count === 1 ? "1 server has" : `${count} servers have`;
  return (
    `The limit is set, but ${servers} not confirmed it, and may still grant by the old limit. A server that has died ` +
    "grants nothing. Stop each server that is frozen or cut off from the others, and run this command again: once all " +
    "servers use the limit, it prints no such line."
  );
}

/** The name, the pattern or the pool that a setting is for. */
export function settingName({
  name,
  pool,
  pattern = "",
}: Pick<LimitSetting, "name" | "pattern" | "pool">): string {
  return name ?? pool ?? pattern;
}

/** In how long the lock is due, or for how long it has been. */
function dueWords(record: RecordView | undefined, nowMs: number): string {
  if (!record?.notBefore) return "";
  const inMs = record.notBefore.getTime() - nowMs;
  return inMs > 0 ? `in ${timeWords(inMs)}` : `for ${timeWords(-inMs)}`;
}

/** A lock's record, with a row for each field. */
export function recordRows(record: RecordView, nowMs: number): string[][] {
  const { status, notBefore, attemptsLeft, lastRun, lastSuccess, failures, version } = record;
  return [
    ...(status === "" ? [] : [["status", shown(status)]]),
    ...(notBefore ? [["due", `${dueWords(record, nowMs)} (${localTime(notBefore)})`]] : []),
    ...(attemptsLeft === undefined ? [] : [["attempts left", String(attemptsLeft)]]),
    ...(lastRun ? [["last run", lastRunWords(lastRun)]] : []),
    ...(failures > 0 ? [["failures", `${failures} in a row`]] : []),
    ...(failures > 0 && lastSuccess ? [["last success", lastRunWords(lastSuccess)]] : []),
    ["version", String(version)],
  ];
}

/** FORCE_RELEASED as "force released". */
export function endWords(reason: string): string {
  return reason.toLowerCase().replaceAll("_", " ");
}

function lastRunWords(run: NonNullable<RecordView["lastRun"]>): string {
  const { owner, token, grantedAt, endedAt, endReason, status } = run;
  const from = grantedAt ? ` from ${localTime(grantedAt)}` : "";
  const to = endedAt ? ` to ${localTime(endedAt)}` : "";
  return `${shown(owner)}${from}${to}: ${endWords(endReason)}${status === "" ? "" : ` as ${shown(status)}`}, with token ${token}`;
}

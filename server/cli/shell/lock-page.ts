// One lock for a person: its limit, who holds it, and the queue, with the reason why each waiter waits.

import type { ClaimView, LockView } from "../../../clients/typescript/src/index.ts";
import { told } from "./durations.ts";
import { columns, counted, dueWords, limitWords, type Paint, recordRows, shown } from "./print.ts";

export function lockPage(lock: LockView, nowMs: number, paint: Paint): string {
  const { name, limit, heldPermits, holderCount, waiting, draining, lastToken, holders, waiters, record } =
    lock;
  const drains = draining ? paint("yellow", ", more than the limit allows: it drains") : "";
  const words = limitWords(limit);
  const head = columns([
    ["name", paint("bold", shown(name))],
    ["limit", limit.limit === 0 ? paint("red", words) : words],
    ["held", `${heldPermits} by ${holderCount}${drains}`],
    ["waiting", waiting > 0 ? paint("yellow", `${waiting}`) : "0"],
    ["last token", String(lastToken)],
    ...(record ? recordRows(record, nowMs) : []),
  ]);
  const held = holders.map((claim) => holderCells(claim, nowMs));
  const queue = waiters.map((claim, at) => waiterCells(claim, waitsFor(lock, at, nowMs), nowMs));
  return (
    head +
    section("holders", held, holderCount - held.length, paint) +
    section("waiters", queue, waiting - queue.length, paint)
  );
}

function section(title: string, rows: readonly string[][], more: number, paint: Paint): string {
  if (rows.length === 0) return "";
  return `\n${paint("bold", title)}\n${columns(rows)}${more > 0 ? `and ${more} more\n` : ""}`;
}

function holderCells(claim: ClaimView, nowMs: number): string[] {
  const { ticketNumber, token, grantedAt, expiresAt } = claim;
  return [
    `#${ticketNumber}`,
    taken(claim),
    since(grantedAt, nowMs),
    expiresAt ? `${told(Math.max(0, expiresAt.getTime() - nowMs))} left` : "no end",
    `token ${token}`,
    claim.isUnclaimed ? `${ownerOf(claim)} (granted, but not fetched yet)` : ownerOf(claim),
  ];
}

function waiterCells(claim: ClaimView, reason: string, nowMs: number): string[] {
  return [`#${claim.ticketNumber}`, taken(claim), since(claim.requestedAt, nowMs), reason, ownerOf(claim)];
}

/** Says what the waiter at this place in the queue waits for. */
function waitsFor(lock: LockView, at: number, nowMs: number): string {
  const { limit, heldPermits, holders, waiters, record } = lock;
  const before = waiters[at - 1];
  if (before) return `behind #${before.ticketNumber}`;
  const { mode, permits } = waiters[at] as ClaimView;
  if (limit.limit === 0) return "until the limit is raised";
  if (record?.notBefore && record.notBefore.getTime() > nowMs)
    return `until it is due ${dueWords(record, nowMs)}`;
  const held = holders[0]?.mode;
  if (mode === "permit" && (held === undefined || held === "permit")) {
    const free = Math.max(0, limit.limit - heldPermits);
    return `for ${counted(permits, "permit")}, ${free} free`;
  }
  if (mode === "shared" && held === "exclusive") return "until the writer ends";
  return holders.length === 1 ? `until #${holders[0]?.ticketNumber} ends` : "until all holders end";
}

function taken({ mode, permits }: ClaimView): string {
  return mode === "permit" ? counted(permits, "permit") : mode;
}

function since(date: Date | undefined, nowMs: number): string {
  return date ? `for ${told(Math.max(0, nowMs - date.getTime()))}` : "";
}

function ownerOf({ owner, labels }: ClaimView): string {
  return [owner, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)].map(shown).join(" ");
}

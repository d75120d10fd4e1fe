// How answers are written: as JSON, one object a line, for programs; as columns for people.

import type { ClaimView, LimitView } from "../../../clients/typescript/src/index.ts";
import { told } from "./durations.ts";

/** Whole numbers that JSON readers may round become texts. */
export function jsonLine(value: object): string {
  const exact = (_: string, field: unknown) =>
    typeof field !== "bigint" ? field : field <= Number.MAX_SAFE_INTEGER ? Number(field) : String(field);
  return `${JSON.stringify(value, exact)}\n`;
}

/** Each column as wide as its widest cell; the last one as it is. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}

/** What it is, and where it comes from. */
export function limitWords({ limit, source, pattern, reason, version }: LimitView): string {
  const from =
    source === "default" ? "nothing was set" : source === "pattern" ? `from ${pattern}` : "set for this name";
  return `${limit} (${[from, source === "default" ? "" : `version ${version}`, reason].filter(Boolean).join(", ")})`;
}

/** One who holds or waits, as cells. */
export function claimCells(claim: ClaimView, nowMs: number): string[] {
  const { ticketNumber, mode, permits, owner, labels, token, grantedAt, requestedAt, expiresAt } = claim;
  const since = claim.state === "held" ? grantedAt : requestedAt;
  const rest = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [
    `#${ticketNumber}`,
    mode === "permit" ? String(permits) : mode,
    since ? `for ${told(Math.max(0, nowMs - since.getTime()))}` : "",
    claim.state === "held"
      ? expiresAt
        ? `${told(Math.max(0, expiresAt.getTime() - nowMs))} left`
        : "no end"
      : "",
    token === undefined ? "" : `token ${token}`,
    [owner, ...rest].join(" "),
  ];
}

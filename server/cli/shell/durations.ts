// Durations as people write them in a shell: 30s, 500ms, 5m, 2h, 1d; a bare number is seconds.

import { InvalidArgumentError } from "commander";
import { UNIT_MS } from "../../config/duration-units.ts";

interface Span {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Returns milliseconds. Throws an InvalidArgumentError, which commander reports. */
export function parseDuration(text: string, { minMs, maxMs }: Span): number {
  const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? [];
  const ms = Number(number || Number.NaN) * UNIT_MS[unit as keyof typeof UNIT_MS];
  if (Number.isNaN(ms)) throw new InvalidArgumentError("write a time such as 30s, 500ms, 5m or 2h");
  if (ms < minMs || ms > maxMs)
    throw new InvalidArgumentError(`write a time from ${told(minMs)} to ${told(maxMs)}`);
  return ms;
}

/** Returns a whole number within the bounds. Throws an InvalidArgumentError, which commander reports. */
export function parseCount(text: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(count)) throw new InvalidArgumentError("write a whole number");
  if (count < min || count > max) throw new InvalidArgumentError(`write a number from ${min} to ${max}`);
  return count;
}

/** For a person: 250 ms, 12 s, 3 min, 5 h, 2 d. */
export function told(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

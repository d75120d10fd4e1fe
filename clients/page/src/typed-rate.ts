// A rate as somebody types it into a form. Pure.

import type { RateJson } from "#proto/rowlock/v1/lock_pb.js";
import { RATE_UNITS, spanOf } from "./words.ts";

/** 24 days. */
const PER_SECONDS_MAX = 2_073_600;

export interface TypedRate {
  readonly permits: string;
  readonly count: string;
  readonly unit: string;
  /** Empty: as many as `permits`. */
  readonly burst: string;
}

export function typedRateOf(rate: RateJson | undefined): TypedRate {
  if (!rate) return { permits: "", count: "1", unit: "minute", burst: "" };
  const { count, unit } = spanOf(rate);
  const { permits = 0, burst } = rate;
  return {
    permits: String(permits),
    count: String(count),
    unit,
    burst: !burst || burst === permits ? "" : String(burst),
  };
}

/** null: it is no rate yet. */
export function rateOfTyped({ permits, count, unit, burst }: TypedRate): RateJson | null {
  const rate = { permits: Number(permits), per: `${Number(count) * secondsOf(unit)}s`, burst: Number(burst) };
  const isWhole = [permits, count, burst || "1"].every((text) => /^[1-9]\d*$/.test(text));
  return isWhole && Number(count) <= mostOf(unit) ? rate : null;
}

function secondsOf(unit: string): number {
  return RATE_UNITS.find(([name]) => name === unit)?.[1] ?? 1;
}

/** The most of these units that the span of a rate may have. */
export function mostOf(unit: string): number {
  return Math.floor(PER_SECONDS_MAX / secondsOf(unit));
}

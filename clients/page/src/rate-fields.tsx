// The fields of a form in which somebody writes a rate.

import type { ComponentChildren } from "preact";
import type { RateJson } from "#proto/rowlock/v1/lock_pb.js";
import { RATE_UNITS, spanOf } from "./words.ts";

const PERMITS_MAX = 1_000_000;
/** 24 days. */
const PER_SECONDS_MAX = 2_073_600;

/** As they are typed. */
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

function mostOf(unit: string): number {
  return Math.floor(PER_SECONDS_MAX / secondsOf(unit));
}

interface RateFieldsProps {
  /** null: no rate is to be written. */
  readonly typed: TypedRate | null;
  readonly onType: (typed: TypedRate) => void;
  /** What stands beside the permits. */
  readonly children: ComponentChildren;
}

export function RateFields({ typed, onType, children }: RateFieldsProps) {
  if (!typed) return <div class="fields">{children}</div>;
  const field = (key: keyof TypedRate) => ({
    value: typed[key],
    onInput: (event: { currentTarget: { value: string } }) =>
      onType({ ...typed, [key]: event.currentTarget.value }),
  });
  return (
    <>
      <div class="fields">
        {children}
        <label>
          Permits
          <input type="number" min={1} max={PERMITS_MAX} required {...field("permits")} />
        </label>
      </div>
      <div class="fields">
        <label>
          Per
          <input type="number" min={1} max={mostOf(typed.unit)} required {...field("count")} />
        </label>
        <label>
          Unit
          <select {...field("unit")}>
            {[...RATE_UNITS].reverse().map(([unit]) => (
              <option key={unit} value={unit}>
                {unit}s
              </option>
            ))}
          </select>
        </label>
        <label>
          Burst
          <input type="number" min={1} max={PERMITS_MAX} placeholder="as permits" {...field("burst")} />
        </label>
      </div>
    </>
  );
}

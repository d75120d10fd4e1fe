// The fields of a form in which somebody writes a rate.

import type { ComponentChildren } from "preact";
import { PERMITS_MAX } from "../../../server/core/bounds.ts";
import { mostOf, type TypedRate } from "./typed-rate.ts";
import { RATE_UNITS } from "./words.ts";

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

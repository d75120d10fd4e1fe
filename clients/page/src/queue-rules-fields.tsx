// The fields of a form in which somebody writes queue rules.

import type { ComponentChildren } from "preact";
import { WAITING_MAX_MAX } from "../../../server/core/bounds.ts";
import { HEAD_START_MAX_S, mayLeaveOutBound, type Order, type TypedQueueRules } from "./typed-queue-rules.ts";

interface QueueRulesFieldsProps {
  /** null: no queue rules are to be written. */
  readonly typed: TypedQueueRules | null;
  readonly onType: (typed: TypedQueueRules) => void;
  /** The field that stands before them. */
  readonly children: ComponentChildren;
}

export function QueueRulesFields({ typed, onType, children }: QueueRulesFieldsProps) {
  return (
    <div class="fields">
      {children}
      {typed ? (
        <>
          <label>
            At most waiting
            <input
              type="number"
              min={1}
              max={WAITING_MAX_MAX}
              required={!mayLeaveOutBound(typed.order)}
              placeholder="as the server allows"
              value={typed.waitingMax}
              onInput={(event) => onType({ ...typed, waitingMax: event.currentTarget.value })}
            />
          </label>
          <label>
            Order
            <select
              value={typed.order}
              onChange={(event) => onType({ ...typed, order: event.currentTarget.value as Order })}
            >
              <option value="arrival">of arrival; when full, the newest is refused</option>
              <option value="newest">the newest wins: when full, the longest waiting ends</option>
              <option value="principal">fair shares, by principal</option>
              <option value="label">fair shares, by a label</option>
              <option value="head starts">head starts, as requests ask for them</option>
            </select>
          </label>
          {typed.order === "label" ? (
            <label>
              Label
              <input
                required
                placeholder="tenant"
                value={typed.label}
                onInput={(event) => onType({ ...typed, label: event.currentTarget.value })}
              />
            </label>
          ) : null}
          {typed.order === "head starts" ? (
            <label>
              Seconds at most
              <input
                type="number"
                min={1}
                max={HEAD_START_MAX_S}
                required
                placeholder="600"
                value={typed.headStartMax}
                onInput={(event) => onType({ ...typed, headStartMax: event.currentTarget.value })}
              />
            </label>
          ) : null}
        </>
      ) : null}
    </div>
  );
}

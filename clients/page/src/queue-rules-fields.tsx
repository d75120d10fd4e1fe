// The fields of a form in which somebody writes queue rules.

import type { ComponentChildren } from "preact";
import { WAITING_MAX_MAX } from "../../../server/core/bounds.ts";
import type { TypedQueueRules } from "./typed-queue-rules.ts";

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
              required
              value={typed.waitingMax}
              onInput={(event) => onType({ ...typed, waitingMax: event.currentTarget.value })}
            />
          </label>
          <label>
            When as many wait
            <select
              value={typed.newestWins ? "newest" : "refuse"}
              onChange={(event) => onType({ ...typed, newestWins: event.currentTarget.value === "newest" })}
            >
              <option value="refuse">the newest is refused</option>
              <option value="newest">the longest waiting ends</option>
            </select>
          </label>
        </>
      ) : null}
    </div>
  );
}

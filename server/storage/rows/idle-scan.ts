// The walk over old guard rows in search of idle ones, step by step and round and round: most of them may have to stay,
// as they remember something, and no step may look at all of those again. Each store keeps one.

import { IDLE_SCAN_MAX } from "../storage-bounds.ts";

/** A guard row that was not decided about for long. */
export interface OldRow {
  readonly id: bigint;
  readonly decidedAtUs: number;
  /** Whether nothing needs it. */
  readonly isIdle: boolean;
}

type Place = Pick<OldRow, "decidedAtUs" | "id">;

const START: Place = { decidedAtUs: -1, id: 0n };

export class IdleScan {
  #after = START;

  /** The next step is of the rows behind this one, in order of time and id, IDLE_SCAN_MAX at the most. */
  get after(): Place {
    return this.#after;
  }

  /** Takes the rows of a step; answers the idle ones among them, `max` at the most. What is left comes with the next step. */
  take<Row extends OldRow>(rows: readonly Row[], max: number): Row[] {
    const idle: Row[] = [];
    for (const row of rows) {
      if (idle.length === max) return idle;
      this.#after = row;
      if (row.isIdle) idle.push(row);
    }
    if (rows.length < IDLE_SCAN_MAX) this.#after = START;
    return idle;
  }
}

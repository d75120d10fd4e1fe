// Walks over old guard rows in search of idle ones, step by step and in cycles. Most old rows may have to stay because
// they remember something, so no step may read all of those again. Each store has one IdleScan.

import { IDLE_SCAN_MAX } from "../storage-bounds.ts";

/** A guard row without recent decisions. */
export interface OldRow {
  readonly id: bigint;
  readonly decidedAtUs: number;
  /** Whether nothing needs the row. */
  readonly isIdle: boolean;
}

type Place = Pick<OldRow, "decidedAtUs" | "id">;

const START: Place = { decidedAtUs: -1, id: 0n };

export class IdleScan {
  #after = START;

  /** The next step must read the rows behind this position, in order of time and id, at most IDLE_SCAN_MAX. */
  get after(): Place {
    return this.#after;
  }

  /**
   * Takes the rows of a step; returns at most `max` idle ones. The next step reads the rows that this one did not
   * reach.
   */
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

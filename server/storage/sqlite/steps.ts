// Runs the steps of `reads/` on SQLite: one after the other, without other work of this process between them. Only after a
// step that is a pause it does its other work.

import { setImmediate as otherWork } from "node:timers/promises";
import type { Runner, Step, Steps } from "../reads/steps.ts";
import type { Row } from "../rows/from-rows.ts";
import { LIST_SCAN_MAX, PURGE_SLICE } from "../storage-bounds.ts";
import { textOf, valuesOf } from "./dialect.ts";
import type { SqliteHandle } from "./handle.ts";

export function stepsOn(handle: SqliteHandle): Runner {
  const { statements } = handle;
  const perform = ({ name, lists, isWrite }: Step): readonly (readonly Row[])[] =>
    lists.map((queries) => {
      const nowUs = handle.nowUs();
      const clocks = { now: nowUs, past: nowUs - handle.coarseUs };
      return queries.flatMap((query) => {
        const text = textOf(query[0]);
        const values = valuesOf(query, clocks);
        return isWrite ? [[statements.write(name, text, [values])]] : statements.read(name, text, [values]);
      });
    });
  const run = async <Answer>(steps: Steps<Answer>): Promise<Answer> => {
    let at = steps.next();
    while (!at.done) {
      const { isPause } = at.value;
      at = steps.next(perform(at.value));
      if (isPause) await otherWork();
    }
    return at.value;
  };
  return {
    read: run,
    write: async (steps) =>
      handle.inTransaction(() => {
        let at = steps.next();
        while (!at.done) at = steps.next(perform(at.value));
        return at.value;
      }),
    snapshot: (steps) => run(steps()),
    count: async (table) =>
      table === "rowlock_history" ? handle.endedCount : Number(statements.get("count_changes")?.[0]),
    removedEnded: (claims) => handle.countEnded(-claims),
    clock: null,
    scanMax: LIST_SCAN_MAX,
    sliceMax: PURGE_SLICE,
  };
}

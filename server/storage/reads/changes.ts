// What people have changed: reads for display, and cleaning. Each store adds the changes itself.

import { bigintOf } from "../rows/from-rows.ts";
import { CHANGE_COLUMNS, changeFromRow, newestChanges } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import type { ChangePosition, Store } from "../store.ts";
import { HIGHEST } from "./history.ts";
import { type Query, type Runner, rowsOf, type Steps, written } from "./steps.ts";

const NEWEST: ChangePosition = { atUs: Number.MAX_SAFE_INTEGER, id: HIGHEST };
const BY_TIME = "rowlock_change c FORCE INDEX (PRIMARY)";
const BEFORE = "(changed_at, id) < (:atUs, :id) ORDER BY changed_at DESC, id DESC LIMIT :max";
const ALL = `SELECT ${CHANGE_COLUMNS} FROM ${BY_TIME} WHERE ${BEFORE}`;
const OF_TARGET = `SELECT ${CHANGE_COLUMNS} FROM rowlock_change FORCE INDEX (rowlock_change_target)
  WHERE target = :target AND ${BEFORE}`;
const KEYS = `SELECT changed_at, id FROM ${BY_TIME}`;
const UP_TO = "(c.changed_at, c.id) <= (:atUs, :id)";
const OLDEST = `${KEYS} WHERE ${UP_TO} ORDER BY changed_at, id LIMIT :max`;
const SURPLUS = `${KEYS} ORDER BY changed_at DESC, id DESC LIMIT 1 OFFSET :keptMax`;
const REMOVE = `DELETE c FROM ${BY_TIME} WHERE ${UP_TO}`;
const RAISE_CHANGES_FROM =
  "UPDATE rowlock_meta SET changes_from = GREATEST(changes_from, :fromUs) WHERE id = 1";

export function changes(on: Runner) {
  return {
    async changes(targets, before, max) {
      const { atUs, id } = before ?? NEWEST;
      const position = { atUs, id, max };
      const queries =
        targets === null
          ? [[ALL, position] as const]
          : [...new Set(targets)].map((name): Query => [OF_TARGET, { target: bytesOf(name), ...position }]);
      return newestChanges((await on.read(rowsOf("changes", ...queries))).map(changeFromRow), max);
    },

    async purgeChanges(untilUs, keptMax, max) {
      // Counts them only if there may be that many.
      const mayBeMore = (await on.count("rowlock_change")) > keptMax;
      function* purge(): Steps<number> {
        const [surplus] = mayBeMore ? yield* rowsOf("surplus_changes", [SURPLUS, { keptMax }]) : [];
        const upTo =
          surplus && Number(surplus[0]) >= untilUs
            ? { atUs: Number(surplus[0]), id: bigintOf(surplus[1]) }
            : { atUs: untilUs - 1, id: HIGHEST };
        const keys = yield* rowsOf("old_changes", [OLDEST, { ...upTo, max }]);
        const last = keys.at(-1);
        if (!last) return 0;
        const [atUs, id] = [Number(last[0]), bigintOf(last[1])];
        if (atUs >= untilUs) yield* written("raise_changes_from", RAISE_CHANGES_FROM, { fromUs: atUs + 1 });
        yield* written("purge_changes", REMOVE, { atUs, id });
        return keys.length;
      }
      return await on.write(purge());
    },
  } satisfies Partial<Store>;
}

// The read of locks by the status in their records, along the index of records, so that locks with other statuses cost nothing. In
// one folder and status, those that are not free come first, by their names, and then the free ones, longest due first.

import { groupsAfter, isWantedStatus } from "../rows/free-locks.ts";
import { bigintOf, numberOrNull, type Row, textOf } from "../rows/from-rows.ts";
import { bytesOf, rangeAfter } from "../rows/values.ts";
import { STATUS_GROUPS_MAX } from "../storage-bounds.ts";
import type { RecordGroup, RecordPage, RecordPosition, RecordSelector, Store } from "../store.ts";
import { INDEX, recordGroupsOn } from "./free-locks.ts";
import { type Query, type Runner, rowsOf } from "./steps.ts";

const IN_GROUP = `SELECT r.lock_id, r.name, r.due_at FROM ${INDEX}
  WHERE r.folder = :folder AND r.status = :status AND r.name >= :from AND r.name < :below`;
const NOT_FREE = `${IN_GROUP} AND r.due_at IS NULL AND r.name > :after ORDER BY r.name LIMIT :max`;
const EXHAUSTED = `${IN_GROUP} AND r.due_at IS NULL AND r.name > :after AND r.attempts_left = 0 ORDER BY r.name LIMIT :max`;
const FREE_AT = `${IN_GROUP} AND r.due_at = :dueAt AND r.name > :after ORDER BY r.name LIMIT :max`;
const FREE_LATER = `${IN_GROUP} AND r.due_at > :dueAt ORDER BY r.due_at, r.name LIMIT :max`;
const BEFORE_ALL = -1;

export function byStatus(on: Runner) {
  return {
    async byStatus(selector, after, max) {
      const groups = await groupsFrom(selector, after);
      const wanted = groups.found.filter(({ status }) => isWantedStatus(selector, status));
      const locks: RecordPage["locks"][number][] = [];
      for (const group of wanted.slice(0, STATUS_GROUPS_MAX)) {
        const isFirst = after?.folder === group.folder && after.status === group.status;
        for (const [sql, values] of queriesIn(selector, isFirst ? after : null)) {
          const left = max - locks.length;
          const bounds = {
            ...values,
            ...rangeAfter(selector.prefix, null),
            folder: bytesOf(group.folder),
            status: bytesOf(group.status),
          };
          const rows = await on.read(rowsOf("by_status", [sql, { ...bounds, max: left }]));
          for (const row of rows) locks.push(lockFromRow(row, group));
          if (rows.length === left) return { locks, next: locks.at(-1)?.at ?? null };
        }
      }
      const last = wanted.length > STATUS_GROUPS_MAX ? wanted[STATUS_GROUPS_MAX - 1] : groups.found.at(-1);
      const isOver = wanted.length <= STATUS_GROUPS_MAX && groups.isLast;
      return { locks, next: isOver || !last ? null : endOf(last) };
    },
  } satisfies Partial<Store>;

  /** The group that the position is in, and those behind it. */
  async function groupsFrom({ prefix }: RecordSelector, after: RecordPosition | null) {
    const behind = after && { folder: after.folder, status: after.status };
    const { groups, isLast } = await groupsAfter(recordGroupsOn(on), prefix, behind);
    return { found: behind ? [behind, ...groups] : groups, isLast };
  }
}

/** What is left of a group after a position in it, in order. */
function queriesIn({ isExhausted }: RecordSelector, after: RecordPosition | null): Query[] {
  const name = bytesOf(after?.name ?? "");
  if (isExhausted) return after?.dueAtUs == null ? [[EXHAUSTED, { after: name }]] : [];
  if (after?.dueAtUs == null)
    return [
      [NOT_FREE, { after: name }],
      [FREE_LATER, { dueAt: BEFORE_ALL }],
    ];
  return [
    [FREE_AT, { dueAt: after.dueAtUs, after: name }],
    [FREE_LATER, { dueAt: after.dueAtUs }],
  ];
}

function lockFromRow([id, name, dueAt = null]: Row, group: RecordGroup): RecordPage["locks"][number] {
  return { id: bigintOf(id), at: { ...group, dueAtUs: numberOrNull(dueAt), name: textOf(name) } };
}

/** Behind all locks of a group. */
function endOf(group: RecordGroup): RecordPosition {
  return { ...group, dueAtUs: Number.MAX_SAFE_INTEGER, name: "" };
}

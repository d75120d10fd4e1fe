// The rows of rowlock_change: what people have changed. Only added and deleted, never updated.

import { randomBytes } from "node:crypto";
import type { ChangeKind, NotedChange } from "../../core/noted-change.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/rows.ts";
import type { KeptChange } from "../store.ts";
import { bigintOf, type Row, textOf } from "./from-rows.ts";
import { bytesOf, type Value, wordOf, wordsOf } from "./values.ts";

// Codes never change their meaning.
const KIND_CODES: Readonly<Record<ChangeKind, number>> = {
  limit: 1,
  record: 2,
  forced_release: 3,
  policy: 4,
  pool: 5,
};
const KINDS = wordsOf(KIND_CODES);

/** All columns, as they are written and read. */
export const CHANGE_COLUMNS =
  "changed_at, id, kind, target, is_pattern, changed_by, from_value, to_value, reason";

/** Values for CHANGE_COLUMNS, with a new id. */
export function changeValues(change: NotedChange, atUs: number): Value[] {
  return [atUs, ...changeValuesAfterTime(change)];
}

/** The same without the time, for a statement that reads the clock itself. */
export function changeValuesAfterTime(change: NotedChange): Value[] {
  return [
    randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES)),
    KIND_CODES[change.kind],
    bytesOf(change.target),
    change.isPattern ? 1 : 0,
    bytesOf(change.by),
    bytesOf(change.from),
    bytesOf(change.to),
    bytesOf(change.reason),
  ];
}

/** A row of CHANGE_COLUMNS. */
export function changeFromRow([at, id, kind, target, isPattern, by, from, to, reason]: Row): KeptChange {
  return {
    atUs: Number(at),
    id: bigintOf(id),
    kind: wordOf(KINDS, kind),
    target: textOf(target),
    isPattern: Number(isPattern) !== 0,
    by: textOf(by),
    from: textOf(from),
    to: textOf(to),
    reason: textOf(reason),
  };
}

// The text of statements with their values. Values are only numbers, bigints, bytes and NULL, so no character set and no
// sql_mode can change where a value ends.

import type { Value } from "../../rows/values.ts";

/** A list stands for its values, separated by commas; a list inside a list gets parentheses. */
export type SqlValue = Value | readonly SqlValue[];

/** Puts the values in place of the question marks. Throws if their number differs. */
export function withValues(sql: string, values: readonly SqlValue[]): string {
  const parts = sql.split("?");
  if (parts.length !== values.length + 1)
    throw new Error(`${values.length} values for ${parts.length - 1} question marks: ${sql}`);
  let text = parts[0] as string;
  for (let at = 0; at < values.length; at++) text += literal(values[at] as SqlValue) + parts[at + 1];
  return text;
}

function literal(value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "bigint") return value.toString();
  if (Buffer.isBuffer(value)) return `X'${value.toString("hex")}'`;
  return (value as readonly SqlValue[])
    .map((one) => (isList(one) ? `(${literal(one)})` : literal(one)))
    .join(",");
}

function isList(value: SqlValue): value is readonly SqlValue[] {
  return Array.isArray(value);
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`${value} is not a value for the database.`);
  return String(value);
}

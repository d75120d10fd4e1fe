// The text of statements with their values. Values are numbers, bigints, text, bytes and NULL. Bytes are hexadecimal
// digits, and text is between quotes only if each of its characters is harmless there, so no character set and no sql_mode
// can change where a value ends.

import type { Value } from "../../rows/values.ts";

/** Text stands for its bytes in UTF-8. A list stands for its values, separated by commas; a list inside a list gets parentheses. */
export type SqlValue = Value | string | readonly SqlValue[];

/** Puts the values in place of the question marks. Throws if their number differs. */
export function withValues(sql: string, values: readonly SqlValue[]): string {
  // The longest texts are made with their values.
  if (values.length === 0 && !sql.includes("?")) return sql;
  const parts = sql.split("?");
  if (parts.length !== values.length + 1)
    throw new Error(`${values.length} values for ${parts.length - 1} question marks: ${sql}`);
  let text = parts[0] as string;
  for (let at = 0; at < values.length; at++) text += literal(values[at] as SqlValue) + parts[at + 1];
  return text;
}

/** The value as the database reads it. Contains no question mark. */
export function literal(value: SqlValue): string {
  switch (typeof value) {
    case "string":
      return HARMLESS.test(value) ? `'${value}'` : bytesLiteral(Buffer.from(value, "utf8"));
    case "number":
      if (!Number.isFinite(value)) throw new Error(`${value} is not a value for the database.`);
      return String(value);
    case "bigint":
      return value.toString();
  }
  if (value === null) return "NULL";
  if (Buffer.isBuffer(value)) return bytesLiteral(value);
  let list = "";
  for (const one of value as readonly SqlValue[]) {
    if (list !== "") list += ",";
    list += Array.isArray(one) ? `(${literal(one)})` : literal(one);
  }
  return list;
}

/**
 * Text of these characters, one byte each, means itself between quotes. Left out are quotes, which would end it; the
 * backslash, which means something in some modes; and what could end a comment or stand for a value.
 */
const HARMLESS = /^[\w .:,/@+={}"[\]-]+$/;

function bytesLiteral(bytes: Buffer): string {
  return `X'${bytes.toString("hex")}'`;
}

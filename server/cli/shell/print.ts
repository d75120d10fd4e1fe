// How the shell commands print answers: for programs as JSON, one object a line; for people as columns, with colours on
// a terminal.

import { stripVTControlCharacters, styleText } from "node:util";
import type { LimitView, RecordView } from "../../../clients/typescript/src/index.ts";
import type { CliContext } from "../context.ts";
import { told } from "./durations.ts";

/** Styles a text on a terminal; elsewhere returns it unchanged. */
export type Paint = (style: "bold" | "dim" | "red" | "yellow" | "green", text: string) => string;

/** Styles texts only if `out` writes to a terminal, NO_COLOR is unset and TERM is not `dumb`. */
export function paintOf({ screen, env }: CliContext): Paint {
  const isColoured = screen !== undefined && !env.NO_COLOR && env.TERM !== "dumb";
  return (style, text) => (isColoured ? styleText(style, text, { validateStream: false }) : text);
}

/** One line of JSON. Whole numbers that a JSON reader may round become strings. */
export function jsonLine(value: object): string {
  const exact = (_: string, field: unknown) =>
    typeof field !== "bigint" ? field : field <= Number.MAX_SAFE_INTEGER ? Number(field) : String(field);
  return `${shown(JSON.stringify(value, exact))}\n`;
}

/**
 * Escapes, as JSON does, the characters of a foreign text that a terminal would obey. A reader of JSON gets the same
 * text.
 */
export function shown(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A sentence of the shell's own on one line, even if it quotes text from others. */
export function said(sentence: string): string {
  return `rowlock: ${shown(sentence)}\n`;
}

/** Lays out rows: each column is as wide as its widest cell, and the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widthOf = (cell = "") => stripVTControlCharacters(cell).length;
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => widthOf(row[at]))));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) =>
        at === row.length - 1 ? cell : cell + " ".repeat((widths[at] ?? 0) - widthOf(cell)),
      )
      .join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}

/** The limit, and where it comes from. */
export function limitWords({ limit, source, pattern = "", reason, version }: LimitView): string {
  const from =
    source === "default"
      ? "nothing was set"
      : source === "pattern"
        ? `from ${shown(pattern)}`
        : "set for this name";
  const words = [from, source === "default" ? "" : `version ${version}`, shown(reason)];
  return `${limit} (${words.filter(Boolean).join(", ")})`;
}

/** 1 lock, 2 locks. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** In how long the lock is due, or for how long it has been. */
export function dueWords({ notBefore }: RecordView, nowMs: number): string {
  if (!notBefore) return "";
  const inMs = notBefore.getTime() - nowMs;
  return inMs > 0 ? `in ${told(inMs)}` : `for ${told(-inMs)}`;
}

/** A lock's record, with a row for each field. */
export function recordRows(record: RecordView, nowMs: number): string[][] {
  const { status, notBefore, attemptsLeft, lastRun, version } = record;
  return [
    ...(status === "" ? [] : [["status", shown(status)]]),
    ...(notBefore ? [["due", `${dueWords(record, nowMs)} (${notBefore.toISOString()})`]] : []),
    ...(attemptsLeft === undefined ? [] : [["attempts left", String(attemptsLeft)]]),
    ...(lastRun ? [["last run", lastRunWords(lastRun)]] : []),
    ["version", String(version)],
  ];
}

function lastRunWords(run: NonNullable<RecordView["lastRun"]>): string {
  const { owner, token, grantedAt, endedAt, endReason, status } = run;
  const from = grantedAt ? ` from ${grantedAt.toISOString()}` : "";
  const to = endedAt ? ` to ${endedAt.toISOString()}` : "";
  const how = endReason.toLowerCase().replaceAll("_", " ");
  return `${shown(owner)}${from}${to}: ${how}${status === "" ? "" : ` as ${shown(status)}`}, with token ${token}`;
}

// How the shell prints: for programs as JSON, one object a line; for people as columns, with colours on a terminal.

import { stripVTControlCharacters, styleText } from "node:util";
import type { CliContext } from "./context.ts";

/** On a terminal: what is written next replaces the present line. */
export const ERASE_LINE = "\r\x1b[K";

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

/** Quotes the text for a shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
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
  const padded = (cell: string, at: number) => cell + " ".repeat((widths[at] ?? 0) - widthOf(cell));
  const line = (row: readonly string[]) =>
    [...row.slice(0, -1).map(padded), ...row.slice(-1)].join("  ").trimEnd();
  return rows.map((row) => `${line(row)}\n`).join("");
}

/** Lines that are longer are hard to read, on any terminal. */
const HELP_WIDTH_MAX = 110;

/** How wide help may be: as wide as the terminal, if it is one. */
export function helpWidth({ screen }: Pick<CliContext, "screen">): number {
  return Math.min(screen?.columns || HELP_WIDTH_MAX, HELP_WIDTH_MAX);
}

/** Breaks the prose of a help text at this width. Lines that begin with a space, such as examples, stay. */
export function wrapped(text: string, width: number): string {
  return text.replace(/(?:^\S.*$\n?)+/gm, (prose) => {
    const lines = [""];
    for (const word of prose.trimEnd().split(/\s+/)) {
      const longer = `${lines.at(-1)} ${word}`.trimStart();
      if (longer.length > width) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return `${lines.join("\n")}${prose.endsWith("\n") ? "\n" : ""}`;
  });
}

/** 1 lock, 2 locks. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** A duration for a person: 250 ms, 12 s, 3 min, 5 h, 2 d. */
export function timeWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

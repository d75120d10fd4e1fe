// The languages of each recipe, and how to start a program in each.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";

const HOUSE = join(import.meta.dirname, "../../..");
/** With the client installed, as `clients/python/scripts/build` leaves it. */
const PYTHON = join(HOUSE, "clients/python/.venv/bin/python");

export interface Language {
  readonly name: string;
  /** The file name extension of its programs. */
  readonly ending: string;
  /** The program that runs them, and its arguments before the file. */
  readonly interpreter: string;
  readonly options?: readonly string[];
}

/**
 * Runs a program so that it writes each line at once and whole. Python's own option for that, PYTHONUNBUFFERED,
 * writes a line in pieces, and another program can write to the same file between them.
 */
const LINE_BY_LINE = `import runpy, sys
sys.stdout.reconfigure(line_buffering=True)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")`;

export const LANGUAGES: readonly Language[] = [
  { name: "TypeScript", ending: "ts", interpreter: process.execPath },
  { name: "Python", ending: "py", interpreter: PYTHON, options: ["-c", LINE_BY_LINE] },
  { name: "the shell", ending: "sh", interpreter: "/bin/sh" },
];

/**
 * Runs the suite for each language. If the Python client is not built, its part is skipped by name; in CI it must be
 * built.
 */
export function inEachLanguage(suite: (language: Language) => void): void {
  for (const language of LANGUAGES) {
    const isMissing = !existsSync(language.interpreter);
    if (isMissing && !process.env.CI)
      test.skip(`in ${language.name}: first run clients/python/scripts/build`);
    else describe(`in ${language.name}`, () => suite(language));
  }
}

// Has Porcupine check a history in a file: see linearizable/main.go.

import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Breach } from "./breach.ts";

const FOLDER = join(import.meta.dirname, "linearizable");
/** It downloads and builds Porcupine at first. */
const PATIENCE_MS = 300_000;
const BROKEN = 1;

export interface Linearizable {
  readonly lines: readonly string[];
  readonly breaches: readonly Breach[];
}

/** null: there is no Go here. Throws if it cannot be built, or cannot read the file. */
export async function linearizable(file: string): Promise<Linearizable | null> {
  if ((await go(["version"])).code === undefined) return null;
  const binary = join(FOLDER, "linearizable");
  const built = await go(["build", "-o", binary, "."]);
  if (built.code !== 0) throw new Error(built.said);
  const { code, said } = await ran(binary, [file]);
  if (code !== 0 && code !== BROKEN) throw new Error(said);
  const lines = said.trim().split("\n");
  const breaches = lines
    .filter((line) => line.endsWith("NOT LINEARIZABLE"))
    .map((what) => ({ rule: "one order explains all answers", what }));
  return { lines, breaches };
}

const go = (args: readonly string[]) => ran("go", args);

/** `code` is undefined if there is no such program. */
function ran(program: string, args: readonly string[]): Promise<{ code: number | undefined; said: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: FOLDER, timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : undefined) : 0;
      resolve({ code, said: `${stdout}${stderr}` });
    });
  });
}

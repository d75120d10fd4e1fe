// What the tests of the recipes share: a server, the recipe's unchanged programs in one language, and the journal
// that they all write. The journal is their standard output: one file, so that lines are in the order in which the
// programs printed them. Must not know any recipe.

import { spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import { processStage, type ServingServer } from "../../process/stage.ts";
import { freshSqlite } from "../../support/database.ts";
import { until } from "../../support/until.ts";
import { installedRecipes } from "./installed-recipes.ts";
import type { Language } from "./languages.ts";
import { Run } from "./run.ts";

/** The tests start many programs, which are slow on a machine with other work. */
vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const HOUSE = join(import.meta.dirname, "../../..");
const COMPILED = join(HOUSE, "node_modules/.cache/rowlock-compiled");

export type { Run } from "./run.ts";

export type Settings = Readonly<Record<string, string | number>>;

export interface RecipeStage {
  readonly language: Language;
  /** The server of this language; lock records stay from one test to the next. */
  readonly server: ServingServer;
  /** This test's own folder, in which the programs run. */
  readonly folder: string;
  /** Starts `examples/recipes/<recipe>/<program>.*` with `settings` as its environment. */
  start(program: string, args?: readonly string[], settings?: Settings): Run;
  /** Starts it and waits until it has ended with exit code 0. */
  ran(program: string, args?: readonly string[], settings?: Settings): Promise<void>;
  /** The lines of the journal so far. */
  journal(): string[];
  /**
   * Polls until `ask` returns true. Throws if a program has failed meanwhile and the test has not asked for its end.
   */
  until(ask: () => Promise<boolean> | boolean): Promise<void>;
  /** Waits until the journal has this many matching lines. Throws as `until` does. */
  told(what: RegExp | string, times?: number): Promise<void>;
  /** Kills the run as if its machine lost power, and then appends these lines to the journal. */
  dies(run: Run, ...lines: string[]): Promise<void>;
  /** The current view of a lock. */
  lock(name: string): ReturnType<typeof lockOf>;
}

/** Call this once in the suite of a language. Programs started in a test are killed after it. */
export function recipeStage(recipe: string, language: Language): RecipeStage {
  const stage = processStage("after all");
  let server: ServingServer;
  let programs: string;
  let bin: string;
  let folder: string;
  let journal: string;
  const runs: Run[] = [];

  beforeAll(async () => {
    programs = join(await installedRecipes(), recipe);
    bin = stage.folder();
    writeFileSync(
      join(bin, "rowlock"),
      `#!/bin/sh\nexec '${process.execPath}' '${HOUSE}/server/main.ts' "$@"\n`,
    );
    chmodSync(join(bin, "rowlock"), 0o755);
    server = await stage.serving(await stage.database(freshSqlite));
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), `rowlock-${recipe}-`));
    journal = join(folder, "journal");
    writeFileSync(journal, "");
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") tell();
    for (const run of runs.splice(0)) await run.kill();
    rmSync(folder, { recursive: true });
  });

  /** Prints the journal and all complaints, for debugging a failed test. */
  function tell(): void {
    const complaints = runs.map((run) => run.complaints);
    console.error(["--- the journal", ...told.journal(), "--- the complaints", ...complaints].join("\n"));
  }

  const told: RecipeStage = {
    language,
    get server() {
      return server;
    },
    get folder() {
      return folder;
    },
    start(program, args = [], settings = {}) {
      const out = openSync(journal, "a");
      const { interpreter, options = [], ending } = language;
      const child = spawn(interpreter, [...options, join(programs, `${program}.${ending}`), ...args], {
        cwd: folder,
        env: {
          PATH: `${bin}:${process.env.PATH}`,
          NODE_COMPILE_CACHE: COMPILED,
          ROWLOCK_ADDR: server.grpcAddress,
          ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
        },
        stdio: ["ignore", out, "pipe"],
      });
      closeSync(out);
      const run = new Run(child);
      runs.push(run);
      return run;
    },
    async ran(program, args, settings) {
      const run = told.start(program, args, settings);
      expect(await run.ended, run.complaints).toBe(0);
    },
    until: (ask) =>
      until(async () => {
        for (const run of runs) run.check();
        return await ask();
      }),
    journal: () => readFileSync(journal, "utf8").split("\n").slice(0, -1),
    async told(what, times = 1) {
      const isIt = (line: string) => (typeof what === "string" ? line === what : what.test(line));
      await told.until(() => told.journal().filter(isIt).length >= times);
    },
    async dies(run, ...lines) {
      await run.kill();
      appendFileSync(journal, lines.map((line) => `${line}\n`).join(""));
    },
    lock: (name) => lockOf(server, name),
  };
  return told;
}

async function lockOf(server: ServingServer, name: string) {
  const { lock } = await server.client.call("getLock", { name });
  if (!lock) throw new Error(`GetLock has answered without ${name}`);
  return lock;
}

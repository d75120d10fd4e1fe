// What the tests of the recipes share: a server, the recipe's programs as they are, in one language, several at once if need be,
// and the journal that all of them write. It is their standard output: one file, so what they print is in the order in which
// they printed it. It must not know any recipe.

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

/** Many programs start here, each of which takes its time where others are at work on the machine. */
vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const HOUSE = join(import.meta.dirname, "../../..");
const COMPILED = join(HOUSE, "node_modules/.cache/rowlock-compiled");

export type { Run } from "./run.ts";

export type Settings = Readonly<Record<string, string | number>>;

export interface RecipeStage {
  readonly language: Language;
  /** Of this language alone; what its locks remember stays from one test to the next. */
  readonly server: ServingServer;
  /** A folder of this test's own, in which the programs run. */
  readonly folder: string;
  /** Starts `examples/recipes/<recipe>/<program>.*`. `settings` are its environment. */
  start(program: string, args?: readonly string[], settings?: Settings): Run;
  /** Starts it, and waits until it has ended well. */
  ran(program: string, args?: readonly string[], settings?: Settings): Promise<void>;
  /** The lines of the journal so far. */
  journal(): string[];
  /** Asks until the answer is yes. Fails where a program has failed meanwhile whose end nobody has asked for. */
  until(ask: () => Promise<boolean> | boolean): Promise<void>;
  /** Waits until the journal has so many lines of this kind, likewise. */
  told(what: RegExp | string, times?: number): Promise<void>;
  /** Its machine loses power. After that these lines stand in the journal. */
  dies(run: Run, ...lines: string[]): Promise<void>;
  /** What a lock looks like now. */
  lock(name: string): ReturnType<typeof lockOf>;
}

/** To be called once in the suite of a language. What was started in a test is gone after it. */
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
    bin = mkdtempSync(join(tmpdir(), "rowlock-bin-"));
    stage.afterwards(() => rmSync(bin, { recursive: true }));
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

  /** For whoever has to find out why. */
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

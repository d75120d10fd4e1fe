// What the tests of the recipes share: a server, the recipe's programs as they are, in one language, several at once if need be,
// and the journal that all of them write. It is their standard output: one file, so what they print is in the order in which
// they printed it. It must not know any recipe.

import { type ChildProcess, spawn } from "node:child_process";
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
import { killTree } from "./process-tree.ts";

/** Many programs start here, each of which takes its time where others are at work on the machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const HOUSE = join(import.meta.dirname, "../../..");
const COMPILED = join(HOUSE, "node_modules/.cache/rowlock-compiled");

export type Settings = Readonly<Record<string, string | number>>;

/** A program that was started. */
export interface Run {
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /** What it has complained of so far. */
  readonly complaints: string;
}

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
  /** Waits until the journal has so many lines of this kind. */
  told(what: RegExp | string, times?: number): Promise<void>;
  /** Its machine loses power. After that this line stands in the journal. */
  dies(run: Run, line: string): Promise<void>;
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
  const children = new Map<Run, ChildProcess>();

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
    for (const [run, child] of children) {
      end(child);
      await run.ended;
    }
    children.clear();
    rmSync(folder, { recursive: true });
  });

  /** For whoever has to find out why. */
  function tell(): void {
    const complaints = [...children.keys()].map((run) => run.complaints);
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
      const child = spawn(language.interpreter, [join(programs, `${program}.${language.ending}`), ...args], {
        cwd: folder,
        env: {
          PATH: `${bin}:${process.env.PATH}`,
          NODE_COMPILE_CACHE: COMPILED,
          PYTHONUNBUFFERED: "1",
          ROWLOCK_ADDR: server.grpcAddress,
          ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
        },
        stdio: ["ignore", out, "pipe"],
      });
      closeSync(out);
      let complaints = "";
      child.stderr?.on("data", (chunk) => (complaints += chunk));
      const ended = Promise.withResolvers<number | NodeJS.Signals | null>();
      child.on("error", ended.reject);
      child.on("close", (code, signal) => ended.resolve(code ?? signal));
      const run: Run = {
        ended: ended.promise,
        get complaints() {
          return complaints;
        },
      };
      children.set(run, child);
      return run;
    },
    async ran(program, args, settings) {
      const run = told.start(program, args, settings);
      expect(await run.ended, run.complaints).toBe(0);
    },
    journal: () => readFileSync(journal, "utf8").split("\n").slice(0, -1),
    async told(what, times = 1) {
      const isIt = (line: string) => (typeof what === "string" ? line === what : what.test(line));
      await until(() => told.journal().filter(isIt).length >= times);
    },
    async dies(run, line) {
      end(children.get(run) as ChildProcess);
      await run.ended;
      appendFileSync(journal, `${line}\n`);
    },
    lock: (name) => lockOf(server, name),
  };
  return told;
}

/** With all that it has started, unless it has ended by itself. */
function end({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) killTree(pid);
}

async function lockOf(server: ServingServer, name: string) {
  const { lock } = await server.client.call("getLock", { name });
  if (!lock) throw new Error(`GetLock has answered without ${name}`);
  return lock;
}

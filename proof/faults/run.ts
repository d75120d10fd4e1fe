// Plays runs with faults and checks their histories. Prints what it does, and fails if a promise was broken.
//
//   npm run test:faults -- [--database sqlite|mariadb|mysql|galera|group|pair] [--seconds 120] [--runs 1] [--seed N] [--only TEXT]
//   npm run test:faults -- --planted [TEXT]     servers that break a rule: fails if no promise is seen broken
//   npm run test:faults -- --right [TEXT]       right servers in the runs of the planted ones: fails if one is
//   npm run test:faults -- --check FILE         a history that an earlier run has kept

import { mkdtempSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Breach } from "./checker/breach.ts";
import { check } from "./checker/check.ts";
import { linearizable } from "./checker/linearizable.ts";
import { withLostTails } from "./checker/lost-tail.ts";
import { figuresOf, linesOf, NO_FIGURES, sum } from "./figures.ts";
import { History } from "./history/history.ts";
import { PLANTED } from "./planted.ts";
import { mustBreak, mustNotBreak, type PlayAndCheck, rulesOf } from "./planted-run.ts";
import { type Play, play } from "./play.ts";
import { TTL_MS } from "./work/run.ts";

const SHOWN_MAX = 20;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    database: { type: "string", default: "mariadb" },
    seconds: { type: "string", default: "120" },
    runs: { type: "string", default: "1" },
    seed: { type: "string" },
    only: { type: "string", default: "" },
    planted: { type: "boolean", default: false },
    right: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), "rowlock-faults-"));

const planted = PLANTED.filter(({ fault }) => fault.includes(positionals[0] ?? ""));

if (options.check) for (const file of positionals) mustKeep(file, await checked(file));
else if (options.planted) {
  for (const each of planted) {
    // A server that breaks its rules may also break the run, which is no catch.
    const isCaught = await mustBreak(each, options.database, playAndCheck).catch((error) =>
      console.error(error),
    );
    if (!isCaught) process.exitCode = 1;
  }
} else if (options.right) {
  if (!(await mustNotBreak(planted, options.database, playAndCheck))) process.exitCode = 1;
} else await mustKeepAll(Number(options.runs));

async function mustKeepAll(runs: number): Promise<void> {
  const { database, only } = options;
  let total = NO_FIGURES;
  for (let run = 1; run <= runs; run++) {
    const { file, label } = await played(`run ${run}`, { house: { database }, only });
    const figures = figuresOf(History.read(file));
    for (const line of linesOf(figures)) console.log(`  ${line}`);
    mustKeep(`run ${run} on ${label}`, await checked(file));
    total = sum(total, figures);
  }
  if (runs === 1) return;
  console.log(`${runs} runs, ${(total.spanMs / 60e3).toFixed(0)} minutes of work together:`);
  for (const line of linesOf(total)) console.log(`  ${line}`);
}

function mustKeep(what: string, breaches: readonly Breach[]): void {
  for (const { rule, what } of breaches.slice(0, SHOWN_MAX)) console.error(`  BROKEN: ${rule}: ${what}`);
  console.log(`${what}: ${breaches.length} promises broken`);
  if (breaches.length > 0) process.exitCode = 1;
}

async function playAndCheck(...[what, play, seconds]: Parameters<PlayAndCheck>) {
  const { file, enoughMs } = await played(what, play, seconds);
  const breaches = await checked(file);
  for (const [rule, all] of rulesOf(breaches)) console.log(`  ${rule}, ${all.length} times: ${all[0]?.what}`);
  return { breaches, enoughMs };
}

async function played(
  what: string,
  { house, only, isEnough }: Pick<Play, "house" | "only" | "isEnough">,
  seconds = Number(options.seconds),
) {
  const seed = options.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(options.seed);
  const file = join(folder, `${house.database}-${what.replaceAll(" ", "-")}-${seed}.jsonl`);
  console.log(`${what}, seed ${seed}, load ${loadavg()[0]?.toFixed(1)}: ${file}`);
  const startMs = performance.now();
  const tell = (line: string) =>
    console.log(`  ${((performance.now() - startMs) / 1e3).toFixed(1).padStart(6)} s  ${line}`);
  const forMs = seconds * 1_000;
  const { label, missing, enoughMs } = await play(
    { house, only, seed, forMs, tell, isEnough },
    new History(file),
  );
  for (const why of missing) console.log(`  left out: ${why}`);
  return { file, label, enoughMs };
}

/** Tokens as they were told, and changes as far as they cannot be lost. */
function toldFile(file: string, history: History): string {
  const told = new History(`${file}.told`);
  for (const entry of withLostTails(history).entries) if (entry.did !== "acquire") told.add(entry);
  for (const entry of history.of("acquire")) told.add(entry);
  return `${file}.told`;
}

async function checked(file: string): Promise<Breach[]> {
  const history = History.read(file);
  const byPorcupine = await linearizable(history.of("lose").length === 0 ? file : toldFile(file, history));
  if (byPorcupine === null) console.log("  left out: Porcupine, as there is no Go");
  return [...check(history, TTL_MS), ...(byPorcupine?.breaches ?? [])];
}

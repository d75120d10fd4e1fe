// Plays runs with faults and checks their histories. Prints what it does, and fails if a promise was broken.
//
//   npm run test:faults -- [--database sqlite|mariadb|mysql] [--seconds 120] [--runs 1] [--seed N] [--only TEXT]
//   npm run test:faults -- --planted [TEXT]     servers that break a rule: fails if no promise is seen broken
//   npm run test:faults -- --check FILE         a history that an earlier run has kept

import { mkdtempSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Breach } from "./checker/breach.ts";
import { check } from "./checker/check.ts";
import { linearizable } from "./checker/linearizable.ts";
import { figuresOf } from "./figures.ts";
import { History } from "./history/history.ts";
import { PLANTED, type Planted, plant } from "./planted.ts";
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
    check: { type: "boolean", default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), "rowlock-faults-"));

if (options.check) for (const file of positionals) mustKeep(file, await checked(file));
else if (options.planted) {
  const [text = ""] = positionals;
  for (const planted of PLANTED.filter(({ fault }) => fault.includes(text))) await mustBreak(planted);
} else
  for (let run = 1; run <= Number(options.runs); run++) {
    const { database, only } = options;
    const { file, label } = await played(`run ${run}`, { house: { database }, only });
    for (const line of figuresOf(History.read(file))) console.log(`  ${line}`);
    mustKeep(`run ${run} on ${label}`, await checked(file));
  }

function mustKeep(what: string, breaches: readonly Breach[]): void {
  for (const { rule, what } of breaches.slice(0, SHOWN_MAX)) console.error(`  BROKEN: ${rule}: ${what}`);
  console.log(`${what}: ${breaches.length} promises broken`);
  if (breaches.length > 0) process.exitCode = 1;
}

async function mustBreak(planted: Planted): Promise<void> {
  await using stops = new AsyncDisposableStack();
  const { fault, faults: only, databaseFlags, serverFlags } = planted;
  const program = await plant(planted, stops);
  const house = { database: options.database, program, databaseFlags, serverFlags };
  const { file } = await played(`a server that ${fault}`, { house, only });
  const breaches = await checked(file);
  const rules = [...new Set(breaches.map(({ rule }) => rule))];
  console.log(
    `a server that ${fault}: ${rules.length > 0 ? `caught by: ${rules.join("; ")}` : "NOT CAUGHT"}`,
  );
  if (rules.length === 0) process.exitCode = 1;
}

async function played(what: string, { house, only }: Pick<Play, "house" | "only">) {
  const seed = options.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(options.seed);
  const file = join(folder, `${house.database}-${what.replaceAll(" ", "-")}-${seed}.jsonl`);
  console.log(`${what}, seed ${seed}, load ${loadavg()[0]?.toFixed(1)}: ${file}`);
  const startMs = performance.now();
  const tell = (line: string) =>
    console.log(`  ${((performance.now() - startMs) / 1e3).toFixed(1).padStart(6)} s  ${line}`);
  const forMs = Number(options.seconds) * 1_000;
  const { label, missing } = await play({ house, only, seed, forMs, tell }, new History(file));
  for (const why of missing) console.log(`  left out: ${why}`);
  return { file, label };
}

async function checked(file: string): Promise<Breach[]> {
  const byPorcupine = await linearizable(file);
  if (byPorcupine === null) console.log("  left out: Porcupine, as there is no Go");
  return [...check(History.read(file), TTL_MS), ...(byPorcupine?.breaches ?? [])];
}

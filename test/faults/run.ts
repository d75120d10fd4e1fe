// Plays runs with faults and checks their histories. Prints what it does, and fails if a promise was broken.
//
//   npm run test:faults -- [--database sqlite|mariadb|mysql] [--seconds 120] [--runs 1] [--seed N] [--only TEXT] [--keep FOLDER]
//   npm run test:faults -- --check FILE

import { mkdtempSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { check } from "./checker/check.ts";
import { linearizable } from "./checker/linearizable.ts";
import { figuresOf } from "./figures.ts";
import { History } from "./history/history.ts";
import { play, TTL_MS } from "./play.ts";

const { values: options } = parseArgs({
  options: {
    database: { type: "string", default: "mariadb" },
    seconds: { type: "string", default: "120" },
    runs: { type: "string", default: "1" },
    seed: { type: "string" },
    only: { type: "string", default: "" },
    keep: { type: "string" },
    check: { type: "string" },
  },
});

let breaches = 0;
if (options.check !== undefined) await report(options.check, options.check);
else for (let run = 1; run <= Number(options.runs); run++) await playOne(run);
process.exitCode = breaches > 0 ? 1 : 0;

async function playOne(run: number): Promise<void> {
  const { database, only } = options;
  const seed = options.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(options.seed);
  const folder = options.keep ?? mkdtempSync(join(tmpdir(), "rowlock-faults-"));
  const file = join(folder, `${database}-${seed}.jsonl`);
  console.log(`run ${run} on ${database}, seed ${seed}, load ${loadavg()[0]?.toFixed(1)}: ${file}`);
  const startMs = performance.now();
  const history = new History(file);
  const tell = (what: string) =>
    console.log(`  ${((performance.now() - startMs) / 1e3).toFixed(1).padStart(6)} s  ${what}`);
  const { label, missing } = await play(
    { database, seed, forMs: Number(options.seconds) * 1_000, only, tell },
    history,
  );
  for (const why of missing) console.log(`  left out: ${why}`);
  for (const line of figuresOf(history)) console.log(`  ${line}`);
  await report(`run ${run} on ${label}`, file);
}

async function report(what: string, file: string): Promise<void> {
  const byPorcupine = await linearizable(file);
  if (byPorcupine === null) console.log("  left out: Porcupine, as there is no Go");
  const found = [...check(History.read(file), TTL_MS), ...(byPorcupine?.breaches ?? [])];
  breaches += found.length;
  for (const { rule, what: how } of found) console.error(`  BROKEN: ${rule}: ${how}`);
  console.log(`${what}: ${found.length} promises broken`);
}

// The bench: drives Rowlock on each database beside other lock services and a service that does nothing, in rounds.
// Prints one table as Markdown, writes each figure to a JSON file, and draws a chart. README.md beside this file
// explains how to read them.

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { postGuardian } from "../test/support/mysql-family/guardian.ts";
import { chart } from "./chart.ts";
import { buildDriver } from "./go-driver.ts";
import { type RoundOutcome, runRound } from "./round.ts";
import { withRatios } from "./sample.ts";
import { SYSTEMS } from "./systems/systems.ts";
import { table } from "./table.ts";
import { WORKS } from "./works.ts";

const USAGE = `npm run bench -- [options]
  --quick            one round of half a second each, under three minutes: shows that it works, and no more
  --rounds N         how often all of it is done (5)
  --seconds N        what is measured of each work on each system (5)
  --warm-up N        seconds before that, and eight times as many of the first work once a system has started (1)
  --systems A,B      of ${SYSTEMS.map(({ name }) => name).join(", ")}
  --works A,B        of ${WORKS.map(({ name }) => name).join(", ")}
  --directory DIR    where the systems keep their data: on the disk to measure (that of temporary files)
  --json FILE        where each figure goes (bench.json)
  --svg FILE         where the chart goes (bench.svg)`;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
    "warm-up": { type: "string" },
    systems: { type: "string" },
    works: { type: "string" },
    directory: { type: "string", default: tmpdir() },
    json: { type: "string", default: "bench.json" },
    svg: { type: "string", default: "bench.svg" },
    help: { type: "boolean", default: false },
  },
});

if (options.help) console.log(USAGE);
else await bench();

async function bench(): Promise<void> {
  const systems = chosen(SYSTEMS, options.systems);
  const works = chosen(WORKS, options.works);
  const rounds = positive(options.rounds ?? (options.quick ? "1" : "5"));
  const seconds = positive(options.seconds ?? (options.quick ? "0.5" : "5"));
  const warmUpS = positive(options["warm-up"] ?? (options.quick ? "0.25" : "1"));
  refuseMemory(options.directory);
  const directory = mkdtempSync(join(resolve(options.directory), "rowlock-bench-"));
  const guardian = postGuardian(directory);
  try {
    const driver = join(directory, "driver");
    await buildDriver(driver);
    const startedAt = new Date().toISOString();
    const outcomes: RoundOutcome[] = [];
    for (let round = 1; round <= rounds; round++) {
      outcomes.push(await runRound(round, { systems, works, driver, directory, warmUpS, seconds }));
    }
    const samples = withRatios(outcomes.flatMap((outcome) => outcome.samples));
    const { versions, notRun } = outcomes[0] as RoundOutcome;
    const processors = cpus().map(({ model }) => model);
    const figures = { startedAt, processors, rounds, seconds, warmUpS, versions, notRun, samples };
    await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    await writeFile(options.svg, chart(samples, Object.keys(versions)));

    console.log(
      `${startedAt}, ${processors.length} processors (${processors[0]}), ${rounds} x ${seconds} s\n`,
    );
    console.log(table(samples, Object.keys(versions)));
    for (const [name, version] of Object.entries(versions)) console.log(`- ${name}: ${version}`);
    for (const [name, why] of Object.entries(notRun)) console.log(`- ${name}: not run, ${why}`);
    for (const { work, system, failure } of samples) {
      if (failure === undefined) continue;
      console.log(`- ${system}, ${work}: failed: ${failure}`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
    guardian.dismiss();
  }
}

function chosen<T extends { readonly name: string }>(all: readonly T[], names: string | undefined): T[] {
  if (names === undefined) return [...all];
  return names.split(",").map((name) => {
    const found = all.find((one) => one.name === name);
    if (!found) throw new Error(`no such thing to measure: ${name}\n${USAGE}`);
    return found;
  });
}

function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`not a number above 0: ${text}\n${USAGE}`);
  return number;
}

/** Refuses a directory in memory, where no write is durable and a system that syncs less gains nothing by it. */
function refuseMemory(directory: string): void {
  const TMPFS = 0x01021994;
  if (statfsSync(directory).type === TMPFS) {
    throw new Error(`${directory} is in memory: name a directory on a disk by --directory`);
  }
}

// Tries backups, restores and moves for real, under load, and prints what each kept, what it lost, and for how long
// nothing was granted. Ends with 1 if anything is not as docs/operations.md says.
//
//   npm run care -- [--databases sqlite,mariadb,mysql] [--only dump-in-place,...]

import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { COPIES } from "./copies.ts";
import { DUMPS } from "./dumps.ts";
import { MOVES } from "./moves.ts";
import { Missing } from "./stage.ts";
import { inStage, type Outcome, type Trial } from "./trial.ts";

const TRIALS: readonly Trial[] = [...DUMPS, ...COPIES, ...MOVES];

const { values: options } = parseArgs({
  options: {
    databases: { type: "string", default: "sqlite,mariadb,mysql" },
    only: { type: "string", default: TRIALS.map(({ name }) => name).join(",") },
  },
});
const wanted = options.only.split(",");
const unknown = wanted.filter((name) => !TRIALS.some((trial) => trial.name === name));
if (unknown.length > 0)
  throw new Error(
    `no such trial: ${unknown.join(", ")} (have: ${TRIALS.map(({ name }) => name).join(", ")})`,
  );

console.log("| trial | database | what it knows afterwards | no grants for |");
console.log("| --- | --- | --- | --: |");
for (const trial of TRIALS.filter(({ name }) => wanted.includes(name)))
  for (const database of trial.databases.filter((each) => options.databases.split(",").includes(each))) {
    try {
      report(trial.name, database, await inStage(database, (stage) => trial.run(stage)));
    } catch (error) {
      const isLeftOut = error instanceof Missing;
      console.log(
        `| ${trial.name} | ${database} | ${isLeftOut ? `left out: ${error.message}` : "FAILED"} | |`,
      );
      if (isLeftOut) continue;
      console.error(error);
      process.exitCode = 1;
    }
  }
console.log(`load ${loadavg()[0]?.toFixed(1)}`);

function report(name: string, database: string, { found, pauseS, note }: Outcome): void {
  const leases = (["Before", "Between", "After"] as const).map(
    (when) => `${when.toLowerCase()} ${found[`lease${when}`] ? "held" : "lost"}`,
  );
  const facts = [
    `leases ${leases.join(", ")}`,
    found.heldAgain ? "a released lease is held again" : "no released lease is held",
    `place ${found.placeBefore ? "kept" : "lost"}`,
    `limit ${found.limit}`,
    `status ${found.status}`,
    ...(note === undefined ? [] : [note]),
  ];
  console.log(`| ${name} | ${database} | ${facts.join("; ")} | ${pauseS.toFixed(1)} s |`);
}

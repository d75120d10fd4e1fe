// Two of the trials of `npm run care`, which are quick: what a move by a dump keeps, and that the file of a running
// SQLite server is no backup.

import { describe, expect, test } from "vitest";
import { testDatabases } from "../../test/support/database.ts";
import { COPIES } from "./copies.ts";
import { MOVES } from "./moves.ts";
import { Missing } from "./stage.ts";
import { ALL, inStage, type Trial } from "./trial.ts";

/** Two database servers and several processes start in each. */
const BUSY_MACHINE_MS = 300_000;
const QUICK = ["moved-by-dump", "sqlite-file-of-a-running-server"];
const trials = [...COPIES, ...MOVES].filter(({ name }) => QUICK.includes(name));

describe.each(testDatabases())("on $label", ({ kind }) => {
  test.for(trials.filter(({ databases }) => databases.includes(kind)))(
    "$name loses nothing",
    { timeout: BUSY_MACHINE_MS },
    async (trial, { skip }) => {
      const { found } = await tried(trial, kind, skip);
      expect(found).toEqual(ALL);
    },
  );
});

/** A private server and the tools of its maker may be missing, such as mariadb-dump. */
async function tried(trial: Trial, kind: Trial["databases"][number], skip: (why: string) => never) {
  try {
    return await inStage(kind, (stage) => trial.run(stage));
  } catch (error) {
    if (error instanceof Missing) skip(error.message);
    throw error;
  }
}

// Lines that are cut, pass nothing on, or are slow; and commits that do not arrive, or whose answers do not.

import { setTimeout as sleep } from "node:timers/promises";
import { used } from "../house/database.ts";
import type { House } from "../house/house.ts";
import type { Line } from "../house/line.ts";
import { oneOf } from "../work/run.ts";
import { type Fault, SHORT_MS } from "./fault.ts";

const SLOW_MS = 300;
const COMMITS = 10;
const COMMITS_MS = 2_000;

type Ends = readonly [
  where: string,
  needs: Fault["needs"],
  lines: (house: House) => Promise<readonly Line[]>,
];
const ENDS: readonly Ends[] = [
  ["a server and the database", "database server", linesInUse],
  ["a client and a server", "nothing", async ({ clientLines }) => clientLines],
];
const WAYS: readonly (readonly [how: string, harm: (line: Line) => void])[] = [
  ["is cut", (line) => line.cut()],
  ["passes nothing on", (line) => line.hole()],
  ["is slow", (line) => line.slow(SLOW_MS)],
];

const harmed = ENDS.flatMap(([where, needs, lines]) =>
  WAYS.map(
    ([how, harm]): Fault => ({
      name: `the line between ${where} ${how}`,
      needs,
      async strike(house, chance) {
        const line = oneOf(await lines(house), chance);
        harm(line);
        await sleep(SHORT_MS);
        line.heal();
      },
    }),
  ),
);

/** From each server to the database server that is in use. */
async function linesInUse({ database, databaseLines }: House): Promise<readonly Line[]> {
  const { port } = await used(database);
  return databaseLines.filter(({ to }) => to === port);
}

function lostCommits(what: "request" | "answer"): Fault {
  return {
    name: what === "request" ? "commits do not arrive" : "the answers of commits are lost",
    needs: "database server",
    async strike({ databaseLines }) {
      for (const line of databaseLines) line.loseCommits(COMMITS, what);
      await sleep(COMMITS_MS);
      for (const line of databaseLines) line.heal();
    },
  };
}

export const LINE_FAULTS: readonly Fault[] = [...harmed, lostCommits("request"), lostCommits("answer")];

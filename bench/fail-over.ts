// How long clients wait when something dies: prints the times, and fails if they are far from the promised ones.
//
//   npm run bench:fail-over -- [--only elsewhere,hand-over,galera,group,switched] [--rounds 5]

import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";
import { ownBinaries } from "../test/support/mysql-family/own-binaries.ts";
import { movedElsewhere } from "./fail-over/elsewhere.ts";
import { handOvers } from "./fail-over/hand-over.ts";
import { galera, group, type Outage, switched } from "./fail-over/killed-nodes.ts";

/** In milliseconds: about twice the measured time; for renewals elsewhere, half of the grace period. */
const BOUNDS = {
  elsewhere: 5_000,
  handOverP50: 26,
  handOverP99: 306,
  galera: 12_800,
  group: 16_000,
  groupOwn: 4_600,
  switched: 5_200,
};
/** Per requested round, for what is quick. */
const MOVES_PER_ROUND = 4;
const HAND_OVERS_PER_ROUND = 100;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "elsewhere,hand-over,galera,group,switched" },
    rounds: { type: "string", default: "5" },
  },
});
const rounds = Number(options.rounds);
const binaries = await ownBinaries();

const MEASURES: Readonly<Record<string, () => Promise<void>>> = {
  async elsewhere() {
    const binary = needed(binaries.get("mariadb"), "elsewhere", "MariaDB");
    if (binary === undefined) return;
    const moved = await movedElsewhere(binary, MOVES_PER_ROUND * rounds);
    for (const busy of [false, true]) {
      const these = moved.filter(({ isBusy }) => isBusy === busy);
      const at = `one server loses its database, ${busy ? "busy" : "idle"}`;
      report(
        `${at}: going_away`,
        these.map(({ toldMs }) => toldMs),
      );
      report(
        `${at}: renewed elsewhere`,
        these.map(({ renewedMs }) => renewedMs),
        [1, BOUNDS.elsewhere],
      );
    }
  },
  async "hand-over"() {
    if (needed(binaries.get("mariadb"), "hand-over", "MariaDB with Galera") === undefined) return;
    const tookMs = await handOvers(HAND_OVERS_PER_ROUND * rounds);
    report(
      "hand-over between two nodes of Galera",
      tookMs,
      [0.5, BOUNDS.handOverP50],
      [0.99, BOUNDS.handOverP99],
    );
  },
  async galera() {
    const haproxy = needed(onPath("haproxy"), "galera", "HAProxy");
    if (haproxy === undefined || needed(binaries.get("mariadb"), "galera", "MariaDB") === undefined) return;
    await killed("Galera behind HAProxy: first node killed", () => galera(haproxy), BOUNDS.galera);
  },
  async group() {
    const binary = needed(binaries.get("mysql"), "group", "MySQL in ROWLOCK_TEST_MYSQLD");
    if (binary === undefined) return;
    await killed("Group Replication: primary killed", () => group(binary), BOUNDS.group, BOUNDS.groupOwn);
  },
  async switched() {
    const binary = needed(binaries.get("mariadb"), "switched", "MariaDB");
    if (binary === undefined) return;
    await killed(
      "semi-synchronous replica promoted: primary killed",
      () => switched(binary),
      BOUNDS.switched,
    );
  },
};

for (const name of options.only.split(",")) {
  const measure = MEASURES[name];
  if (!measure) throw new Error(`There is no measure ${name}, but ${Object.keys(MEASURES).join(", ")}.`);
  await measure();
}

async function killed(
  what: string,
  round: () => Promise<Outage>,
  maxMs: number,
  ownMax?: number,
): Promise<void> {
  const outages: Outage[] = [];
  while (outages.length < rounds) {
    const outage = await round();
    outages.push(outage);
    console.log(`${what}, round ${outages.length}: ${outage.totalMs.toFixed(0)} ms`);
  }
  report(
    `${what}: grants flow`,
    outages.map(({ totalMs }) => totalMs),
    [0.5, maxMs],
  );
  const parts = outages.flatMap(({ totalMs, databaseMs }) =>
    databaseMs === undefined ? [] : [{ databaseMs, ownMs: totalMs - databaseMs }],
  );
  if (parts.length === 0) return;
  report(
    "  of which the database's own",
    parts.map(({ databaseMs }) => databaseMs),
  );
  report(
    "  of which Rowlock's",
    parts.map(({ ownMs }) => ownMs),
    ...(ownMax === undefined ? [] : [[0.5, ownMax] as const]),
  );
}

/** Prints the measured times, in milliseconds, with the machine's load; records those beyond their bound. */
function report(
  what: string,
  tookMs: readonly number[],
  ...bounds: readonly (readonly [share: number, maxMs: number])[]
): void {
  const sorted = [...tookMs].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  const figures = [
    `p50 ${at(0.5).toFixed(0)} ms`,
    ...(sorted.length >= 100 ? [`p99 ${at(0.99).toFixed(0)} ms`] : []),
    `worst ${at(1).toFixed(0)} ms`,
    `${sorted.length} times`,
    `load ${(loadavg()[0] as number).toFixed(1)}`,
  ];
  console.log(`${what}: ${figures.join(", ")}`);
  for (const [share, maxMs] of bounds) {
    if (at(share) <= maxMs) continue;
    console.error(`  TOO SLOW: ${at(share).toFixed(0)} ms, and ${maxMs} ms are allowed`);
    process.exitCode = 1;
  }
}

/** Returns what a measure needs, and says so if it is missing. */
function needed(there: string | undefined, measure: string, what: string): string | undefined {
  if (there === undefined) console.log(`${measure}: left out, as there is no ${what}`);
  return there;
}

function onPath(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

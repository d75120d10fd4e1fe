// What to plan for: the disk that rows take, the cost of a pair, the memory of a server, and what distance costs. Prints
// tables as Markdown, which docs/sizing.md explains.
//
//   npm run sizing -- [--databases sqlite,mariadb,mysql] [--parts rows,pairs,memory,far] [--rounds 3] [--seconds 5]
//     [--flags="--binlog-row-image=MINIMAL"]    for the database servers

import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { capacityIn } from "../server/ops/memory.ts";
import { farTables } from "./sizing/far.ts";
import { memorySizes } from "./sizing/memory.ts";
import { idleCost, type PairCost, pairCosts } from "./sizing/pairs.ts";
import { rowSizes } from "./sizing/rows.ts";
import { KINDS, type Kind, type SizedDatabase, startSizedDatabase } from "./sizing/sized-database.ts";
import { NotHere } from "./systems/system.ts";

const MIB = 2 ** 20;
const HEAPS_MIB = [256, 512, 1_024, 4_096];

const { values: options } = parseArgs({
  options: {
    databases: { type: "string", default: KINDS.join(",") },
    parts: { type: "string", default: "rows,pairs,memory,far" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "5" },
    flags: { type: "string", default: "" },
  },
});
const kinds = options.databases.split(",") as Kind[];
const unknown = kinds.filter((kind) => !KINDS.includes(kind));
if (unknown.length > 0)
  throw new Error(`no such database: ${unknown.join(", ")} (have: ${KINDS.join(", ")})`);
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const processors = cpus();
console.log(
  `${processors.length} processors (${processors[0]?.model}), load ${loadavg()[0]?.toFixed(1)} at the start`,
);

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  async rows() {
    const columns = await ofEach(rowSizes);
    table("bytes on the disk", columns, (bytes) => Math.round(bytes).toLocaleString("en"));
  },
  async pairs() {
    for (const kind of kinds) await withDatabase(kind, pairsOn);
  },
  async memory() {
    // The memory of a server hardly depends on the database, and SQLite makes it quickest.
    await withDatabase("sqlite", async (database) => {
      const sizes = await memorySizes(database);
      table("memory of a server", [["KiB", sizes]], (bytes) => (bytes / 1_024).toFixed(1));
    });
    const heaps = HEAPS_MIB.map((mib): Column => [`${mib} MiB`, { ...capacityIn(mib * MIB) }]);
    table("room in a heap of", heaps, (count) => count.toLocaleString("en"));
  },
  async far() {
    for (const kind of kinds.filter((each) => each !== "sqlite"))
      await withDatabase(kind, async (database) => console.log(await farTables(database, seconds)));
  },
};

for (const name of options.parts.split(",")) {
  const part = PARTS[name];
  if (!part) throw new Error(`There is no part ${name}, but ${Object.keys(PARTS).join(", ")}.`);
  await part();
}
console.log(`load ${loadavg()[0]?.toFixed(1)} at the end`);

/** Runs it on a fresh database; says so if there is none of this kind. */
async function withDatabase<Answer>(
  kind: Kind,
  run: (database: SizedDatabase) => Promise<Answer>,
): Promise<Answer | undefined> {
  let database: SizedDatabase;
  try {
    database = await startSizedDatabase(kind, options.flags.split(" ").filter(Boolean));
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    console.log(`${kind}: left out, ${error.message}`);
    return undefined;
  }
  try {
    return await run(database);
  } finally {
    await database.stop();
  }
}

type Column = readonly [title: string, values: Readonly<Record<string, number>>];

async function ofEach(run: (database: SizedDatabase) => Promise<Record<string, number>>): Promise<Column[]> {
  const columns: Column[] = [];
  for (const kind of kinds) {
    const column = await withDatabase(
      kind,
      async (database): Promise<Column> => [database.label, await run(database)],
    );
    if (column) columns.push(column);
  }
  return columns;
}

function table(title: string, columns: readonly Column[], text: (value: number) => string): void {
  console.log(`\n| ${[title, ...columns.map(([label]) => label)].join(" | ")} |`);
  console.log(`| --- | ${columns.map(() => "--:").join(" | ")} |`);
  for (const what of Object.keys(columns[0]?.[1] ?? {}))
    console.log(
      `| ${[what, ...columns.map(([, values]) => text(values[what] ?? Number.NaN))].join(" | ")} |`,
    );
}

async function pairsOn(database: SizedDatabase): Promise<void> {
  const idle = await idleCost(database, 4 * seconds);
  const all: PairCost[] = [];
  for (let round = 1; round <= rounds; round++) all.push(...(await pairCosts(database, seconds)));
  console.log(`\n${database.label}, medians of ${rounds} rounds of ${seconds} s`);
  console.log(
    `without clients: ${idle.serverCores.toFixed(3)} cores of the server, ${idle.databaseCores.toFixed(3)} of the database` +
      (idle.binlogBytesPerHour === undefined
        ? ""
        : `, ${(idle.binlogBytesPerHour / 1e6).toFixed(1)} MB an hour of binary log`),
  );
  console.log("\n| load | pairs/s | server ms | database ms | KB written | binary log KB | connections |");
  console.log("| --- | --: | --: | --: | --: | --: | --: |");
  for (const [load, costs] of Map.groupBy(all, ({ load: name }) => name)) {
    const at = (of: (cost: PairCost) => number | undefined, digits: number) => {
      const values = costs.flatMap((cost) => of(cost) ?? []);
      return values.length === 0 ? "" : median(values).toFixed(digits);
    };
    const cells = [
      at((cost) => cost.perSecond, 0),
      at((cost) => cost.serverS, 3),
      at((cost) => cost.databaseS, 3),
      at((cost) => cost.writtenBytes / 1_000, 1),
      at((cost) => cost.binlogBytes && cost.binlogBytes / 1_000, 2),
      at((cost) => cost.connections, 0),
    ];
    console.log(`| ${[load, ...cells].join(" | ")} |`);
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

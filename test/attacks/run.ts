// Attacks a server by each flood of SECURITY.md's table, one after the other, and prints what became of it: its memory,
// the p99 of a quiet client, and the leases of other clients that were lost. With --write, it writes the table into
// SECURITY.md. Run it on a machine that does nothing else.
//
//   npm run attacks -- [--seconds 15] [--only "bare calls"] [--write]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { newToken } from "../../server/access/tokens-file.ts";
import { FLOODS, FLOODS_OF_KNOWN } from "./kinds/floods.ts";
import { HEADERS } from "./kinds/headers.ts";
import { HEAP_MIB, type Situation, type Withstood, withstand } from "./withstand.ts";

const DOCUMENT = join(import.meta.dirname, "../../SECURITY.md");
const [BEGIN, END] = ["<!-- the floods, by npm run attacks -->", "<!-- the end of the floods -->"];
const RATE = 3_000;
/** The goals of a quiet client's p99: so many times of that of a client alone, and so many milliseconds. */
const TIMES_MAX = 10;
const P99_MS_MAX = 500;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "15" },
    only: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const seconds = Number(options.seconds);
const folder = mkdtempSync(join(tmpdir(), "rowlock-attacks-"));
const { line, token } = newToken("honest");
const tokensFile = join(folder, "tokens");
writeFileSync(tokensFile, `${line}\n`);

interface Row {
  readonly label: string;
  readonly attack: string;
  readonly situation: Omit<Situation, "seconds">;
  readonly isMissed: (found: Withstood) => boolean;
}

const tokens = {
  args: ["--tokens-file", tokensFile],
  client: { headers: { authorization: `Bearer ${token}` } },
  attackEnv: { ATTACK_TOKEN: token },
};
const isHurt = ({ isAlive, leasesLost }: Withstood) => !isAlive || leasesLost > 0;
const rows: readonly Row[] = [
  ...Object.keys(HEADERS).map((attack) => ({ label: attack, attack, situation: {}, isMissed: isHurt })),
  ...["headers of 10 kB", "bare calls", "watches of health"].map((attack) => ({
    label: `${attack}, by callers who may call`,
    attack,
    situation: { attackEnv: { ATTACK_KNOWN: "true" } },
    isMissed: isHurt,
  })),
  ...Object.keys(FLOODS_OF_KNOWN).map((attack) => ({
    ...{ label: `${attack}, as fast as 8 connections go`, attack },
    ...{ situation: tokens, isMissed: isHurt },
  })),
  ...Object.keys(FLOODS).flatMap((attack) => [
    {
      label: `${attack}, ${RATE.toLocaleString("en")} a second`,
      attack,
      situation: { ...tokens, attackEnv: { ATTACK_RATE: String(RATE) } },
      isMissed: (found: Withstood) => isHurt(found) || found.p99Ms > TIMES_MAX * found.aloneP99Ms,
    },
    {
      label: `${attack}, as fast as 8 connections go`,
      attack,
      situation: tokens,
      isMissed: (found: Withstood) => isHurt(found) || found.p99Ms > P99_MS_MAX,
    },
  ]),
];

const head = [
  `Each flood lasted ${seconds} s. The server had a heap of ${HEAP_MIB} MiB and an SQLite database in memory; attacker, clients and server`,
  `shared ${availableParallelism()} cores. The p99 is that of a quiet client that takes a lock and gives it back; beside it, that of the same`,
  "client before the flood. 20 leases with a ttl of 5 s were renewed every 1.6 s.",
  "",
  "| flood | memory of the server | its cores | p99 alone | p99 | leases lost, of 20 |",
  "| --- | --: | --: | --: | --: | --: |",
];
const lines: string[] = [];
let missed = 0;
try {
  console.log(`load ${loadavg()[0]?.toFixed(1)} at the start`);
  for (const { label, attack, situation, isMissed } of rows) {
    if (options.only !== undefined && !label.startsWith(options.only)) continue;
    const found = await withstand(attack, { seconds, ...situation });
    const { isAlive, peakMib, cores, aloneP99Ms, p99Ms, leasesLost } = found;
    const memory = isAlive ? `${peakMib} MiB` : "ended";
    const row = `| ${label} | ${memory} | ${cores.toFixed(2)} | ${aloneP99Ms} ms | ${p99Ms} ms | ${leasesLost} |`;
    lines.push(row);
    const isMiss = isMissed(found);
    if (isMiss) missed += 1;
    console.log(isMiss ? `${row} misses its goal: ${JSON.stringify(found)}` : row);
  }
  if (options.write) write([...head, ...lines]);
} finally {
  rmSync(folder, { recursive: true });
}
console.log(missed === 0 ? "all goals are reached" : `${missed} goals are missed`);
// Pings and timers of clients that were closed may still be there.
process.exit(missed === 0 ? 0 : 1);

function write(table: readonly string[]): void {
  const text = readFileSync(DOCUMENT, "utf8");
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`SECURITY.md has no place for the table: ${BEGIN}`);
  writeFileSync(
    DOCUMENT,
    `${text.slice(0, from + BEGIN.length)}\n\n${table.join("\n")}\n\n${text.slice(to)}`,
  );
}

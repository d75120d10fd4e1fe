// A load check, small and honest: 64 callers take and release locks, over distinct names and over one hot name, for a
// few seconds each, against a Rowlock server and, in the same run, against a gRPC service that does nothing. The ratio
// of the two is what can be compared between machines. Prints how many commands each transaction carried, and for MySQL
// how many transactions the database does one after the other, which bounds the hot name.
//
//   npm run bench -- [--database-url URL] [--callers N] [--seconds N]

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { bareTransactionsPerSecond } from "./bare-transactions.ts";
import type { DriverResult } from "./driver.ts";

const { values: options } = parseArgs({
  options: {
    "database-url": { type: "string" },
    callers: { type: "string", default: "64" },
    seconds: { type: "string", default: "5" },
  },
});

const root = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "rowlock-bench-"));
const databaseUrl = options["database-url"] ?? `sqlite:${join(scratch, "bench.db")}`;
const children: ChildProcess[] = [];

try {
  console.log(`database: ${databaseUrl.replace(/:[^:@/]*@/, ":***@")}`);
  const nothing = await start(["test/bench/nothing-server.ts"], /^gRPC (\S+)$/m);
  const rowlock = await start(
    ["server/main.ts", "serve", "--database-url", databaseUrl, "--listen", "127.0.0.1:0"].concat([
      "--metrics-listen",
      "127.0.0.1:0",
      "--log-level",
      "warn",
    ]),
    /gRPC\s+(\S+)[\s\S]*?metrics\s+http:\/\/(\S+?)\/metrics/i,
  );
  const [address, metrics] = rowlock as [string, string];
  if (databaseUrl.startsWith("mysql:")) {
    const bare = await bareTransactionsPerSecond(databaseUrl, Number(options.seconds) / 2);
    console.log(`${"database, one hot row".padEnd(26)} ${bare.toFixed(0).padStart(6)} transactions/s`);
  }
  report("nothing, distinct names", await drive(nothing[0] as string, "distinct"));
  report("rowlock, distinct names", await measured(metrics, () => drive(address, "distinct")));
  report("rowlock, one hot name", await measured(metrics, () => drive(address, "hot")));
  report("rowlock, one caller", await measured(metrics, () => drive(address, "distinct", 1)));
} finally {
  for (const child of children) child.kill("SIGTERM");
  rmSync(scratch, { recursive: true, force: true });
}

/** Starts a server and waits for what it says about where it listens. */
async function start(args: readonly string[], says: RegExp): Promise<string[]> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let text = "";
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    text += `${line}\n`;
    const found = says.exec(text);
    if (found) return found.slice(1);
  }
  throw new Error(`${args[0]} ended before it listened:\n${text}`);
}

/** Runs the callers in a process of their own, so that they cost the server nothing but the machine. */
async function drive(address: string, names: "distinct" | "hot", callers = Number(options.callers)) {
  const args = ["test/bench/driver.ts", address, names, String(callers), options.seconds];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let text = "";
  for await (const chunk of child.stdout as NodeJS.ReadableStream) text += String(chunk);
  return JSON.parse(text) as DriverResult;
}

interface Counted extends DriverResult {
  readonly commandsPerTransaction?: number;
  readonly roundTripsPerTransaction?: number;
}

/** What the server counted about its transactions meanwhile. */
async function measured(metrics: string, run: () => Promise<DriverResult>): Promise<Counted> {
  const before = await scrape(metrics);
  const result = await run();
  const after = await scrape(metrics);
  const mean = (name: string) =>
    ((after.get(`${name}_sum`) ?? 0) - (before.get(`${name}_sum`) ?? 0)) /
    ((after.get(`${name}_count`) ?? 0) - (before.get(`${name}_count`) ?? 0));
  return {
    ...result,
    commandsPerTransaction: mean("rowlock_transaction_commands"),
    roundTripsPerTransaction: mean("rowlock_transaction_round_trips"),
  };
}

async function scrape(metrics: string): Promise<Map<string, number>> {
  const text = await (await fetch(`http://${metrics}/metrics`)).text();
  const samples = new Map<string, number>();
  for (const [, name, value] of text.matchAll(/^(\w+)(?:\{[^}]*\})? (\S+)$/gm)) {
    samples.set(name as string, (samples.get(name as string) ?? 0) + Number(value));
  }
  return samples;
}

function report(label: string, result: Counted): void {
  const columns = [
    label.padEnd(26),
    `${result.pairsPerSecond.toFixed(0).padStart(6)} pairs/s`,
    `acquire p50 ${result.p50Ms.toFixed(2)} ms, p99 ${result.p99Ms.toFixed(2)} ms`,
  ];
  if (result.commandsPerTransaction) {
    columns.push(`${result.commandsPerTransaction.toFixed(1)} commands/transaction`);
    columns.push(`${(result.roundTripsPerTransaction ?? 0).toFixed(2)} round trips/transaction`);
  }
  console.log(columns.join("   "));
}

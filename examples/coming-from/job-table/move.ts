// Makes the locks of all rows of a job table, or changes those whose rows have changed. Run it again as often as you like.
// Usage: node move.ts [--dry-run] [--schedule schedule.json]

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { connect, RowlockError } from "@rowlock/client";
import { faultsOf } from "./faults.ts";
import { changeOf, type Move } from "./moves.ts";
import { JobTable, PREFIX } from "./table.ts";

const { ROWLOCK_ADDR = "127.0.0.1:50051" } = process.env;
const { values } = parseArgs({
  options: { "dry-run": { type: "boolean", default: false }, schedule: { type: "string" } },
});
const isDry = values["dry-run"];
/** The old system runs some jobs: run this again later. */
const TRY_AGAIN = 75;
const CHANGED_MEANWHILE = { kind: "busy", words: "somebody has changed it meanwhile" } as const;

await using table = new JobTable();
await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });

// The locks before the rows: what a worker changes after this has another version, and is not overwritten.
const locks = byName(await Array.fromAsync(rowlock.listLocks({ prefix: PREFIX })));
const limits = byName(await Array.fromAsync(rowlock.listLimits({ prefix: PREFIX })));
const rows = await table.rows();

const moves = rows.map((row) => {
  const name = PREFIX + row.job;
  return changeOf(row, name, locks.get(name), limits.get(name));
});
const faults = [...faultsOf(rows), ...moves.flatMap(({ fault }) => fault ?? [])];
if (faults.length > 0) {
  console.error(
    [`Nothing was changed. ${faults.length} faults:`, ...faults.map((each) => `  ${each}`)].join("\n"),
  );
  process.exitCode = 1;
} else await moveAll();

async function moveAll(): Promise<void> {
  const counts = { new: 0, changed: 0, same: 0, left: 0, busy: 0 };
  for (const move of moves) {
    const { kind, words } = isDry || (await isMade(move)) ? move : CHANGED_MEANWHILE;
    counts[kind] += 1;
    if (kind !== "same") console.log(`${move.name}: ${words}`);
  }
  const known = new Set(moves.map(({ name }) => name));
  const without = [...locks.values()].filter(({ name, record }) => record && !known.has(name));
  for (const { name } of without)
    console.log(`${name}: has no row any more; it stays until: rowlock delete '${name}'`);
  const disabled = rows.filter(({ enabled }) => enabled === 0).length;
  const would = isDry ? "would be " : "";
  console.log(
    `${rows.length} rows: ${counts.new} ${would}new, ${counts.changed} ${would}changed, ${counts.same} as before, ` +
      `${counts.left} left to the old system, ${counts.busy} at new workers; ${disabled} are disabled, ${without.length} locks without a row`,
  );
  if (values.schedule !== undefined && !isDry) {
    const schedule = Object.fromEntries(rows.map(({ job, everyS }) => [job, everyS]));
    writeFileSync(values.schedule, `${JSON.stringify(schedule, null, 2)}\n`);
  }
  if (counts.left > 0) process.exitCode = TRY_AGAIN;
}

function byName<Each extends { readonly name?: string }>(
  all: readonly Each[],
): Map<string | undefined, Each> {
  return new Map(all.map((each) => [each.name, each]));
}

/** False: somebody else was faster. */
async function isMade({ name, record, limit }: Move): Promise<boolean> {
  try {
    // First the pause, so that no worker takes a disabled job in between.
    if (limit) {
      const { permits, ...options } = limit;
      await rowlock.setLimit({ name }, permits, options);
    }
    if (record) await rowlock.updateRecord(name, { ...record, reason: "moved from the job table" });
    return true;
  } catch (error) {
    if (error instanceof RowlockError && error.reason === "VERSION_MISMATCH") return false;
    throw error;
  }
}

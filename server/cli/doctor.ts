// `rowlock doctor`: checks a database without changing it, and reports what is wrong and what to do.

import type { Declare } from "../../clients/shell/command.ts";
import { type CliContext, EXIT, type ExitCode } from "../../clients/shell/context.ts";
import { counted, shown } from "../../clients/shell/print.ts";
import { migrationStatus } from "../storage/migrate/migrate.ts";
import { openStore } from "../storage/open.ts";
import { type Finding, REPLICA_KEPT_US, REPLICAS_MAX, type Store, StoreError } from "../storage/store.ts";
import { verdict } from "./migrate.ts";
import { onDatabase } from "./settings-options.ts";

/** More findings of the same kind add nothing new. */
const FINDINGS_MAX = 50;

const HELP = `
Checks four things:
  cluster     whether the database is still part of its replication group or Galera cluster
  schema      whether this version of Rowlock can use it
  durability  whether the database's settings could lose acknowledged commits
  invariants  whether counters and rows agree, no limit is exceeded, and the order is kept

and lists the servers that use it: address, version, time of registration, and time since the last
heartbeat.

It changes nothing. On MySQL and MariaDB it can be run while servers run; an SQLite file is locked by
its server, so stop that server first.

Exit code: 0 if nothing is wrong (warnings aside), 1 if something is, 2 if the check failed.

Examples:
  rowlock doctor
  rowlock doctor --database-url sqlite:/var/lib/rowlock/rowlock.db
  ROWLOCK_DATABASE_URL=mysql://rowlock:secret@db:3306/rowlock rowlock doctor
`;

export const doctor: Declare = (command, context) => {
  const toSentence = (message: string) => `This could not be checked. ${message}`;
  onDatabase(command, context, HELP, EXIT.unchecked, toSentence, async (url) => {
    try {
      return await check(url, context);
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "cluster_not_ready")) throw error;
      return report(context, [{ severity: "error", check: "cluster", message: error.message }]);
    }
  });
};

async function check(url: string, context: CliContext): Promise<ExitCode> {
  const { applied, pending, unknown, breaking } = await migrationStatus(url);
  if (applied.length === 0) {
    context.err(
      "There is no Rowlock database here yet: `rowlock serve` or `rowlock migrate up` creates one.\n",
    );
    return EXIT.unchecked;
  }
  if (pending.length + breaking.length > 0) {
    // The other checks rely on the schema.
    return report(context, [
      { severity: "error", check: "schema", message: verdict(pending, unknown, breaking) },
    ]);
  }
  const newer = unknown.length > 0 ? `, ${unknown.length} of a newer server, which this one can use` : "";
  context.out(`ok       schema: ${noneOr(applied.length, "migration")}, none pending${newer}\n`);
  return report(context, await findings(url, context));
}

async function findings(url: string, context: CliContext): Promise<Finding[]> {
  const store = await openStore(url);
  try {
    const durability = await store.checkDurability();
    if (durability.length === 0)
      context.out(`ok       durability: ${store.product} keeps the commits that it has acknowledged\n`);
    const invariants = await store.checkInvariants(FINDINGS_MAX);
    if (invariants.length === 0) context.out("ok       invariants: counters and rows agree\n");
    await listReplicas(store, context);
    return [...durability, ...invariants];
  } finally {
    await store.close();
  }
}

/** Lists the servers in the register. A server that has died stays there until another server finds it. */
async function listReplicas(store: Store, context: CliContext): Promise<void> {
  const { nowUs, replicas } = await store.replicas(REPLICAS_MAX);
  if (replicas.length === 0) context.out("replica  none is registered\n");
  for (const { address, version, sinceUs, deadlineUs } of replicas) {
    const since = new Date(sinceUs / 1_000).toISOString().slice(0, 19).replace("T", " ");
    const silentS = Math.max(0, Math.round((nowUs - deadlineUs + REPLICA_KEPT_US) / 1e6));
    context.out(
      `replica  ${shown(address)}: version ${shown(version)}, since ${since} UTC, last heard of ${silentS} s ago\n`,
    );
  }
}

function report(context: CliContext, found: readonly Finding[]): ExitCode {
  for (const { severity, check, message } of found)
    context.out(`${severity.padEnd(8)} ${check}: ${shown(message)}\n`);
  const errors = found.filter((finding) => finding.severity === "error").length;
  const warnings = found.length - errors;
  context.out(`${noneOr(errors, "error")}, ${noneOr(warnings, "warning")}\n`);
  return errors === 0 ? EXIT.ok : EXIT.failed;
}

/** no errors, 1 error, 2 errors. */
function noneOr(count: number, what: string): string {
  return count === 0 ? `no ${what}s` : counted(count, what);
}

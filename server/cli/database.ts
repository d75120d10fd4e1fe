// The commands that work on a database without a server: `rowlock migrate` updates its schema or shows its state,
// `rowlock doctor` checks it without changing it, and `rowlock restored` records that it was restored from a backup.

import { InvalidArgumentError } from "commander";
import type { Declare } from "../../clients/shell/command.ts";
import { type CliContext, EXIT, type ExitCode } from "../../clients/shell/context.ts";
import { localTime } from "../../clients/shell/past-times.ts";
import { counted, shown } from "../../clients/shell/print.ts";
import { type DatabaseConfig, FILE_KEYS, loadCheckedFiles } from "../config/config.ts";
import type { Reloadable } from "../config/reloaded-files.ts";
import { duration, Refusal } from "../config/setting-kinds.ts";
import { whyTooOld } from "../core/level.ts";
import { firstNumber } from "../core/lock.ts";
import { describeDatabaseUrl, parseDatabaseUrl } from "../storage/database-url.ts";
import { whyNotBeside } from "../storage/fleet.ts";
import { type MigrationStatus, migrateUp, migrationStatus } from "../storage/migrate/migrate.ts";
import { OF_TRIAL } from "../storage/migrate/schema.ts";
import { openStore } from "../storage/open.ts";
import { refuseUnusable } from "../storage/open-ready.ts";
import { ROLLED_BACK, retry } from "../storage/retry.ts";
import type { Finding, Loaded, Store } from "../storage/store.ts";
import { REPLICA_KEPT_US, REPLICAS_MAX, StoreError } from "../storage/store.ts";
import { configInput, onDatabase } from "./settings-options.ts";

const MIGRATE_EXAMPLES = `
Examples:
  rowlock migrate status
  rowlock migrate up --database-url sqlite:/var/lib/rowlock/rowlock.db
  ROWLOCK_DATABASE_URL=mysql://admin:secret@db:3306/rowlock rowlock migrate up
`;

const UP_HELP = `
Safe to repeat, and to run from several places at once: one of them migrates, the others wait.
Servers migrate at start unless they run with --migrate false; then their database user needs no
right to change the schema.

Exit code: 0 if the schema is up to date, 1 if the migration failed.
`;

const STATUS_HELP = `
Changes nothing.

Exit code: 0 if the schema is up to date, 1 if not, 2 if the check failed.
`;

export const migrate: Declare = (command, context) => {
  const { out, err } = context;
  command.addHelpText("after", MIGRATE_EXAMPLES);
  const up = command.createCommand("up").description("apply the pending migrations");
  const status = command.createCommand("status").description("list applied and pending migrations");
  for (const each of [up, status]) command.addCommand(each.copyInheritedSettings(command));

  const upHelp = { help: UP_HELP + MIGRATE_EXAMPLES, failed: EXIT.failed, whatFailed: "" };
  onDatabase(up, context, upHelp, async ({ databaseUrl, databaseLogin: login }) => {
    refuseUnusable(await migrationStatus(databaseUrl, login));
    const ran = await migrateUp(databaseUrl, { log: (message) => err(`${message}\n`), login });
    for (const name of ran) out(`ran ${name}\n`);
    out(ran.length === 0 ? "The schema is up to date already.\n" : "The schema is up to date.\n");
    return EXIT.ok;
  });

  const statusHelp = { help: STATUS_HELP + MIGRATE_EXAMPLES, failed: EXIT.unchecked, whatFailed: "" };
  onDatabase(status, context, statusHelp, async ({ databaseUrl, databaseLogin }) => {
    const found = await migrationStatus(databaseUrl, databaseLogin);
    const { applied, pending, unknown } = found;
    for (const name of applied) out(`${unknown.includes(name) ? "unknown" : "applied"}  ${shown(name)}\n`);
    for (const name of pending) out(`pending  ${name}\n`);
    for (const { address, version, level } of found.fleet.members)
      out(`server   ${shown(address)}: version ${shown(version)}, level ${level}\n`);
    out(`${verdict(found)}\n`);
    return isUsable(found) ? EXIT.ok : EXIT.failed;
  });
};

function isUsable({ pending, breaking, fleet }: MigrationStatus): boolean {
  return pending.length + breaking.length === 0 && whyTooOld(fleet.levelMin) === null;
}

function verdict({ isOfTrial, pending, unknown, breaking, fleet }: MigrationStatus): string {
  if (isOfTrial) return OF_TRIAL;
  const tooOld = whyTooOld(fleet.levelMin);
  if (tooOld !== null) return tooOld;
  const tooNew = whyNotBeside(fleet.members);
  if (tooNew !== null) return tooNew;
  if (breaking.length > 0) return "The schema belongs to a newer version of Rowlock: run that version.";
  if (pending.length > 0) return "The schema is not up to date: run `rowlock migrate up`.";
  if (unknown.length > 0)
    return "The schema belongs to a newer version of Rowlock, but this version can use it.";
  return "The schema is up to date.";
}

/** How often a server renews its entry in the register, and a little more. */
const BEAT_S = 6;

/** More findings of the same kind add nothing new. */
const FINDINGS_MAX = 50;

const DOCTOR_HELP = `
Checks six things:
  cluster     whether the database is still part of its replication group or Galera cluster
  schema      whether this version of Rowlock can use it
  durability  whether the database's settings could lose acknowledged commits
  rights      whether the database user may write what a server writes
  invariants  whether counters and rows agree, no limit is exceeded, and the order is kept

  files       whether a server could use the certificates, keys and tokens that the settings name

and lists the servers that use it: address, version, time of registration, and time since the last
heartbeat. If the database has several addresses, it lists these as well: which one is in use, and
whether the others can be reached and written, and how far they are behind.

It changes nothing. On MySQL and MariaDB it can be run while servers run; an SQLite file is locked by
its server, so stop that server first.

Exit code: 0 if nothing is wrong (warnings aside), 1 if something is, 2 if the check failed.

Examples:
  rowlock doctor
  rowlock doctor --database-url sqlite:/var/lib/rowlock/rowlock.db
  ROWLOCK_DATABASE_URL=mysql://rowlock:secret@db:3306/rowlock rowlock doctor
`;

/** Reasons why the database, or none of its servers, can be used now. */
const NO_MEMBER = ["cluster_not_ready", "no_usable_server"];

export const doctor: Declare = (command, context) => {
  const asked = {
    help: DOCTOR_HELP,
    failed: EXIT.unchecked,
    whatFailed: "This could not be checked. ",
    keys: FILE_KEYS,
  };
  onDatabase(command, context, asked, async (config) => {
    const files = fileFindings(loadCheckedFiles(configInput(command, context)), context);
    try {
      return await check(config, context, files);
    } catch (error) {
      if (error instanceof StoreError && NO_MEMBER.includes(error.reason))
        return report(context, [...files, { severity: "error", check: "cluster", message: error.message }]);
      if (files.length > 0) report(context, files);
      throw error;
    }
  });
};

function fileFindings(groups: readonly Reloadable<unknown>[], context: CliContext): Finding[] {
  return groups.flatMap(({ what, paths, load }) => {
    const loaded = load(context.readFile);
    if ("faults" in loaded)
      return loaded.faults.map((message): Finding => ({ severity: "error", check: "files", message }));
    context.out(`ok       files: ${what} (${paths.map(shown).join(", ")})\n`);
    return [];
  });
}

async function check(
  config: DatabaseConfig,
  context: CliContext,
  files: readonly Finding[],
): Promise<ExitCode> {
  const status = await migrationStatus(config.databaseUrl, config.databaseLogin);
  const { applied, unknown } = status;
  if (applied.length === 0) {
    if (files.length > 0) report(context, files);
    const database = describeDatabaseUrl(parseDatabaseUrl(config.databaseUrl));
    context.err(
      `There is no Rowlock database yet at ${shown(database)}: \`rowlock serve\` or \`rowlock migrate up\` creates one.\n`,
    );
    return EXIT.unchecked;
  }
  // The other checks rely on the schema.
  if (!isUsable(status))
    return report(context, [...files, { severity: "error", check: "schema", message: verdict(status) }]);
  const newer = unknown.length > 0 ? `, ${unknown.length} of a newer server, which this one can use` : "";
  context.out(`ok       schema: ${noneOr(applied.length, "migration")}, none pending${newer}\n`);
  return report(context, [...files, ...(await withStore(config, (store) => findings(store, context)))]);
}

async function withStore<Answer>(
  { databaseUrl, databaseLogin: login }: DatabaseConfig,
  use: (store: Store) => Promise<Answer>,
): Promise<Answer> {
  const store = await openStore(databaseUrl, { login });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function findings(store: Store, context: CliContext): Promise<Finding[]> {
  const durability = await store.checkDurability();
  if (durability.length === 0)
    context.out(`ok       durability: ${store.product} keeps the commits that it has acknowledged\n`);
  const rights = await store.checkRights();
  if (rights.length === 0) context.out("ok       rights: the tables can be written\n");
  const invariants = await store.checkInvariants(FINDINGS_MAX);
  if (invariants.length === 0) context.out("ok       invariants: counters and rows agree\n");
  const replicas = await listReplicas(store, context);
  return [...listServers(store, context), ...replicas, ...durability, ...rights, ...invariants];
}

/** Lists the servers of a database with several addresses. Returns what is wrong with them. */
function listServers(store: Store, context: CliContext): Finding[] {
  const found: Finding[] = [];
  for (const { address, isChosen, isUsable, why, product, behindS } of store.servers()) {
    const state = isChosen ? "in use" : isUsable ? "can be written, not in use" : "not in use";
    const behind = isChosen || behindS === null ? "" : `, ${behindText(behindS)}`;
    context.out(`server   ${address}: ${state}${product === null ? "" : `, ${product}`}${behind}\n`);
    if (why === null) continue;
    if (isUsable || product === null)
      found.push({ severity: "warning", check: "servers", message: `${address}: ${why}` });
    else context.out(`         ${shown(why)}\n`);
  }
  return found;
}

/** Its rows show only the heartbeats of servers, of which there is one every few seconds. */
function behindText(behindS: number): string {
  return behindS <= BEAT_S ? "its rows are up to date" : `its rows are about ${behindS} s behind`;
}

/** Returns what is wrong with the servers in the register. One that died stays there until another one finds it. */
async function listReplicas(store: Store, context: CliContext): Promise<Finding[]> {
  const { nowUs, replicas } = await store.replicas(REPLICAS_MAX);
  if (replicas.length === 0) context.out("replica  none is registered\n");
  for (const { address, version, level, sinceUs, deadlineUs } of replicas) {
    const silentS = Math.max(0, Math.round((nowUs - deadlineUs + REPLICA_KEPT_US) / 1e6));
    context.out(
      `replica  ${shown(address)}: version ${shown(version)}, level ${level}, since ${localTime(new Date(sinceUs / 1_000))}, last heard of ${silentS} s ago\n`,
    );
  }
  // One that has just died was perhaps started again at its address: only those that are heard of count.
  const alive = replicas.filter(({ deadlineUs }) => nowUs - deadlineUs + REPLICA_KEPT_US <= BEAT_S * 1e6);
  return [...Map.groupBy(alive, ({ address }) => address)]
    .filter(([, sharing]) => sharing.length > 1)
    .map(([address, sharing]) => ({
      severity: "warning",
      check: "servers",
      message:
        `${sharing.length} servers say that they are reached at ${address}: the others send their pokes and questions to only ` +
        "one of them. Set ROWLOCK_ADVERTISE of each server to an address of its own.",
    }));
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

const PAUSE = duration("0s", "24d");

const RESTORED_HELP = `
Run it after the restore and before the servers start; on MySQL and MariaDB it can also be run while
servers run. It raises the epoch, so that new fencing tokens are higher than all earlier ones, and
pauses grants. Leases that are in the backup go on.

Set --pause to the longest time to live that any of your programs asks for: leases that are not in
the backup have ended by then. If a lease without end is not in the backup, the server does not know
of it: stop its holder yourself.

Exit code: 0 if the restore was recorded, 1 if not.

Examples:
  rowlock restored --pause 1h
  rowlock restored --pause 30s --database-url sqlite:/var/lib/rowlock/rowlock.db
`;

export const restored: Declare = (command, context) => {
  command.requiredOption(
    "--pause <duration>",
    `how long to pause grants from now on (${PAUSE.bound})`,
    (text) => {
      const pauseMs = PAUSE.read(text);
      if (!(pauseMs instanceof Refusal)) return pauseMs;
      throw new InvalidArgumentError(`write a duration, ${PAUSE.bound}`);
    },
  );
  const asked = { help: RESTORED_HELP, failed: EXIT.failed, whatFailed: "Nothing was recorded. " };
  onDatabase(command, context, asked, async (config) => {
    const { pause } = command.opts<{ pause: number }>();
    refuseUnusable(await migrationStatus(config.databaseUrl, config.databaseLogin));
    await withStore(config, (store) => record(store, pause * 1_000, context));
    return EXIT.ok;
  });
};

async function record(store: Store, pauseUs: number, context: CliContext): Promise<void> {
  const { epoch: seenEpoch } = (await read(store)).failOver;
  await retry(ROLLED_BACK, () =>
    store.failOver({ seenEpoch, epochMin: seenEpoch + 1n, pauseUsMin: pauseUs, pauseUsMax: pauseUs }),
  );
  const { failOver, nowUs } = await read(store);
  const leftS = Math.max(0, Math.ceil((failOver.grantsFromUs - nowUs) / 1e6));
  context.out(
    `epoch    ${seenEpoch} before, ${failOver.epoch} now: the next fencing token is at least ${firstNumber(failOver)}\n`,
  );
  context.out(
    `grants   begin at ${localTime(new Date(failOver.grantsFromUs / 1_000))}, in ${leftS} s; renewals and releases go on\n`,
  );
}

/** Loads the state in a transaction that changes nothing. */
async function read(store: Store): Promise<Loaded> {
  const seen: Loaded[] = [];
  await retry(ROLLED_BACK, () =>
    store.transact({ locks: [], claims: [], requestIds: [], holdersOf: [] }, (loaded) => {
      seen.push(loaded);
      return { locks: [], added: [], changed: [], again: [] };
    }),
  );
  return seen.at(-1) as Loaded;
}

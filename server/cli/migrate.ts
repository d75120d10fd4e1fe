// `rowlock migrate`: updates the schema of the database, or shows its state, without a server.

import type { Command } from "commander";
import { loadDatabaseConfig } from "../config/config.ts";
import { migrateUp, migrationStatus } from "../storage/migrate/migrate.ts";
import { StoreError } from "../storage/store.ts";
import type { CliContext, ExitCode } from "./context.ts";
import { EXIT } from "./context.ts";
import { addSettingOptions, configInput, loadedOrTold } from "./settings-options.ts";
import { shown } from "./shell/print.ts";

const EXAMPLES = `
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

export function addMigrate(migrate: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  migrate.addHelpText("after", EXAMPLES);
  const add = (
    name: string,
    description: string,
    help: string,
    run: (url: string, context: CliContext) => Promise<ExitCode>,
  ) => {
    const command = migrate.command(name).description(description);
    addSettingOptions(command, ["ROWLOCK_CONFIG", "ROWLOCK_DATABASE_URL"]).addHelpText(
      "after",
      help + EXAMPLES,
    );
    command.action(async () => {
      const config = loadedOrTold(loadDatabaseConfig(configInput(command, context)), context);
      exit(config ? await run(config.databaseUrl, context) : EXIT.failed);
    });
  };
  add("up", "apply the pending migrations", UP_HELP, up);
  add("status", "list applied and pending migrations", STATUS_HELP, status);
}

async function up(url: string, context: CliContext): Promise<ExitCode> {
  return await reporting(context, EXIT.failed, async () => {
    const ran = await migrateUp(url, { log: (message) => context.err(`${message}\n`) });
    for (const name of ran) context.out(`ran ${name}\n`);
    context.out(ran.length === 0 ? "The schema is up to date already.\n" : "The schema is up to date.\n");
    return EXIT.ok;
  });
}

async function status(url: string, context: CliContext): Promise<ExitCode> {
  return await reporting(context, EXIT.unchecked, async () => {
    const { applied, pending, unknown, breaking } = await migrationStatus(url);
    for (const name of applied)
      context.out(`${unknown.includes(name) ? "unknown" : "applied"}  ${shown(name)}\n`);
    for (const name of pending) context.out(`pending  ${name}\n`);
    context.out(`${verdict(pending, unknown, breaking)}\n`);
    return pending.length + breaking.length === 0 ? EXIT.ok : EXIT.failed;
  });
}

/** Says what the state of a schema means and what to do about it. */
export function verdict(
  pending: readonly string[],
  unknown: readonly string[],
  breaking: readonly string[],
): string {
  if (breaking.length > 0) {
    return "The schema belongs to a newer version of Rowlock: run that version.";
  }
  if (pending.length > 0) return "The schema is not up to date: run `rowlock migrate up`.";
  if (unknown.length > 0)
    return "The schema belongs to a newer version of Rowlock, but this version can use it.";
  return "The schema is up to date.";
}

/** Prints a StoreError, whose message is meant for an operator; any other error is a bug and is thrown on. */
async function reporting(
  context: CliContext,
  failed: ExitCode,
  run: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    context.err(`${error.message}\n`);
    return failed;
  }
}

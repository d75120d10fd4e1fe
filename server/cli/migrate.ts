// `rowlock migrate`: updates the schema of the database, or shows its state, without a server.

import type { Declare } from "../../clients/shell/command.ts";
import { EXIT } from "../../clients/shell/context.ts";
import { shown } from "../../clients/shell/print.ts";
import { migrateUp, migrationStatus } from "../storage/migrate/migrate.ts";
import { onDatabase } from "./settings-options.ts";

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

export const migrate: Declare = (command, context) => {
  const { out, err } = context;
  command.addHelpText("after", EXAMPLES);
  const up = command.createCommand("up").description("apply the pending migrations");
  const status = command.createCommand("status").description("list applied and pending migrations");
  for (const each of [up, status]) command.addCommand(each.copyInheritedSettings(command));

  onDatabase(up, context, UP_HELP + EXAMPLES, EXIT.failed, asItIs, async (url) => {
    const ran = await migrateUp(url, { log: (message) => err(`${message}\n`) });
    for (const name of ran) out(`ran ${name}\n`);
    out(ran.length === 0 ? "The schema is up to date already.\n" : "The schema is up to date.\n");
    return EXIT.ok;
  });

  onDatabase(status, context, STATUS_HELP + EXAMPLES, EXIT.unchecked, asItIs, async (url) => {
    const { applied, pending, unknown, breaking } = await migrationStatus(url);
    for (const name of applied) out(`${unknown.includes(name) ? "unknown" : "applied"}  ${shown(name)}\n`);
    for (const name of pending) out(`pending  ${name}\n`);
    out(`${verdict(pending, unknown, breaking)}\n`);
    return pending.length + breaking.length === 0 ? EXIT.ok : EXIT.failed;
  });
};

const asItIs = (message: string): string => message;

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

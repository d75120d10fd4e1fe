// `rowlock delete`: deletes a lock's record.

import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseCount } from "./durations.ts";
import { parseName } from "./lock-options.ts";
import { jsonLine } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
Deletes the lock's record, as if it had never had one. Its limit stays, and its fencing tokens go on rising. Refused
while somebody holds the lock or waits for it.
${SERVER_HELP}
Examples:
  rowlock delete task/7
  rowlock delete task/7 --if-version 12
`;

export function addDelete(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<name>", "the lock", parseName)
    .option("--if-version <version>", "only if the record has this version", (text) => parseCount(text))
    .option("--json", "one object");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      const { ifVersion, json } = command.opts<{ ifVersion?: number; json?: true }>();
      exit(
        await withClient(command, context, async (rowlock) => {
          const deleted = await rowlock.deleteLock(name, { ...(ifVersion !== undefined && { ifVersion }) });
          if (json) context.out(jsonLine({ name, deleted }));
          else context.out(deleted ? "Deleted.\n" : "There was no record.\n");
          return EXIT.ok;
        }),
      );
    });
}

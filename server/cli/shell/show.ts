// `rowlock show`: shows one lock, who holds it, and who waits.

import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseName } from "./lock-options.ts";
import { lockPage } from "./lock-page.ts";
import { jsonLine, paintOf } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
Shows up to 100 holders and the first 100 waiters. For a name that nobody has used, it shows the limit that would apply.
${SERVER_HELP}
Examples:
  rowlock show etl/load
  rowlock show etl/load --json | jq '.holders[].owner'
`;

export function addShow(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command.argument("<name>", "the lock", parseName).option("--json", "one object");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      exit(
        await withClient(command, context, async (rowlock) => {
          const lock = await rowlock.getLock(name);
          const { json } = command.opts<{ json?: true }>();
          context.out(json ? jsonLine(lock) : lockPage(lock, Date.now(), paintOf(context)));
          return EXIT.ok;
        }),
      );
    });
}

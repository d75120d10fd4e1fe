// `rowlock renew`: renews a lease that a script has acquired.

import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { told } from "./durations.ts";
import { parseTtl } from "./lock-options.ts";
import { jsonLine, shown } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
The lease lasts for its time to live from now on. A lease that has ended is never revived: then the exit code is ${EXIT.failed},
and the script must stop its work under the lock.
${SERVER_HELP}
Examples:
  rowlock renew "$ROWLOCK_LEASE"
  rowlock renew "$ROWLOCK_LEASE" --ttl 10m
`;

export function addRenew(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<lease>", "its id")
    .option("--ttl <time>", "how long the lease lasts from now (default: its last time to live)", parseTtl)
    .option("--json", "one object");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (leaseId: string) => {
      const { ttl, json } = command.opts<{ ttl?: number; json?: true }>();
      exit(
        await withClient(command, context, async (rowlock) => {
          const renewed = await rowlock.renew(leaseId, ttl === undefined ? {} : { ttl });
          const left = renewed.ttlMs === undefined ? "without end" : `for ${told(renewed.ttlMs)}`;
          context.out(
            json ? jsonLine(renewed) : `${shown(renewed.name)}: held ${left}, with token ${renewed.token}\n`,
          );
          return EXIT.ok;
        }),
      );
    });
}

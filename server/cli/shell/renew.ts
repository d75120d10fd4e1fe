// `rowlock renew`: prolongs a lease that a script has acquired.

import type { Command } from "commander";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseDuration, told } from "./durations.ts";
import { jsonLine } from "./print.ts";
import { addServerOptions, SERVER_HELP, withClient } from "./with-client.ts";

const HELP = `
The lease lasts for its time to live from now on. One that has ended is never revived: then the exit code is ${EXIT.failed}, and the
script must stop what it does under the lock.
${SERVER_HELP}
Examples:
  rowlock renew "$ROWLOCK_LEASE"
  rowlock renew "$ROWLOCK_LEASE" --ttl 10m
`;

export function addRenew(program: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  const command = program
    .command("renew")
    .description("prolong a lease")
    .argument("<lease>", "its id")
    .option("--ttl <time>", "how long from now (default as it was asked for last)", parseDuration)
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
            json ? jsonLine(renewed) : `${renewed.name}: held ${left}, with token ${renewed.token}\n`,
          );
          return EXIT.ok;
        }),
      );
    });
}

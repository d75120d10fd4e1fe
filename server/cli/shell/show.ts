// `rowlock show`: one lock, with who holds it and who waits.

import type { Command } from "commander";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { claimCells, columns, jsonLine, limitWords } from "./print.ts";
import { addServerOptions, SERVER_HELP, withClient } from "./with-client.ts";

const HELP = `
Shows up to 100 who hold the lock, and the first 100 who wait. A name that nobody has used is shown as what would hold
for it.
${SERVER_HELP}
Examples:
  rowlock show etl/load
  rowlock show etl/load --json | jq '.holders[].owner'
`;

export function addShow(program: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  const command = program
    .command("show")
    .description("show one lock: its limit, who holds it, who waits")
    .argument("<name>", "the lock")
    .option("--json", "one object");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      exit(
        await withClient(command, context, async (rowlock) => {
          const lock = await rowlock.getLock(name);
          if (command.opts<{ json?: true }>().json) {
            context.out(jsonLine(lock));
            return EXIT.ok;
          }
          const nowMs = Date.now();
          const draining = lock.draining ? ", draining" : "";
          context.out(
            columns([
              ["name", lock.name],
              ["limit", limitWords(lock.limit)],
              ["held", `${lock.heldPermits} by ${lock.holderCount}${draining}`],
              ["waiting", String(lock.waiting)],
              ["last token", String(lock.lastToken)],
            ]),
          );
          for (const [title, claims] of [
            ["holders", lock.holders],
            ["waiters", lock.waiters],
          ] as const) {
            if (claims.length > 0)
              context.out(`\n${title}\n${columns(claims.map((claim) => claimCells(claim, nowMs)))}`);
          }
          return EXIT.ok;
        }),
      );
    });
}

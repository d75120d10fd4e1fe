// `rowlock acquire`: takes a lock for a script, which renews and releases it by the id that is printed.

import type { Command } from "commander";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { addLockOptions, lockOptions, refusedSentence } from "./lock-options.ts";
import { jsonLine } from "./print.ts";
import { WaitingLine } from "./waiting-line.ts";
import { addServerOptions, SERVER_HELP, withClient } from "./with-client.ts";

const HELP = `
Takes the lock and ends; the lease goes on for its --ttl. Prints what the script needs, for eval. Nobody renews it: ask
for a --ttl that is long enough, or run \`rowlock renew\`. Where you can, use \`rowlock run\`, which does all of that.
${SERVER_HELP}
Exit code: 0 when it was acquired, ${EXIT.notAcquired} when it was not, ${EXIT.noServer} when no server has answered.

Examples:
  eval "$(rowlock acquire etl/load --wait 5m --ttl 10m)" || exit
  ./load.sh --token "$ROWLOCK_TOKEN"
  rowlock release "$ROWLOCK_LEASE"
`;

export function addAcquire(program: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  const command = program
    .command("acquire")
    .description("take a lock in a script, and leave it held")
    .argument("<name>", "the lock")
    .option("--json", "one object");
  addServerOptions(addLockOptions(command))
    .option("-q, --quiet", "do not tell the place in the queue")
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      const { json, quiet } = command.opts<{ json?: true; quiet?: true }>();
      exit(
        await withClient(command, context, async (rowlock) => {
          const line = new WaitingLine(name, context);
          const asked = lockOptions(command);
          const acquired = rowlock.acquire(name, {
            ...asked,
            ...(!quiet && { onPosition: line.at.bind(line) }),
          });
          const { lock, refusal } = await acquired.finally(() => line.clear());
          if (!lock) {
            context.err(`rowlock: ${refusedSentence(name, refusal)}\n`);
            return EXIT.notAcquired;
          }
          const { leaseId, token } = await lock.handOver();
          if (json) context.out(jsonLine({ name, leaseId, token }));
          else
            context.out(
              `ROWLOCK_NAME=${quoted(name)}\nROWLOCK_LEASE=${quoted(leaseId)}\nROWLOCK_TOKEN=${token}\n`,
            );
          return EXIT.ok;
        }),
      );
    });
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// `rowlock acquire`: takes a lock for a script, which renews and releases the lease by the id that this prints.

import { setImmediate } from "node:timers/promises";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { addLockOptions, lockOptions, parseName } from "./lock-options.ts";
import { jsonLine } from "./print.ts";
import { unused } from "./run-under.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { take } from "./take.ts";
import { withClient } from "./with-client.ts";

const HELP = `
Takes the lock and exits; the lease lasts for its --ttl. Prints what the script needs, for eval. Nothing renews the
lease: use a --ttl that is long enough, or run \`rowlock renew\`. If you can, use \`rowlock run\`, which does all of this.
${SERVER_HELP}
Exit code: 0 if the lock was acquired, ${EXIT.notAcquired} if not, ${EXIT.noServer} if no server answered.

Examples:
  eval "$(rowlock acquire etl/load --wait 5m --ttl 10m)" || exit
  ./load.sh --token "$ROWLOCK_TOKEN"
  rowlock release "$ROWLOCK_LEASE"
`;

export function addAcquire(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command.argument("<name>", "the lock", parseName).option("--json", "one object");
  addServerOptions(addLockOptions(command))
    .option("-q, --quiet", "do not print the place in the queue, nor that the lock was not acquired")
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      const { json = false, quiet = false } = command.opts<{ json?: true; quiet?: true }>();
      const asked = lockOptions(command);
      exit(
        await withClient(command, context, (rowlock) =>
          take(rowlock, { name, quiet, ...asked }, context, async (lock, givingUp) => {
            const { leaseId, token } = await lock.handOver();
            if (givingUp.code === undefined) {
              context.out(
                json
                  ? jsonLine({ name, leaseId, token })
                  : `ROWLOCK_NAME=${quoted(name)}\nROWLOCK_LEASE=${quoted(leaseId)}\nROWLOCK_TOKEN=${token}\n`,
              );
              // By the next turn it is known whether anybody reads the output.
              await setImmediate();
              if (!context.outGone.aborted) return EXIT.ok;
            }
            // Nobody has received the lease id, so nobody else can release the lease.
            await rowlock.release(leaseId, unused(asked));
            return givingUp.code ?? EXIT.failed;
          }),
        ),
      );
    });
}

/** Quotes the text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

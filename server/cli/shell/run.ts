// `rowlock run`: a command under a lock.

import type { Lock } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { type Ended, runHeld } from "./held-command.ts";
import { addLockOptions, lockOptions, parseName } from "./lock-options.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { take } from "./take.ts";
import { withClient } from "./with-client.ts";

const TTL_MS = 30_000;
/** How long before the lease can end the command is asked to stop, and when it is killed within that time. */
const MARGIN_SHARE = 1 / 4;
const MARGIN_MS_MAX = 10_000;
const KILL_AT_SHARE = 3 / 4;

const HELP = `
Waits for the lock, runs the command while holding it, and gives it back when the command ends. The lease is renewed
all the time. If it is lost all the same, as no server answers or an operator took it, the command and all that it has
started in its process group is told to stop (SIGTERM) and then killed, before others can have the lock.

The command finds ROWLOCK_NAME, ROWLOCK_LEASE and ROWLOCK_TOKEN, the fencing token, in its environment. Signals are
passed on to it.
${SERVER_HELP}
Exit code: that of the command, or 128 and the number of the signal that has ended it, and otherwise
  ${EXIT.usage}   this command line is wrong
  ${EXIT.noServer}   no server has answered
  ${EXIT.notAcquired}   the lock was not acquired
  ${EXIT.lost}   the lock was lost, and the command was stopped
  ${EXIT.notExecutable}  the command cannot be executed
  ${EXIT.noCommand}  there is no such command

Examples:
  rowlock run nightly --no-wait -- ./nightly.sh
  rowlock run etl/load --wait 10m -- python load.py
  rowlock run pool/gpu --permits 2 -- ./train --epochs 3
`;

export function addRun(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<name>", "the lock", parseName)
    .argument("<command...>", "the command and its arguments, after --");
  addServerOptions(addLockOptions(command))
    .option("-q, --quiet", "do not tell the place in the queue, nor that the lock was not acquired")
    .showHelpAfterError("(the command stands after --; --help says what there is)")
    .addHelpText("after", HELP)
    .action(async (name: string, words: string[]) => {
      const { quiet = false } = command.opts<{ quiet?: true }>();
      const asked = lockOptions(command);
      const ttl = typeof asked.ttl === "number" ? asked.ttl : TTL_MS;
      const margin = Math.min(ttl * MARGIN_SHARE, MARGIN_MS_MAX);
      exit(
        await withClient(command, context, (rowlock) =>
          take(rowlock, { name, quiet, ...asked, ttl, margin }, context, async (lock, givingUp) => {
            // A signal that came with the grant.
            if (givingUp.code !== undefined) throw givingUp.signal.reason;
            // The command's part listens before this one stops to, so that no signal falls between.
            const running = runHeld(words, lock, margin * KILL_AT_SHARE, context);
            givingUp.stop();
            return await codeOf(lock, await running, context);
          }),
        ),
      );
    });
}

async function codeOf(lock: Lock, { code, notStarted }: Ended, context: CliContext): Promise<ExitCode> {
  if (notStarted) context.err(`rowlock: ${notStarted}\n`);
  // Where no server answers it ends by itself, and where it is lost that is not waited for: closing tries it.
  if (lock.state !== "lost") {
    await lock[Symbol.asyncDispose]();
    return code;
  }
  const why = whyLost(lock.signal.reason);
  context.err(`rowlock: The lock "${lock.name}" was lost, and the command was stopped: ${why}\n`);
  return EXIT.lost;
}

function whyLost({ metadata }: { metadata?: Readonly<Record<string, string>> }): string {
  switch (metadata?.end_reason) {
    case "FORCE_RELEASED":
      return "an operator has ended its lease.";
    case "EXPIRED":
      return "its lease could not be renewed in time: no server answered, or this machine slept.";
    case "RELEASED":
      return "somebody who knew its lease has released it.";
    default:
      return "its lease has ended.";
  }
}

// `rowlock run`: runs a command under a lock.

import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { addLockOptions, lockOptions, parseName } from "./lock-options.ts";
import { addOutcomeOptions, outcomeOf } from "./record-options.ts";
import { holdOf, runUnder } from "./run-under.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { take } from "./take.ts";
import { withClient } from "./with-client.ts";

const HELP = `
Waits for the lock, runs the command while holding it, and releases it when the command ends. The lease is renewed all
the time. If it is lost nevertheless, because no server answers or an operator ended it, all processes in the command's
process group are asked to stop (SIGTERM) and then killed, before others can get the lock.

The command finds ROWLOCK_NAME, ROWLOCK_LEASE and ROWLOCK_TOKEN, the fencing token, in its environment. Signals are
passed on to it.

The lock's status can show the result: that of --status-done if the command ends with 0, otherwise that of
--status-failed, which also applies if the lock is lost, unless --status-if-lost sets another one. If the command cannot
be started, the status does not change, and --at-most-every does not count it as a run.
${SERVER_HELP}
Exit code: that of the command, or 128 plus the number of the signal that ended it, and otherwise
  ${EXIT.usage}   this command line is wrong
  ${EXIT.noServer}   no server answered
  ${EXIT.notAcquired}   the lock was not acquired
  ${EXIT.lost}   the lock was lost, and the command was stopped
  ${EXIT.notExecutable}  the command cannot be executed
  ${EXIT.noCommand}  there is no such command

Examples:
  rowlock run nightly --no-wait -- ./nightly.sh
  rowlock run etl/load --wait 10m -- python load.py
  rowlock run report --at-most-every 1h --cool-down-failed 1m --no-wait -- ./report.sh
  rowlock run sync --if-status "" --if-status ok --status-done ok --status-failed failed -- ./sync.sh
  rowlock run pool/gpu --permits 2 -- ./train --epochs 3
`;

export function addRun(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<name>", "the lock", parseName)
    .argument("<command...>", "the command and its arguments, after --");
  addServerOptions(addOutcomeOptions(addLockOptions(command.runsCommand())))
    .option("-q, --quiet", "do not print the place in the queue, nor that the lock was not acquired")
    .showHelpAfterError("(the command follows --; --help lists the options)")
    .addHelpText("after", HELP)
    .action(async (name: string, words: string[]) => {
      const { quiet = false } = command.opts<{ quiet?: true }>();
      const hold = holdOf(lockOptions(command));
      exit(
        await withClient(command, context, (rowlock) =>
          take(rowlock, { name, quiet, ...hold }, context, (lock, givingUp) =>
            runUnder(words, lock, hold, (code) => outcomeOf(command, code), context, givingUp),
          ),
        ),
      );
    });
}

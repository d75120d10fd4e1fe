// `rowlock run`: runs a command under a lock.

import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { holdOf, runUnder } from "./held-command.ts";
import {
  addLockOptions,
  addOutcomeOptions,
  type LockFlags,
  lockOptions,
  type OutcomeFlags,
  outcomeOf,
} from "./lock-options.ts";
import { take } from "./take.ts";
import { parseName } from "./values.ts";

const HELP = `
Waits for the lock, runs the command while holding it, and releases it when the command ends. Until then, it renews the
lease. If the lease is lost, because no server answers or an operator ended it, it asks all processes in the command's
process group to stop (SIGTERM), and then kills them, before others can get the lock.

The command finds ROWLOCK_NAME, ROWLOCK_LEASE and ROWLOCK_TOKEN, the fencing token, in its environment. It gets the
signals that this process gets.

The lock's status can show the result: --status-done if the command ends with 0, and otherwise --status-failed. If the
lock is lost, it is --status-if-lost or else --status-failed. If the command cannot be started, the status does not
change, and --at-most-every does not count it as a run.

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

export const run: Declare = (command, context) => {
  command
    .runsCommand()
    .argument("<name>", "the lock", parseName)
    .argument("<command...>", "the command and its arguments, after --")
    .showHelpAfterError("(the command follows --; --help lists the options)");
  addOutcomeOptions(addLockOptions(command)).asks(
    HELP,
    (flags: LockFlags & OutcomeFlags, name: string, words: string[]) => {
      const hold = holdOf(lockOptions(flags));
      const outcome = (code: number) => outcomeOf(flags, code);
      return (rowlock) =>
        take(rowlock, { name, quiet: flags.quiet, ...hold }, context, (lock, interrupted) =>
          runUnder(words, lock, hold, outcome, context, interrupted),
        );
    },
  );
};

// `rowlock run`, `capture` and `acquire`: take locks for a command, which runs under them, or for a script, which knows
// the leases by the ids that these commands print.

import { setImmediate } from "node:timers/promises";
import { CAPTURE_MAX, FURTHER_LOCKS_MAX } from "../../server/core/bounds.ts";
import type {
  Captured,
  CaptureOptions,
  Lock,
  RecordOptions,
  RowlockClient,
} from "../typescript/src/index.ts";
import { refuseFirstAgain, severalTokens, tokensText } from "./also.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT, type ExitCode, UNDER_LOCK } from "./context.ts";
import {
  addLeaseOptions,
  addLockOptions,
  addOutcomeOptions,
  countParser,
  given,
  type LeaseFlags,
  type LockFlags,
  leaseOptions,
  lockOptions,
  type OutcomeFlags,
  outcomeOf,
  parseOneName,
  parsePrefix,
  parseWait,
  refuseAlso,
} from "./flags.ts";
import { holdOf, runUnder, unused } from "./held-command.ts";
import { jsonLine, said, shellQuoted, shown, timeWords } from "./print.ts";
import { type Interruption, take, unlessInterrupted } from "./take.ts";

const ALSO_HELP = `
--also names further locks, at most ${FURTHER_LOCKS_MAX}: all are taken at once, or none. Each is taken with one permit; write b:permits=2 for
two, and b:shared or b:exclusive to take it as a reader or a writer. --shared, --exclusive and --permits are about the first
lock, whose name and token are in ROWLOCK_NAME and ROWLOCK_TOKEN. ROWLOCK_TOKENS has the tokens of all by name, as JSON.
While this waits for one of them, it holds none, but nobody passes it where it is first: bound it by --wait.
`;

const RUN_HELP = `
Waits for the lock, runs the command while holding it, and releases it when the command ends. Until then, it renews the
lease. If the lease is lost, because no server answers or an operator ended it, it asks all processes in the command's
process group to stop (SIGTERM), and then kills them, before others can get the lock.

Flags of this command stand before the name of the command to run: what follows that name belongs to it. A -- before it
is allowed.

The command finds ROWLOCK_NAME, ROWLOCK_LEASE and ROWLOCK_TOKEN, the fencing token, in its environment. It gets the
signals that this process gets.
${ALSO_HELP}
The lock's status can show the result: --status-done if the command ends with 0, and otherwise --status-failed. If the
lock is lost, it is --status-if-lost or else --status-failed. If the command cannot be started, the status does not
change, and --at-most-every does not count it as a run.

Exit code: that of the command, or 128 plus the number of the signal that ended it, and otherwise
  ${EXIT.usage}   this command line is wrong
  ${EXIT.noServer}   no server answered
  ${EXIT.notAcquired}   the lock was not acquired
  ${EXIT.lost}   the lock was lost, and the command was stopped
  ${EXIT.denied}   the server does not know who asks, or its policy does not allow it
  ${EXIT.notExecutable}  the command cannot be executed
  ${EXIT.noCommand}  there is no such command
  ${EXIT.failed}    the server refused the request as invalid

Examples:
  rowlock run nightly --no-wait -- ./nightly.sh
  rowlock run etl/load --wait 10m -- python load.py
  rowlock run report --at-most-every 50m --cool-down-failed 1m --no-wait -- ./report.sh
  rowlock run sync --if-status "" --if-status ok --status-done ok --status-failed failed -- ./sync.sh
  rowlock run pool/gpu --permits 2 -- ./train --epochs 3
  rowlock run deploy/shop --wait 1h --superseded-ok -- ./deploy.sh
  rowlock run table/orders --also table/prices:shared --also pool/gpu:permits=2 -- ./load.sh
`;

interface RunFlags extends LockFlags, OutcomeFlags {
  readonly supersededOk?: true;
}

export const run: Declare = (command, context) => {
  command
    .argument("<name>", "the lock", parseOneName)
    .argument("<command...>", "the command and its arguments; flags after its name are its own")
    .showHelpAfterError("(the command follows the lock; --help lists the options)");
  addOutcomeOptions(addLockOptions(command))
    .option(
      "--superseded-ok",
      "end with 0 if a newer request takes the place in the queue: it does this work, too",
    )
    .asks(RUN_HELP, (flags: RunFlags, name: string, words: string[]) => {
      refuseFirstAgain(command, name, flags.also);
      const { quiet, supersededOk } = flags;
      const hold = holdOf(lockOptions(flags));
      return (rowlock) =>
        take(rowlock, { name, quiet, supersededOk, ...hold }, context, (lock, interrupted) =>
          runUnder(rowlock, words, lock, hold, outcomeOf(flags), context, interrupted),
        );
    });
};

const CAPTURE_HELP = `
Takes locks that have a record (\`rowlock update\`), are free and due, have attempts left, and have one of the wanted
statuses; those that are longest due come first. Two callers never get the same lock at once.

With a command, it takes one lock, runs the command while holding it, as \`rowlock run\` does, and releases it. The lock's
status is then --status-done if the command ended with 0, and otherwise --status-failed. If the lock is lost, it is
--status-if-lost or else --status-failed. If the command cannot be started, the status does not change.

Without a command, it prints a line for each lock: its name, lease and token, separated by tabs. The leases last for
their --ttl: nothing renews them.

Exit code: as with \`rowlock run\`, or 0 without a command; ${EXIT.notAcquired} if there was nothing to take.

Examples:
  rowlock capture task/ --if-status new --status-done done --status-failed failed -- ./work.sh
  rowlock capture task/ --wait forever --if-status new --if-status failed --status-done done -- ./work.sh
  rowlock capture task/ --count 3 --ttl 10m | while IFS="$(printf '\\t')" read -r name lease token; do
    ./work.sh "$name" && rowlock release "$lease" --status done
  done
`;

interface CaptureFlags extends LeaseFlags, OutcomeFlags {
  readonly count?: number;
  readonly wait?: number | "forever";
  readonly quiet?: true;
  readonly json?: true;
}

export const capture: Declare = (command, context) => {
  refuseAlso(command, "a captured lock is taken alone: only run and acquire take several locks")
    .argument("<prefix>", 'what the names of the locks begin with; "" for all', parsePrefix)
    .argument("[command...]", "the command and its arguments; flags after its name are its own")
    .option(
      "--count <count>",
      "without a command: how many locks to take at most (default 1)",
      countParser(1, CAPTURE_MAX),
    )
    .option("--wait <time>", "how long to wait for the first lock (default: not at all)", parseWait)
    .option("--json", "without a command: one object per line")
    .option("-q, --quiet", "do not report that there was nothing to take");
  addOutcomeOptions(addLeaseOptions(command)).asks(
    CAPTURE_HELP,
    (flags: CaptureFlags, prefix: string, words: string[]) => {
      const { count, wait, statusDone, statusFailed, coolDownFailed, quiet, json } = flags;
      const isRun = words.length > 0;
      if (isRun && (count ?? json) !== undefined)
        command.fault("a command is run under one lock: leave out --count and --json, or the command");
      if (!isRun && (statusDone ?? statusFailed ?? coolDownFailed) !== undefined)
        command.fault(
          "--status-done, --status-failed and --cool-down-failed need a command: add one after the prefix",
        );
      const asked: CaptureOptions = { prefix, ...given({ count, wait }), ...leaseOptions(flags) };
      const hold = holdOf(asked);
      const text = ({ name, leaseId, token }: Lock) =>
        json ? jsonLine({ name, leaseId, token }) : `${shown(name)}\t${leaseId}\t${token}\n`;
      return (rowlock) =>
        unlessInterrupted(context, async (interrupted) => {
          const { signal } = interrupted;
          const captured = await rowlock.capture({ ...(isRun ? hold : asked), signal });
          const { locks } = captured;
          const [first] = locks;
          if (first && isRun)
            return await runUnder(rowlock, words, first, hold, outcomeOf(flags), context, interrupted);
          if (first) return await handOver(locks, asked, text, rowlock, context, interrupted);
          if (!quiet) context.err(nothingSentence(prefix, captured));
          return EXIT.notAcquired;
        });
    },
  );
};

function nothingSentence(prefix: string, { retryAfterMs }: Captured): string {
  const when = retryAfterMs === undefined ? "" : `: there may be one in ${timeWords(retryAfterMs)}`;
  return said(`There is no lock to take under "${prefix}"${when}.`);
}

const ACQUIRE_HELP = `
Takes the lock and exits; the lease lasts for its --ttl. Prints what the script needs, for eval. Nothing renews the
lease: use a --ttl that is long enough, or run \`rowlock renew\`. If you can, use \`rowlock run\`, which does all of this.
${ALSO_HELP}
Exit code: 0 if the lock was acquired, ${EXIT.notAcquired} if not, ${EXIT.noServer} if no server answered.

Examples:
  eval "$(rowlock acquire etl/load --wait 5m --ttl 10m)" || exit
  ./load.sh --token "$ROWLOCK_TOKEN"
  rowlock release "$ROWLOCK_LEASE"
`;

export const acquire: Declare = (command, context) => {
  command.argument("<name>", "the lock", parseOneName).option("--json", "one object");
  addLockOptions(command).asks(
    ACQUIRE_HELP,
    ({ json, quiet, ...flags }: LockFlags & { json?: true }, name: string) => {
      refuseFirstAgain(command, name, flags.also);
      const asked = lockOptions(flags);
      const text = ({ leaseId, token, tokens }: Lock) => {
        if (json) return jsonLine({ name, leaseId, token, ...severalTokens(tokens) });
        const variables = [
          [UNDER_LOCK.name, shellQuoted(name)],
          [UNDER_LOCK.lease, shellQuoted(leaseId)],
          [UNDER_LOCK.token, token],
          [UNDER_LOCK.tokens, shellQuoted(tokensText(tokens))],
        ];
        return variables.map(([variable, value]) => `${variable}=${value}\n`).join("");
      };
      return (rowlock) =>
        take(rowlock, { name, quiet, ...asked }, context, (lock, interrupted) =>
          handOver([lock], asked, text, rowlock, context, interrupted),
        );
    },
  );
};

/**
 * Hands the leases over to the script that reads their ids: all of them, or none if one handover fails, or if nobody
 * reads the output.
 */
async function handOver(
  locks: readonly Lock[],
  asked: RecordOptions,
  text: (lock: Lock) => string,
  rowlock: RowlockClient,
  context: CliContext,
  interrupted: Interruption,
): Promise<ExitCode> {
  // Nobody has received the ids of these leases, so nobody else can release them.
  const giveBack = (leases: readonly Lock[]) =>
    Promise.all(leases.map(({ leaseId }) => rowlock.release(leaseId, unused(asked))));
  const handovers = await Promise.allSettled(locks.map((lock) => lock.handOver()));
  const failed = handovers.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") {
    await giveBack(locks.filter((_, at) => handovers[at]?.status === "fulfilled"));
    throw failed.reason;
  }
  if (interrupted.code === undefined) {
    for (const lock of locks) context.out(text(lock));
    // By the next turn it is known whether anybody reads the output.
    await setImmediate();
    if (!context.outGone.aborted) return EXIT.ok;
  }
  await giveBack(locks);
  return interrupted.code ?? EXIT.failed;
}

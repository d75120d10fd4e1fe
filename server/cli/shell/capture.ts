// `rowlock capture`: takes some of the locks under a prefix: one of them for a command, or several for a script, which
// releases them by the ids that this prints.

import { setImmediate } from "node:timers/promises";
import type { Captured, CaptureOptions, Lock, Rowlock } from "../../../clients/typescript/src/index.ts";
import { CAPTURE_MAX } from "../../core/bounds.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseCount, told } from "./durations.ts";
import { unlessSignalled } from "./giving-up.ts";
import { addLeaseOptions, leaseOptions, parseWait } from "./lock-options.ts";
import { jsonLine, said, shown } from "./print.ts";
import { addOutcomeOptions, outcomeOf } from "./record-options.ts";
import { holdOf, runUnder, unused } from "./run-under.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
Takes locks that have a record (\`rowlock update\`), are free and due, have attempts left, and have one of the wanted
statuses; those that are longest due come first. Two callers never get the same lock at once.

With a command, it takes one lock, runs the command while holding it, as \`rowlock run\` does, and releases it: with the
status of --status-done if the command ends with 0, otherwise with that of --status-failed, which also applies if the lock
is lost, unless --status-if-lost sets another one. If the command cannot be started, the status does not change.

Without a command, it prints a line for each lock: its name, lease and token, separated by tabs. The leases last for
their --ttl: nothing renews them.
${SERVER_HELP}
Exit code: that of the command, as with \`rowlock run\`; without a command 0. ${EXIT.notAcquired} if there was nothing to take.

Examples:
  rowlock capture task/ --if-status new --status-done done --status-failed failed -- ./work.sh
  rowlock capture task/ --wait forever --if-status new --if-status failed --status-done done -- ./work.sh
  rowlock capture task/ --count 3 --ttl 10m | while IFS="$(printf '\\t')" read -r name lease token; do
    ./work.sh "$name" && rowlock release "$lease" --status done
  done
`;

interface Flags {
  readonly count?: number;
  readonly wait?: number | "forever";
  readonly statusDone?: string;
  readonly statusFailed?: string;
  readonly coolDownFailed?: number;
  readonly quiet?: true;
  readonly json?: true;
}

export function addCapture(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<prefix>", 'what the names of the locks begin with; "" for all')
    .argument("[command...]", "the command and its arguments, after --")
    .option("--count <count>", "without a command: how many locks to take at most (default 1)", (text) =>
      parseCount(text, 1, CAPTURE_MAX),
    )
    .option("--wait <time>", "how long to wait for the first lock (default: not at all)", parseWait)
    .option("--json", "without a command: one object per line")
    .option("-q, --quiet", "do not report that there was nothing to take");
  addServerOptions(addOutcomeOptions(addLeaseOptions(command.runsCommand())))
    .addHelpText("after", HELP)
    .action(async (prefix: string, words: string[]) => {
      const { count, wait, statusDone, statusFailed, coolDownFailed, quiet, json }: Flags = command.opts();
      const isRun = words.length > 0;
      if (isRun && (count ?? json) !== undefined)
        command.fault("a command is run under one lock: leave out --count and --json, or the command");
      if (!isRun && (statusDone ?? statusFailed ?? coolDownFailed) !== undefined)
        command.fault(
          "--status-done, --status-failed and --cool-down-failed need a command: add one after --",
        );
      const asked: CaptureOptions = {
        prefix,
        ...(count !== undefined && { count }),
        ...(wait !== undefined && { wait }),
        ...leaseOptions(command),
      };
      const hold = holdOf(asked);
      exit(
        await withClient(command, context, (rowlock) =>
          unlessSignalled(context, async (givingUp) => {
            const captured = await rowlock.capture({ ...(isRun ? hold : asked), signal: givingUp.signal });
            const [first] = captured.locks;
            if (!first) {
              if (!quiet) context.err(nothingSentence(prefix, captured));
              return EXIT.notAcquired;
            }
            if (isRun) {
              const outcome = (code: ExitCode) => outcomeOf(command, code);
              return await runUnder(words, first, hold, outcome, context, givingUp);
            }
            const leases = await handedOver(captured.locks, rowlock, asked);
            if (givingUp.code === undefined && (await isRead(leases, json, context))) return EXIT.ok;
            await giveBack(leases, rowlock, asked);
            return givingUp.code ?? EXIT.failed;
          }),
        ),
      );
    });
}

/** Hands over all of the leases or none: if one handover fails, this releases those handed over, and rejects. */
async function handedOver(
  locks: readonly Lock[],
  rowlock: Rowlock,
  asked: CaptureOptions,
): Promise<readonly Lock[]> {
  const ways = await Promise.allSettled(locks.map((lock) => lock.handOver()));
  const failed = ways.find((way) => way.status === "rejected");
  if (!failed) return locks;
  await giveBack(
    locks.filter((_, at) => ways[at]?.status === "fulfilled"),
    rowlock,
    asked,
  );
  throw failed.reason;
}

/** Prints the leases, and returns whether anybody reads the output. */
async function isRead(leases: readonly Lock[], json: Flags["json"], context: CliContext): Promise<boolean> {
  for (const { name, leaseId, token } of leases)
    context.out(json ? jsonLine({ name, leaseId, token }) : `${shown(name)}\t${leaseId}\t${token}\n`);
  // By the next turn it is known whether anybody reads the output.
  await setImmediate();
  return !context.outGone.aborted;
}

/** Releases leases whose ids nobody has received, so that nobody else can release them. */
async function giveBack(leases: readonly Lock[], rowlock: Rowlock, asked: CaptureOptions): Promise<void> {
  await Promise.all(leases.map(({ leaseId }) => rowlock.release(leaseId, unused(asked))));
}

function nothingSentence(prefix: string, { retryAfterMs }: Captured): string {
  const when = retryAfterMs === undefined ? "" : `: there may be one in ${told(retryAfterMs)}`;
  return said(`There is no lock to take under "${prefix}"${when}.`);
}

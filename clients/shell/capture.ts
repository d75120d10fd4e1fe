// `rowlock capture`: takes some of the locks under a prefix: one of them for a command, or several for a script, which
// releases them by the ids that this prints.

import { CAPTURE_MAX } from "../../server/core/bounds.ts";
import type { Captured, CaptureOptions, Lock } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { EXIT, type ExitCode } from "./context.ts";
import { holdOf, runUnder } from "./held-command.ts";
import { handOver } from "./leases.ts";
import {
  addLeaseOptions,
  addOutcomeOptions,
  type LeaseFlags,
  leaseOptions,
  type OutcomeFlags,
  outcomeOf,
} from "./lock-options.ts";
import { jsonLine, said, shown, timeWords } from "./print.ts";
import { unlessInterrupted } from "./take.ts";
import { countParser, given, parseWait } from "./values.ts";

const HELP = `
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

interface Flags extends LeaseFlags, OutcomeFlags {
  readonly count?: number;
  readonly wait?: number | "forever";
  readonly quiet?: true;
  readonly json?: true;
}

export const capture: Declare = (command, context) => {
  command
    .runsCommand()
    .argument("<prefix>", 'what the names of the locks begin with; "" for all')
    .argument("[command...]", "the command and its arguments, after --")
    .option(
      "--count <count>",
      "without a command: how many locks to take at most (default 1)",
      countParser(1, CAPTURE_MAX),
    )
    .option("--wait <time>", "how long to wait for the first lock (default: not at all)", parseWait)
    .option("--json", "without a command: one object per line")
    .option("-q, --quiet", "do not report that there was nothing to take");
  addOutcomeOptions(addLeaseOptions(command)).asks(HELP, (flags: Flags, prefix: string, words: string[]) => {
    const { count, wait, statusDone, statusFailed, coolDownFailed, quiet, json } = flags;
    const isRun = words.length > 0;
    if (isRun && (count ?? json) !== undefined)
      command.fault("a command is run under one lock: leave out --count and --json, or the command");
    if (!isRun && (statusDone ?? statusFailed ?? coolDownFailed) !== undefined)
      command.fault("--status-done, --status-failed and --cool-down-failed need a command: add one after --");
    const asked: CaptureOptions = { prefix, ...given({ count, wait }), ...leaseOptions(flags) };
    const hold = holdOf(asked);
    const outcome = (code: ExitCode) => outcomeOf(flags, code);
    const text = ({ name, leaseId, token }: Lock) =>
      json ? jsonLine({ name, leaseId, token }) : `${shown(name)}\t${leaseId}\t${token}\n`;
    return (rowlock) =>
      unlessInterrupted(context, async (interrupted) => {
        const { signal } = interrupted;
        const captured = await rowlock.capture({ ...(isRun ? hold : asked), signal });
        const { locks } = captured;
        const [first] = locks;
        if (first && isRun) return await runUnder(words, first, hold, outcome, context, interrupted);
        if (first) return await handOver(locks, asked, text, rowlock, context, interrupted);
        if (!quiet) context.err(nothingSentence(prefix, captured));
        return EXIT.notAcquired;
      });
  });
};

function nothingSentence(prefix: string, { retryAfterMs }: Captured): string {
  const when = retryAfterMs === undefined ? "" : `: there may be one in ${timeWords(retryAfterMs)}`;
  return said(`There is no lock to take under "${prefix}"${when}.`);
}

// `rowlock run`: a command under a lock.

import type { Command } from "commander";
import type { Rowlock } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { runHeld } from "./held-command.ts";
import { addLockOptions, lockOptions, refusedSentence } from "./lock-options.ts";
import { WaitingLine } from "./waiting-line.ts";
import { addServerOptions, SERVER_HELP, withClient } from "./with-client.ts";

const TTL_MS = 30_000;
/** How long before the lease can end the command is asked to stop, and when it is killed within that time. */
const MARGIN_SHARE = 1 / 4;
const MARGIN_MS_MAX = 10_000;
const KILL_AT_SHARE = 3 / 4;
/** Signals that end a wait. */
const GIVE_UP: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

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

export function addRun(program: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  const command = program
    .command("run")
    .description("run a command while holding a lock")
    .argument("<name>", "the lock")
    .argument("<command...>", "the command and its arguments, after --");
  addServerOptions(addLockOptions(command))
    .option("-q, --quiet", "do not tell the place in the queue")
    .addHelpText("after", HELP)
    .action(async (name: string, words: string[]) => {
      exit(await withClient(command, context, (rowlock) => run(rowlock, name, words, command, context)));
    });
}

async function run(
  rowlock: Rowlock,
  name: string,
  words: readonly string[],
  command: Command,
  context: CliContext,
): Promise<ExitCode> {
  const asked = lockOptions(command);
  const ttl = typeof asked.ttl === "number" ? asked.ttl : TTL_MS;
  const margin = Math.min(ttl * MARGIN_SHARE, MARGIN_MS_MAX);
  const giveUp = new AbortController();
  let signalled: string | undefined;
  const silence = Object.keys(GIVE_UP).map((signal) =>
    context.onSignal(signal as NodeJS.Signals, () => {
      signalled ??= signal;
      giveUp.abort();
    }),
  );
  const line = new WaitingLine(name, context);
  const onPosition = command.opts<{ quiet?: true }>().quiet ? {} : { onPosition: line.at.bind(line) };
  try {
    const acquired = rowlock.acquire(name, { ...asked, ttl, margin, signal: giveUp.signal, ...onPosition });
    const { lock, refusal } = await acquired.finally(() => line.clear());
    if (!lock) {
      context.err(`rowlock: ${refusedSentence(name, refusal)}\n`);
      return EXIT.notAcquired;
    }
    // A signal that came with the grant.
    if (signalled) throw giveUp.signal.reason;
    // The command's part listens before this one stops to, so that no signal falls between.
    const running = runHeld(words, lock, margin * KILL_AT_SHARE, context);
    for (const off of silence.splice(0)) off();
    const { code, notStarted } = await running;
    if (notStarted) context.err(`rowlock: ${notStarted}\n`);
    const isLost = lock.state === "lost";
    // Where no server answers it ends by itself, and where it is lost that is not waited for: closing tries it.
    if (!isLost) {
      await lock[Symbol.asyncDispose]();
      return code;
    }
    context.err(
      `rowlock: The lock "${name}" was lost, and the command was stopped: ${whyLost(lock.signal.reason)}\n`,
    );
    return EXIT.lost;
  } catch (error) {
    if (signalled && error === giveUp.signal.reason) return 128 + (GIVE_UP[signalled] ?? 0);
    throw error;
  } finally {
    for (const off of silence) off();
  }
}

function whyLost({ metadata }: { metadata?: Readonly<Record<string, string>> }): string {
  switch (metadata?.end_reason) {
    case "FORCE_RELEASED":
      return "an operator has ended its lease.";
    case "EXPIRED":
      return "its lease could not be renewed in time.";
    case "RELEASED":
      return "somebody who knew its lease has released it.";
    default:
      return "its lease has ended.";
  }
}

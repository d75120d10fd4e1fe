// `rowlock release`: releases a lease by its id, or ends the leases of others by force.

import type { ReleaseOptions, Rowlock } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseCount } from "./durations.ts";
import { jsonLine, shown } from "./print.ts";
import { parseAttempts, parseDelay, parseStatus } from "./record-options.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
With --force it takes the name of a lock, ends all who hold it, or the one --ticket that \`rowlock show\` has named, and
lets the next have it. The holders are not asked: make sure that they have stopped, or that what the lock protects looks
at fencing tokens.

--status, --cool-down and --attempts say what the lock remembers. They are written as the lease ends: one that had ended
before changes nothing, and the command fails.
${SERVER_HELP}
Examples:
  rowlock release "$ROWLOCK_LEASE"
  rowlock release "$ROWLOCK_LEASE" --status done --cool-down 1h
  rowlock release etl/load --force --reason "its host is dead"
  rowlock release etl/load --force --ticket 17 --reason "stuck since noon"
`;

interface Flags {
  readonly force?: true;
  readonly reason?: string;
  readonly ticket?: number;
  readonly status?: string;
  readonly coolDown?: number;
  readonly attempts?: number;
  readonly json?: true;
}

export function addRelease(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<lease>", "its id; with --force, the name of the lock")
    .option("--force", "end all who hold the lock of this name")
    .option("--ticket <number>", "with --force: only this one", (text) => parseCount(text, 1))
    .option("--reason <text>", "with --force: why; it is kept and logged")
    .option("--status <word>", "the lock's status from now on", parseStatus)
    .option(
      "--cool-down <time>",
      "it is not due for so long; 0: at once, whatever --at-most-every said",
      parseDelay,
    )
    .option("--attempts <count>", "how many more times it may be granted", parseAttempts)
    .option("--json", "one object a line");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (which: string) => {
      const flags: Flags = command.opts();
      if (flags.force && flags.reason === undefined)
        command.fault("--force needs a --reason, for those who ask what has happened");
      if (!flags.force && (flags.reason ?? flags.ticket) !== undefined)
        command.fault("--reason and --ticket belong to --force");
      const said = lastWordsOf(flags);
      const says = Object.keys(said).length > 0;
      if (flags.force && says)
        command.fault("--status, --cool-down and --attempts are said by who holds it, without --force");
      exit(
        await withClient(command, context, async (rowlock) => {
          if (flags.force) return await force(rowlock, which, flags, context);
          const released = await rowlock.release(which, said);
          if (flags.json) context.out(jsonLine({ leaseId: which, released }));
          else context.out(released ? "Released.\n" : "It had ended before.\n");
          return released || !says ? EXIT.ok : EXIT.failed;
        }),
      );
    });
}

function lastWordsOf({ status, coolDown, attempts }: Flags): ReleaseOptions {
  return {
    ...(status !== undefined && { status }),
    ...(coolDown !== undefined && { coolDown }),
    ...(attempts !== undefined && { attemptsLeft: attempts }),
  };
}

async function force(
  rowlock: Rowlock,
  name: string,
  { ticket, reason = "", json }: Flags,
  context: CliContext,
): Promise<ExitCode> {
  const target = { name, ...(ticket !== undefined && { ticketNumber: BigInt(ticket) }) };
  const { ended, remaining } = await rowlock.forceRelease(target, reason);
  for (const claim of ended) {
    const { ticketNumber, owner, state } = claim;
    if (json) context.out(jsonLine(claim));
    else
      context.out(
        `${shown(name)}: ended #${ticketNumber} of ${shown(owner)}, which ${state === "held" ? "held it" : "waited"}\n`,
      );
  }
  if (ended.length === 0 && !json) context.out(`${shown(name)}: there was nothing to end.\n`);
  if (remaining > 0) context.err(`rowlock: ${remaining} holders are left: run it again.\n`);
  return EXIT.ok;
}

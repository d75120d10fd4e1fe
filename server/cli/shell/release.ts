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
With --force, the argument is the name of a lock. This ends the leases of all its holders, or only the claim with the
--ticket that \`rowlock show\` prints, and grants the lock to the next waiters. The holders are not asked: make sure that
they have stopped, or that the protected resource checks fencing tokens.

--status, --cool-down and --attempts set the lock's record when the lease ends. If the lease had ended before, nothing
changes, and the command fails.
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
    .argument("<lease>", "the lease's id; with --force, the name of the lock")
    .option("--force", "end the leases of all holders of the lock with this name")
    .option("--ticket <number>", "with --force: end only the claim with this number", (text) =>
      parseCount(text, 1),
    )
    .option("--reason <text>", "with --force: why; recorded and logged")
    .option("--status <word>", "the lock's status from now on", parseStatus)
    .option(
      "--cool-down <time>",
      "how long the lock is not due; 0: due at once, whatever --at-most-every said",
      parseDelay,
    )
    .option("--attempts <count>", "how many more times the lock may be granted", parseAttempts)
    .option("--json", "one object per line");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (which: string) => {
      const flags: Flags = command.opts();
      if (flags.force && flags.reason === undefined)
        command.fault("--force needs a --reason: add why you end the lease");
      if (!flags.force && (flags.reason ?? flags.ticket) !== undefined)
        command.fault("--reason and --ticket need --force");
      const said = lastWordsOf(flags);
      const says = Object.keys(said).length > 0;
      if (flags.force && says)
        command.fault(
          "--status, --cool-down and --attempts do not go with --force: only a holder sets them, when it releases its lease",
        );
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

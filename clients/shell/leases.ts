// `rowlock renew` and `release`: leases for scripts, which know them by the ids that `rowlock acquire` and
// `capture` print; and how an operator ends the leases of others.

import type { RowlockClient } from "../typescript/src/index.ts";
import { alsoWords, othersOf, severalTokens } from "./also.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { countParser, given, parseAttempts, parseDelay, parseStatus, parseTtl } from "./flags.ts";
import { jsonLine, shown, timeWords } from "./print.ts";

const RENEW_HELP = `
The lease lasts for its time to live from now on. A lease that has ended is never revived: then the exit code is ${EXIT.failed},
and the script must stop its work under the lock.

Examples:
  rowlock renew "$ROWLOCK_LEASE"
  rowlock renew "$ROWLOCK_LEASE" --ttl 10m
`;

export const renew: Declare = (command, context) =>
  command
    .argument("<lease>", "its id")
    .option("--ttl <time>", "how long the lease lasts from now (default: its last time to live)", parseTtl)
    .option("--json", "one object")
    .asks(RENEW_HELP, ({ ttl, json }: { ttl?: number; json?: true }, leaseId: string) => async (rowlock) => {
      const { tokens, ...renewed } = await rowlock.renew(leaseId, given({ ttl }));
      const [, ...others] = tokens;
      const also = others.map(([name, token]) => `, and ${shown(name)} with ${token}`).join("");
      const left = renewed.ttlMs === undefined ? "without end" : `for ${timeWords(renewed.ttlMs)}`;
      const words = `${shown(renewed.name)}: held ${left}, with token ${renewed.token}${also}\n`;
      context.out(json ? jsonLine({ ...renewed, ...severalTokens(tokens) }) : words);
      return EXIT.ok;
    });

const RELEASE_HELP = `
With --force, the argument is the name of a lock. This ends the leases of all its holders, or only the claim with the
--ticket that \`rowlock show\` prints, and grants the lock to the next waiters. The holders are not asked: make sure that
they have stopped, or that the protected resource checks fencing tokens.

--status, --cool-down and --attempts set the lock's record when the lease ends. If the lease had already ended,
nothing changes, and the command fails.

Examples:
  rowlock release "$ROWLOCK_LEASE"
  rowlock release "$ROWLOCK_LEASE" --status done --cool-down 1h
  rowlock release etl/load --force --reason "its host is dead"
  rowlock release etl/load --force --ticket 17 --reason "stuck since noon"
`;

interface ReleaseFlags {
  readonly force?: true;
  readonly reason?: string;
  readonly ticket?: number;
  readonly status?: string;
  readonly coolDown?: number;
  readonly attempts?: number;
  readonly json?: true;
}

export const release: Declare = (command, context) =>
  command
    .argument("<lease>", "the lease's id; with --force, the name of the lock")
    .option("--force", "end the leases of all holders of the lock with this name")
    .option("--ticket <number>", "with --force: end only the claim with this number", countParser(1))
    .option("--reason <text>", "with --force: why; recorded and logged")
    .option("--status <word>", "the lock's status from now on", parseStatus)
    .option("--cool-down <time>", "minimum time to the next grant; overrides --at-most-every", parseDelay)
    .option("--attempts <count>", "how many more times the lock may be granted", parseAttempts)
    .option("--json", "one object per line")
    .asks(RELEASE_HELP, (flags: ReleaseFlags, which: string) => {
      const { force, reason, ticket, status, coolDown, attempts: attemptsLeft, json } = flags;
      if (force && reason === undefined) command.fault("--force needs a --reason: add why you end the lease");
      if (!force && (reason ?? ticket) !== undefined) command.fault("--reason and --ticket need --force");
      const record = given({ status, coolDown, attemptsLeft });
      const isRecorded = Object.keys(record).length > 0;
      if (force && isRecorded)
        command.fault(
          "--status, --cool-down and --attempts cannot be combined with --force: only a holder sets them, when it releases its lease",
        );
      return async (rowlock) => {
        if (force) return await forceRelease(rowlock, which, flags, context);
        const released = await rowlock.release(which, record);
        if (json) context.out(jsonLine({ leaseId: which, released }));
        else context.out(released ? "Released.\n" : "The lease had already ended.\n");
        return released || !isRecorded ? EXIT.ok : EXIT.failed;
      };
    });

async function forceRelease(
  rowlock: RowlockClient,
  name: string,
  { ticket, reason = "", json }: ReleaseFlags,
  { out, err }: CliContext,
): Promise<ExitCode> {
  const target = { name, ...(ticket !== undefined && { ticketNumber: BigInt(ticket) }) };
  const { ended, remaining } = await rowlock.forceRelease(target, reason);
  for (const claim of ended) {
    const { ticketNumber, owner, grantedAt } = claim;
    const did = grantedAt ? "held it" : "waited";
    const line = `${shown(name)}: ended #${ticketNumber} of ${shown(owner)}${alsoWords(othersOf(claim))}, which ${did}\n`;
    out(json ? jsonLine(claim) : line);
  }
  if (ended.length === 0 && !json) out(`${shown(name)}: there was nothing to end.\n`);
  if (remaining > 0) err(`rowlock: ${remaining} holders are left: run it again.\n`);
  return EXIT.ok;
}

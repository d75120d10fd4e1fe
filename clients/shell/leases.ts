// `rowlock acquire`, `renew` and `release`: leases for scripts, which know them by the ids that these commands print;
// and how an operator ends the leases of others.

import { setImmediate } from "node:timers/promises";
import type { Lock, RecordOptions, RowlockClient } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT, type ExitCode, UNDER_LOCK } from "./context.ts";
import { unused } from "./held-command.ts";
import { addLockOptions, type LockFlags, lockOptions } from "./lock-options.ts";
import { jsonLine, shown, timeWords } from "./print.ts";
import { type Interruption, take } from "./take.ts";
import { countParser, given, parseAttempts, parseDelay, parseName, parseStatus, parseTtl } from "./values.ts";

const ACQUIRE_HELP = `
Takes the lock and exits; the lease lasts for its --ttl. Prints what the script needs, for eval. Nothing renews the
lease: use a --ttl that is long enough, or run \`rowlock renew\`. If you can, use \`rowlock run\`, which does all of this.

Exit code: 0 if the lock was acquired, ${EXIT.notAcquired} if not, ${EXIT.noServer} if no server answered.

Examples:
  eval "$(rowlock acquire etl/load --wait 5m --ttl 10m)" || exit
  ./load.sh --token "$ROWLOCK_TOKEN"
  rowlock release "$ROWLOCK_LEASE"
`;

export const acquire: Declare = (command, context) => {
  command.argument("<name>", "the lock", parseName).option("--json", "one object");
  addLockOptions(command).asks(
    ACQUIRE_HELP,
    ({ json, quiet, ...flags }: LockFlags & { json?: true }, name: string) => {
      const asked = lockOptions(flags);
      const text = ({ leaseId, token }: Lock) =>
        json
          ? jsonLine({ name, leaseId, token })
          : `${UNDER_LOCK.name}=${quoted(name)}\n${UNDER_LOCK.lease}=${quoted(leaseId)}\n${UNDER_LOCK.token}=${token}\n`;
      return (rowlock) =>
        take(rowlock, { name, quiet, ...asked }, context, (lock, interrupted) =>
          handOver([lock], asked, text, rowlock, context, interrupted),
        );
    },
  );
};

/** Quotes the text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Hands the leases over to the script that reads their ids: all of them, or none if one handover fails, or if nobody
 * reads the output.
 */
export async function handOver(
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
      const renewed = await rowlock.renew(leaseId, given({ ttl }));
      const left = renewed.ttlMs === undefined ? "without end" : `for ${timeWords(renewed.ttlMs)}`;
      const words = `${shown(renewed.name)}: held ${left}, with token ${renewed.token}\n`;
      context.out(json ? jsonLine(renewed) : words);
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
      const { force, reason, ticket, json } = flags;
      if (force && reason === undefined) command.fault("--force needs a --reason: add why you end the lease");
      if (!force && (reason ?? ticket) !== undefined) command.fault("--reason and --ticket need --force");
      const record = given({
        status: flags.status,
        coolDown: flags.coolDown,
        attemptsLeft: flags.attempts,
      });
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
    const { ticketNumber, owner, state } = claim;
    const did = state === "held" ? "held it" : "waited";
    out(json ? jsonLine(claim) : `${shown(name)}: ended #${ticketNumber} of ${shown(owner)}, which ${did}\n`);
  }
  if (ended.length === 0 && !json) out(`${shown(name)}: there was nothing to end.\n`);
  if (remaining > 0) err(`rowlock: ${remaining} holders are left: run it again.\n`);
  return EXIT.ok;
}

// `rowlock retry`: makes tasks due again that have failed, many at once.

import { ATTEMPTS_MAX } from "../../server/core/bounds.ts";
import {
  type LockView,
  type RecordChanges,
  type RowlockClient,
  RowlockError,
} from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { addStatus, countParser, parseStatus } from "./flags.ts";
import { counted, ERASE_LINE, jsonLine, shown } from "./print.ts";
import { watchedOf } from "./watched-locks.ts";

const MAX = 1_000;
const MAX_MAX = 1_000_000;
const PAGE_SIZE = 1_000;
/** Changes that are on their way at a time. */
const AT_ONCE = 16;

const HELP = `
Makes the locks under a prefix that are in a status due at once, and gives them another one. Those without attempts get one, or as many as
--attempts says. A lock that somebody holds is left alone, and so is one that changes meanwhile, so the command may be repeated.

Examples:
  rowlock retry 'jobs/mail-*' --if-status failed --status new
  rowlock retry jobs/ --if-status failed --status new --attempts 3 --dry-run
  rowlock retry jobs/ --exhausted --status new --reason "the bucket is back"
`;

interface RetryFlags {
  readonly ifStatus?: readonly string[];
  readonly exhausted?: true;
  readonly status?: string;
  readonly attempts?: number;
  readonly max: number;
  readonly reason?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

interface Done {
  retried: number;
  held: number;
  changed: number;
  hasMore: boolean;
}

export const retry: Declare = (command, context) =>
  command
    .argument("<prefix>", "a prefix that ends in / or *")
    .option("--if-status <word>", "only locks in this status; may be repeated", addStatus)
    .option("--exhausted", "only locks without attempts")
    .option("--status <word>", "the status that they get (default: the empty one)", parseStatus)
    .option("--attempts <count>", "how often they may be granted from now on", countParser(1, ATTEMPTS_MAX))
    .option("--max <count>", "how many at most", countParser(1, MAX_MAX), MAX)
    .option("--reason <text>", "why; `rowlock history --changes` shows it")
    .option("--dry-run", "only say how many")
    .option("--json", "one object")
    .asks(HELP, (flags: RetryFlags, text: string) => {
      const which = watchedOf(text);
      if (!("prefix" in which))
        command.fault(`"${text}" is one lock: write a prefix such as ${text}/ or '${text}*'`);
      if (!flags.ifStatus && !flags.exhausted)
        command.fault("say which: --if-status failed, or --exhausted, or both");
      return async (rowlock) => {
        const prefix = "prefix" in which ? which.prefix : text;
        const done = await retryAll(rowlock, prefix, flags, context);
        context.out(flags.json ? jsonLine({ ...done, dryRun: flags.dryRun ?? false }) : words(done, flags));
        return EXIT.ok;
      };
    });

async function retryAll(
  rowlock: Pick<RowlockClient, "listLocks" | "updateRecord">,
  prefix: string,
  flags: RetryFlags,
  { err, errIsTerminal }: CliContext,
): Promise<Done> {
  const done: Done = { retried: 0, held: 0, changed: 0, hasMore: false };
  // All are found first: a lock that has been changed stands elsewhere in the listing.
  const found: LockView[] = [];
  const asked = { prefix, pageSize: PAGE_SIZE, exhaustedOnly: flags.exhausted ?? false };
  for await (const lock of rowlock.listLocks({ ...asked, status: flags.ifStatus ?? [] })) {
    if (lock.holderCount > 0) done.held += 1;
    else if (found.length < flags.max) found.push(lock);
    else {
      done.hasMore = true;
      break;
    }
  }
  if (flags.dryRun) return { ...done, retried: found.length };
  const left = found.values();
  const worker = async () => {
    for (const lock of left) {
      done[await changed(rowlock, lock, flags)] += 1;
      if (errIsTerminal) err(`${ERASE_LINE}${done.retried} of ${found.length}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (errIsTerminal && found.length > 0) err(ERASE_LINE);
  return done;
}

async function changed(
  rowlock: Pick<RowlockClient, "updateRecord">,
  { name, record }: LockView,
  { status = "", attempts, reason }: RetryFlags,
): Promise<"retried" | "changed"> {
  const attemptsLeft = attempts ?? (record?.attemptsLeft === 0 ? 1 : undefined);
  const changes: RecordChanges = {
    status,
    notBefore: null,
    ifVersion: record?.version ?? 0,
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    ...(reason !== undefined && { reason }),
  };
  try {
    await rowlock.updateRecord(name, changes);
    return "retried";
  } catch (error) {
    if (error instanceof RowlockError && error.reason === "VERSION_MISMATCH") return "changed";
    throw error;
  }
}

function words(
  { retried, held, changed: meanwhile, hasMore }: Done,
  { dryRun, status = "" }: RetryFlags,
): string {
  const what = `${counted(retried, "lock")} due${status === "" ? "" : `, in the status ${shown(status)}`}`;
  return [
    dryRun ? `Would make ${what}.` : `Made ${what}.`,
    ...(held > 0 ? [`Left ${held} alone that somebody holds.`] : []),
    ...(meanwhile > 0 ? [`Left ${meanwhile} alone that changed meanwhile.`] : []),
    ...(hasMore ? ["There are more: repeat it, or raise --max."] : []),
    "",
  ].join("\n");
}

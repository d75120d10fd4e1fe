// `rowlock ls` and `show`: list locks, and show one of them.

import { Option } from "commander";
import type { ClaimView, LockView, RowlockClient } from "../typescript/src/index.ts";
import { claimTable } from "./claim-views.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { addLabel, addStatus, given, parseName, timeParser } from "./flags.ts";
import { isBusy, LOCK_ORDERS, type LockOrder } from "./lock-orders.ts";
import { lockPage, lockTable } from "./lock-views.ts";
import { ifServed } from "./newer-verbs.ts";
import { jsonLine, paintOf, shellQuoted } from "./print.ts";
import { type Watched, watchedOf } from "./watched-locks.ts";

const PAGE_SIZE = 1_000;
const CLAIM_FLAGS = ["owner", "principal", "label", "olderThan"];

const LS_HELP = `
Shows all locks, a lock by its name, or, for a prefix that ends in / or *, those whose names begin with it. The server forgets a lock some time after its last use,
unless the lock has a record or its own limit was ever set.

With --owner, --principal, --label or --older-than it lists holders and waiters instead of locks.

Examples:
  rowlock ls
  rowlock ls etl/ --busy
  rowlock ls 'etl/lo*'
  rowlock ls --order longest-wait --json
  rowlock ls task/ --status failed
  rowlock ls task/ --exhausted
  rowlock ls --owner nightly
  rowlock ls etl/ --label team=data --older-than 10m
`;

interface LsFlags extends ClaimFlags {
  readonly busy?: true;
  readonly status?: readonly string[];
  readonly exhausted?: true;
  readonly order?: LockOrder;
  readonly json?: true;
}

/** Flags that list claims instead of locks. */
interface ClaimFlags {
  readonly owner?: string;
  readonly principal?: string;
  readonly label?: Record<string, string>;
  readonly olderThan?: number;
}

export const ls: Declare = (command, context) =>
  command
    .argument("[name]", "a lock, or a prefix that ends in / or *", "")
    .option("--busy", "only locks that are held or waited for")
    .addOption(
      new Option("--order <order>", "which locks come first (default name)").choices(
        Object.keys(LOCK_ORDERS),
      ),
    )
    .option("--status <word>", "only locks whose records have this status; may be repeated", addStatus)
    .option("--exhausted", "only locks whose records have no attempts left")
    .option("--owner <text>", "holders and waiters with this owner")
    .option("--principal <name>", "holders and waiters that are this verified caller")
    .option("--label <key=value>", "holders and waiters with this label; may be repeated", addLabel)
    .option("--older-than <time>", "holders that have held a lock for longer", timeParser(0))
    .option("--json", "one object per line")
    .asks(LS_HELP, ({ busy, order, status, exhausted, json, ...flags }: LsFlags, text: string) => {
      const which = watchedOf(text);
      const isOfRecords = (status ?? exhausted) !== undefined;
      if (isOfRecords && ((busy ?? order) !== undefined || "name" in which))
        command.fault(
          "--status and --exhausted list the locks under a prefix in an order of their own: write a prefix such as task/, and leave --busy and --order out",
        );
      if (Object.keys(flags).some((flag) => CLAIM_FLAGS.includes(flag))) {
        if ((busy ?? order ?? status ?? exhausted) !== undefined)
          command.fault(
            "--busy, --order, --status and --exhausted are about locks, and --owner, --principal, --label and --older-than list holders and waiters: leave some of them out",
          );
        return (rowlock) => ifServed(rowlock, context, () => lsClaims(rowlock, which, flags, json, context));
      }
      return async (rowlock) => {
        const locks: LockView[] = [];
        const found = isOfRecords
          ? rowlock.listLocks({
              ...{ prefix: "prefix" in which ? which.prefix : text, pageSize: PAGE_SIZE },
              ...{ status: status ?? [], exhaustedOnly: exhausted ?? false },
            })
          : locksOf(rowlock, which, busy ?? false, order ?? "name");
        for await (const lock of found) {
          if (json) context.out(jsonLine(lock));
          else locks.push(lock);
        }
        if (json) return EXIT.ok;
        context.out(lockTable(locks, Date.now(), paintOf(context), order));
        if (locks.length === 0 && "name" in which)
          context.out(`To list all whose names begin like this: rowlock ls ${shellQuoted(`${text}*`)}\n`);
        return EXIT.ok;
      };
    });

async function* locksOf(rowlock: RowlockClient, which: Watched, busyOnly: boolean, order: LockOrder) {
  if ("prefix" in which) {
    yield* rowlock.listLocks({ ...which, busyOnly, order: LOCK_ORDERS[order].asked, pageSize: PAGE_SIZE });
    return;
  }
  // By name, it comes before all longer ones.
  for await (const lock of rowlock.listLocks({ prefix: which.name, order: "name", pageSize: 1 })) {
    if (lock.name === which.name && (!busyOnly || isBusy(lock))) yield lock;
    return;
  }
}

async function lsClaims(
  rowlock: RowlockClient,
  which: Watched,
  { owner, principal, label, olderThan }: ClaimFlags,
  json: true | undefined,
  context: CliContext,
): Promise<ExitCode> {
  const states: ClaimView["state"][] = olderThan === undefined ? ["held", "waiting"] : ["held"];
  const asked = { ...which, states, pageSize: PAGE_SIZE, ...given({ owner, principal, labels: label }) };
  const claims: ClaimView[] = [];
  for await (const claim of rowlock.listClaims(asked)) {
    const heldMs = Date.now() - (claim.grantedAt?.getTime() ?? Number.POSITIVE_INFINITY);
    if (olderThan !== undefined && heldMs < olderThan) continue;
    if (json) context.out(jsonLine(claim));
    else claims.push(claim);
  }
  if (json) return EXIT.ok;
  const options = { isOfOne: false, nowMs: Date.now(), paint: paintOf(context) };
  context.out(claims.length === 0 ? "There are no such claims.\n" : claimTable(claims, options));
  return EXIT.ok;
}

const SHOW_HELP = `
Shows up to 100 holders and the first 100 waiters. For a name that nobody has used, it shows the limit that would apply.

Examples:
  rowlock show etl/load
  rowlock show etl/load --json | jq '.holders[].owner'
`;

export const show: Declare = (command, context) =>
  command
    .argument("<name>", "the lock", parseName)
    .option("--json", "one object")
    .asks(SHOW_HELP, ({ json }: { json?: true }, name: string) => async (rowlock) => {
      const lock = await rowlock.getLock(name);
      context.out(json ? jsonLine(lock) : lockPage(lock, Date.now(), paintOf(context)));
      return EXIT.ok;
    });

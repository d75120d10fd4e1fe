// `rowlock ls` and `rowlock show`: list locks, and show one of them.

import { Option } from "commander";
import type { LockView } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { parseName } from "./flags.ts";
import { lockPage, lockTable } from "./lock-views.ts";
import { jsonLine, paintOf } from "./print.ts";

const PAGE_SIZE = 1_000;
const ORDERS = { name: "name", "longest-wait": "longest wait", "most-waiters": "most waiters" } as const;

const LS_HELP = `
Shows all locks, or those whose names begin with the prefix. The server forgets a lock some time after its last use,
unless the lock has a record or its own limit was ever set.

Examples:
  rowlock ls
  rowlock ls etl/ --busy
  rowlock ls --order longest-wait --json
`;

interface LsFlags {
  readonly busy?: boolean;
  readonly order: keyof typeof ORDERS;
  readonly json?: true;
}

export const ls: Declare = (command, context) =>
  command
    .argument("[prefix]", "what the locks' names begin with", "")
    .option("--busy", "only locks that are held or waited for")
    .addOption(
      new Option("--order <order>", "which locks come first").choices(Object.keys(ORDERS)).default("name"),
    )
    .option("--json", "one object per line")
    .asks(LS_HELP, ({ busy = false, order, json }: LsFlags, prefix: string) => async (rowlock) => {
      const asked = { prefix, busyOnly: busy, order: ORDERS[order], pageSize: PAGE_SIZE };
      const locks: LockView[] = [];
      for await (const lock of rowlock.listLocks(asked)) {
        if (json) context.out(jsonLine(lock));
        else locks.push(lock);
      }
      if (!json) context.out(lockTable(locks, Date.now(), paintOf(context)));
      return EXIT.ok;
    });

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

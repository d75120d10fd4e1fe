// `rowlock ls`: lists locks.

import { Option } from "commander";
import type { ListLocksOptions, LockView } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { lockTable } from "./lock-table.ts";
import { jsonLine, paintOf } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const ORDERS = { name: "name", "longest-wait": "longest wait", "most-waiters": "most waiters" } as const;

const HELP = `
Shows all locks, or those whose names begin with the prefix. The server forgets a lock some time after its last use,
unless the lock has a record or its own limit was ever set.
${SERVER_HELP}
Examples:
  rowlock ls
  rowlock ls etl/ --busy
  rowlock ls --order longest-wait --json
`;

interface Flags {
  readonly busy?: true;
  readonly order: keyof typeof ORDERS;
  readonly json?: true;
}

export function addLs(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("[prefix]", "what the locks' names begin with", "")
    .option("--busy", "only locks that are held or waited for")
    .addOption(
      new Option("--order <order>", "which locks come first").choices(Object.keys(ORDERS)).default("name"),
    )
    .option("--json", "one object per line");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (prefix: string) => {
      const { busy, order, json }: Flags = command.opts();
      const asked: ListLocksOptions = {
        prefix,
        busyOnly: busy ?? false,
        order: ORDERS[order],
        pageSize: 1_000,
      };
      exit(
        await withClient(command, context, async (rowlock) => {
          const locks: LockView[] = [];
          for await (const lock of rowlock.listLocks(asked)) {
            if (json) context.out(jsonLine(lock));
            else locks.push(lock);
          }
          if (!json)
            context.out(
              locks.length > 0
                ? lockTable(locks, Date.now(), paintOf(context))
                : "There are no such locks.\n",
            );
          return EXIT.ok;
        }),
      );
    });
}

// `rowlock ls`: the locks there are.

import type { Command } from "commander";
import { Option } from "commander";
import type { ListLocksOptions } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { columns, jsonLine } from "./print.ts";
import { addServerOptions, SERVER_HELP, withClient } from "./with-client.ts";

const ORDERS = { name: "name", "longest-wait": "longest wait", "most-waiters": "most waiters" } as const;
const HEAD = ["NAME", "LIMIT", "HELD", "WAITING", "HOLDERS"];

const HELP = `
Shows the locks whose names begin with the prefix, or all. A lock is forgotten a while after its last use.
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

export function addLs(program: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  const command = program
    .command("ls")
    .description("list locks")
    .argument("[prefix]", "what their names begin with", "")
    .option("--busy", "only those that are held or waited for")
    .addOption(new Option("--order <order>", "which come first").choices(Object.keys(ORDERS)).default("name"))
    .option("--json", "one object a line");
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
          const rows = [HEAD];
          for await (const lock of rowlock.listLocks(asked)) {
            if (json) context.out(jsonLine(lock));
            const { name, limit, heldPermits, waiting, holders, holderCount } = lock;
            const owners = holders.slice(0, 3).map(({ owner }) => owner);
            const more = holderCount > owners.length ? [`and ${holderCount - owners.length} more`] : [];
            rows.push([
              name,
              `${limit.limit}`,
              `${heldPermits}`,
              `${waiting}`,
              [...owners, ...more].join(", "),
            ]);
          }
          if (!json) context.out(rows.length > 1 ? columns(rows) : "There are no such locks.\n");
          return EXIT.ok;
        }),
      );
    });
}

// `rowlock spend`: takes permits of a lock's rate, for a script that then does one more of what the rate bounds.

import type { Spent } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { addSpendOptions, parseOneName, refuseAlso, type SpendFlags, spendOptions } from "./flags.ts";
import { jsonLine } from "./print.ts";
import { takeFromRate } from "./take.ts";

const HELP = `
Waits its turn in the queue until the lock's rate allows it, takes permits of the rate, and prints the fencing token.
Nothing is held: there is nothing to renew or release, and holders are not in its way. \`rowlock limit\` sets rates.

Exit code: 0 if it has spent, ${EXIT.notAcquired} if not, ${EXIT.noServer} if no server answered. After ${EXIT.noServer}, it may have spent: with
--request-id, the same command can be run again, and spends once.

Examples:
  rowlock limit api --rate 500/1m
  rowlock spend api && curl https://api.example/orders
  rowlock spend api --permits 10 --wait 30s --request-id "batch-7" || exit
`;

export const spend: Declare = (command, context) => {
  command.argument("<name>", "the lock", parseOneName).option("--json", "one object");
  refuseAlso(
    addSpendOptions(command),
    "a spend takes of one rate: only run and acquire take several locks",
  ).asks(HELP, ({ json, ...flags }: SpendFlags & { json?: true }, name: string) => {
    const asked = { name, quiet: flags.quiet, ...spendOptions(flags) };
    const text = (spent: Spent) => (json ? jsonLine(spent) : `${spent.token}\n`);
    return (rowlock) => takeFromRate(rowlock, asked, context, (spent) => context.out(text(spent)));
  });
};

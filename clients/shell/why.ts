// `rowlock why`: why a request for a lock waits, and what an operator can do about it.

import type { WaitTarget } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { refuseAlso } from "./flags.ts";
import { ifServed } from "./newer-verbs.ts";
import { jsonLine, paintOf, said } from "./print.ts";
import { explanationPage } from "./wait-causes.ts";

/** As the server makes the ids of tickets and leases: lock, number, secret. */
const TICKET_ID = /^[0-9a-z]{1,13}\.[0-9a-z]{1,13}\.[\w-]{22}$/;
/** As `rowlock show` prints a claim, behind the name of its lock. */
const CLAIM = /^(.+)#([1-9]\d{0,17})$/s;

const HELP = `
Says why a request for this lock would not be granted now; or, with name#12 or the id of a ticket, why that waiter waits:
who holds it or stands before it, a limit, a record, a transaction in the database. Each cause has what to do about it. If
enough leases of the lock have ended lately, it says about how long the wait lasts.

With --name, the whole argument is a lock's name, even if it looks like a claim or an id.

Examples:
  rowlock why etl/load
  rowlock why etl/load#12
  rowlock why etl/load --json | jq -r '.causes[].kind'
`;

interface WhyFlags {
  readonly name?: true;
  readonly json?: true;
}

export const why: Declare = (command, context) =>
  refuseAlso(command, "this tells of one lock, or of one claim: ask for each lock alone")
    .argument("<name>", "the lock, a claim such as name#12, or the id of a ticket")
    .option("--name", "the argument is the name of a lock, whatever it looks like")
    .option("--json", "one object")
    .asks(HELP, ({ name, json }: WhyFlags, text: string) => {
      const target = name ? { name: text } : targetOf(text);
      if (text === "") command.fault("the name is empty: name the lock");
      if (text.endsWith("*") && !name)
        command.fault(`"${text}" is a pattern: name one lock, or add --name if a lock has this name`);
      return (rowlock) =>
        ifServed(rowlock, context, async () => {
          try {
            const explanation = await rowlock.explainWait(target);
            const { lock, ...rest } = explanation;
            if (json) context.out(jsonLine({ name: lock.name, ...rest }));
            else context.out(explanationPage(explanation, Date.now(), paintOf(context)));
            return EXIT.ok;
          } catch (error) {
            const { RowlockError } = await import("../typescript/src/index.ts");
            if (!(error instanceof RowlockError) || error.reason !== "UNKNOWN_CLAIM") throw error;
            context.err(said(notWaiting(target)));
            return EXIT.failed;
          }
        });
    });

/** Returns what a person means. */
export function targetOf(text: string): WaitTarget {
  if (TICKET_ID.test(text)) return { ticketId: text };
  const [, name, number] = CLAIM.exec(text) ?? [];
  return name !== undefined && number !== undefined ? { name, ticketNumber: BigInt(number) } : { name: text };
}

function notWaiting(target: WaitTarget): string {
  return "name" in target
    ? `#${target.ticketNumber} does not wait for "${target.name}": \`rowlock history\` shows how it ended, unless it holds the lock.`
    : "This ticket does not wait any more, or never did: `rowlock history` shows how waits ended.";
}

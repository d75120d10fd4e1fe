// `rowlock runs`: the last runs under a lock, how each ended, and all of them in a strip.

import type { ClaimView, RowlockClient } from "../typescript/src/index.ts";
import { RUN_ENDS, type TimedClaim, timed } from "./claim-views.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { countParser, parseOneName } from "./flags.ts";
import { listed, type Paged } from "./listed.ts";
import { endWords, ownerOf } from "./lock-views.ts";
import { ifServed } from "./newer-verbs.ts";
import { localTime } from "./past-times.ts";
import { columns, jsonLine, type Paint, paintOf, shown, timeWords } from "./print.ts";

const LAST = 20;
const LAST_MAX = 10_000;

const HELP = `
Lists the last runs under a lock, newest first, those that go on now too: when each began, how long it took, who ran it, how it ended,
and the status that it left, if the lock has a record. Under the table, all of them in a strip, oldest first:
. released, F failed, x lost. A run is a lease that was used; waits are in \`rowlock history\`.

The server keeps them as long as its history says (ROWLOCK_HISTORY), such as cron/*=90d.

Examples:
  rowlock runs cron/nightly
  rowlock runs cron/nightly --last 100 --json | jq -r 'select(.end.reason == "FAILED") | .owner'
`;

interface RunsFlags {
  readonly last: number;
  readonly json?: true;
}

export const runs: Declare = (command, context) =>
  command
    .argument("<name>", "the lock", parseOneName)
    .option("--last <count>", "how many to show", countParser(1, LAST_MAX), LAST)
    .option("--json", "one object per line")
    .asks(HELP, ({ last, json }: RunsFlags, name: string) => (rowlock) => {
      const paint = paintOf(context);
      return ifServed(rowlock, context, async () => {
        const found = await runsOf(rowlock, name, last, context);
        if (json) for (const run of found) context.out(jsonLine(run));
        else context.out(runsPage(name, found, paint));
        return EXIT.ok;
      });
    });

/** The newest first. */
async function runsOf(
  rowlock: Pick<RowlockClient, "listClaims">,
  name: string,
  last: number,
  context: CliContext,
): Promise<TimedClaim[]> {
  const claims: ClaimView[] = [];
  const list = (
    options: Pick<Parameters<RowlockClient["listClaims"]>[0] & object, "states" | "endReasons">,
  ) =>
    listed(
      (paged: Paged) => rowlock.listClaims({ name, ...options, ...paged }),
      last - claims.length,
      (claim) => void claims.push(claim),
      { ...context, err: () => {} },
    );
  await list({ states: ["held"] });
  claims.reverse();
  if (claims.length < last) await list({ states: ["ended"], endReasons: RUN_ENDS });
  return claims.map((claim) => timed(claim, Date.now()));
}

const MARKS: Readonly<Record<string, string>> = { RELEASED: ".", FAILED: "F" };
const LOST = "x";

export function runsPage(name: string, found: readonly TimedClaim[], paint: Paint): string {
  if (found.length === 0)
    return `The history has no run of ${shown(name)}: the server keeps them as long as ROWLOCK_HISTORY says.\n`;
  const titles = ["BEGAN", "TOOK", "OWNER", "TOKEN", "ENDED", "STATUS"].map((title) => paint("bold", title));
  const rows = found.map((run) => [
    run.grantedAt ? localTime(run.grantedAt) : "",
    timeWords(run.heldMs ?? 0),
    ownerOf(run),
    `${run.token ?? ""}`,
    outcomeWords(run, paint),
    shown(run.end?.status ?? ""),
  ]);
  const strip = found.flatMap(({ end }) => (end ? [MARKS[end.reason] ?? LOST] : [])).reverse();
  return `${columns([titles, ...rows])}${strip.length > 0 ? `\n${strip.map((mark) => marked(mark, paint)).join("")}\n` : ""}`;
}

function marked(mark: string, paint: Paint): string {
  return mark === "." ? paint("green", mark) : paint("red", mark);
}

function outcomeWords({ end }: ClaimView, paint: Paint): string {
  if (!end) return paint("green", "runs now");
  const how = endWords(end.reason);
  const why = end.note === undefined ? "" : `: ${shown(end.note)}`;
  return `${end.reason === "RELEASED" ? how : paint("red", how)}${why}`;
}

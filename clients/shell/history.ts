// `rowlock history`: what happened to locks. Lists claims that are live or have ended, draws those of one lock, and lists
// changes that people made.

import { InvalidArgumentError, Option } from "commander";
import type {
  ChangeKind,
  ChangeView,
  ClaimView,
  EndName,
  ListChangesOptions,
  ListClaimsOptions,
  RowlockClient,
} from "../typescript/src/index.ts";
import { changeTable } from "./change-views.ts";
import { claimChart } from "./claim-chart.ts";
import { claimTable, timed } from "./claim-views.ts";
import type { Declare, RowlockCommand } from "./command.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { addLabel, countParser, given, parseName } from "./flags.ts";
import { listed, type Paged } from "./listed.ts";
import { ifServed } from "./newer-verbs.ts";
import { localTime, type Past, parsePast } from "./past-times.ts";
import { jsonLine, paintOf, said, shown } from "./print.ts";
import { watchedOf } from "./watched-locks.ts";

const MAX = 50;
/** As many as a command may keep in memory. */
const MAX_MAX = 100_000;
/** The width of a chart that is not drawn on a terminal. */
const CHART_CHARS = 100;

/** How claims end, as people write it, and the server's names of that. */
const ENDS: Readonly<Record<string, EndName>> = {
  released: "RELEASED",
  failed: "FAILED",
  expired: "EXPIRED",
  "force-released": "FORCE_RELEASED",
  cancelled: "CANCELLED",
  lapsed: "LAPSED",
  "timed-out": "TIMED_OUT",
  "never-fits": "NEVER_FITS",
  exhausted: "EXHAUSTED",
  "status-mismatch": "STATUS_MISMATCH",
  spent: "SPENT",
  superseded: "SUPERSEDED",
};

function parseEnds(text: string, ends: readonly EndName[] = []): readonly EndName[] {
  const more = text.split(",").map((word) => {
    if (!Object.hasOwn(ENDS, word))
      throw new InvalidArgumentError(`write some of ${Object.keys(ENDS).join(", ")}, separated by commas`);
    return ENDS[word] as EndName;
  });
  return [...ends, ...more];
}

const HELP = `
Without flags, it lists the claims of a lock, or of all locks: first those that hold or wait now, and then those that have
ended, newest first, as long as the server keeps them. A prefix that ends in / or * lists those of all locks whose names
begin with it, as --prefix does. --max counts each of the two. Times without a zone are in that of the terminal.

--changes, --limits, --records, --forced and --policies list who changed what instead: when, from what, to what, and why.
With a name, these include the changes of patterns that match it.

Examples:
  rowlock history etl/load
  rowlock history etl/load --at 03:12
  rowlock history etl/load --since 6h --chart
  rowlock history etl/ --ended expired,force-released --since yesterday
  rowlock history --limits --since yesterday
  rowlock history --forced --json
`;

interface HistoryFlags {
  readonly prefix?: string;
  readonly owner?: string;
  readonly principal?: string;
  readonly label?: Record<string, string>;
  readonly ended?: readonly EndName[];
  readonly at?: Date;
  readonly since?: Date;
  readonly until?: Date;
  readonly max: number;
  readonly json?: true;
  readonly chart?: true;
  readonly changes?: true;
  readonly limits?: true;
  readonly records?: true;
  readonly forced?: true;
  readonly policies?: true;
  readonly by?: string;
}

/** The flags as they were written: times with what to say of them. */
type WrittenFlags = Omit<HistoryFlags, "at" | "since" | "until"> &
  Readonly<Partial<Record<"at" | "since" | "until", Past>>>;

export const history: Declare = (command, context) =>
  command
    .argument("[name]", "a lock, or a prefix that ends in / or *", parseName)
    .option("--prefix <prefix>", "locks whose names begin with this")
    .option("--owner <text>", "only claims with this owner")
    .option("--principal <name>", "only claims of this verified caller")
    .option("--label <key=value>", "only claims with this label; may be repeated", addLabel)
    .addOption(
      new Option("--ended <ways>", "only claims that ended so; several are separated by commas")
        .choices(Object.keys(ENDS))
        .argParser(parseEnds),
    )
    .option("--at <time>", "who held the lock at this time", parsePast)
    .option("--since <time>", "only what happened since, such as 2h, yesterday, 03:12", parsePast)
    .option("--until <time>", "only what happened before", parsePast)
    .option("--max <count>", "how many to show at most", countParser(1, MAX_MAX), MAX)
    .option("--chart", "draw the claims of one lock over time")
    .option("--changes", "list changes that people made, instead of claims")
    .option("--limits", "only changes of limits")
    .option("--records", "only changes of records")
    .option("--forced", "only forced releases")
    .option("--policies", "only changes of the policy")
    .option("--by <who>", "only changes by this verified caller or address")
    .option("--json", "one object per line")
    .asks(HELP, ({ at, since, until, ...others }: WrittenFlags, text: string | undefined) => {
      const times = given({ at: at?.date, since: since?.date, until: until?.date });
      const asked: HistoryFlags = { ...others, ...times };
      for (const past of [at, since, until]) if (past?.note) context.err(said(past.note));
      const kinds = kindsOf(asked);
      const { name, flags } = lockOrPrefix(asked, text, kinds !== undefined);
      refuseContradictions(flags, name, kinds !== undefined, command);
      return (rowlock) =>
        ifServed(rowlock, context, () =>
          kinds
            ? showChanges(rowlock, changesAsked(flags, name, kinds), flags, context)
            : showClaims(rowlock, claimsAsked(flags, name), flags, context),
        );
    });

/** As `ls` and `watch` read it. A pattern stays a name where changes are listed, as patterns have changes of their own. */
function lockOrPrefix(flags: HistoryFlags, text: string | undefined, isOfChanges: boolean) {
  if (text === undefined || isOfChanges || flags.prefix !== undefined) return { name: text, flags };
  const which = watchedOf(text);
  return "name" in which
    ? { name: which.name, flags }
    : { name: undefined, flags: { ...flags, prefix: which.prefix } };
}

/** Returns the kinds of changes to list; none: all of them; undefined: list claims. */
function kindsOf({ changes, limits, records, forced, policies, by }: HistoryFlags) {
  const kinds: ChangeKind[] = [
    ...(limits ? (["limit"] as const) : []),
    ...(records ? (["record"] as const) : []),
    ...(forced ? (["forced release"] as const) : []),
    ...(policies ? (["policy"] as const) : []),
  ];
  return changes || kinds.length > 0 || by !== undefined ? kinds : undefined;
}

function refuseContradictions(
  { prefix, owner, principal, label, ended, at, chart, json }: HistoryFlags,
  name: string | undefined,
  isOfChanges: boolean,
  command: RowlockCommand,
): void {
  if (name !== undefined && prefix !== undefined)
    command.fault("a name and --prefix both say which locks: leave one of them out");
  if (isOfChanges && [owner, principal, label, ended, at, chart].some((flag) => flag !== undefined))
    command.fault(
      "--owner, --principal, --label, --ended, --at and --chart are about claims, which are not listed together with changes: leave them out",
    );
  if (!isOfChanges && at !== undefined && name === undefined)
    command.fault("--at says who held one lock: name it");
  if (!isOfChanges && chart && name === undefined) command.fault("--chart draws one lock: name it");
  if (chart && json) command.fault("--chart is for people, and --json for programs: leave one of them out");
}

function claimsAsked(flags: HistoryFlags, name: string | undefined): ListClaimsOptions {
  const { prefix, owner, principal, label, ended, at, since, until } = flags;
  return given({
    name,
    prefix,
    owner,
    principal,
    labels: label,
    endReasons: ended,
    heldAt: at,
    from: since,
    until,
  });
}

function changesAsked(
  { prefix, since, until, by }: HistoryFlags,
  name: string | undefined,
  kinds: readonly ChangeKind[],
): ListChangesOptions {
  return { kinds, ...given({ name, prefix, from: since, until, changedBy: by }) };
}

/** Live claims and ended ones are listed one after the other, so that many live ones leave room for the history. */
async function showClaims(
  rowlock: RowlockClient,
  asked: ListClaimsOptions,
  { max, json, chart }: HistoryFlags,
  context: CliContext,
): Promise<ExitCode> {
  const claims: ClaimView[] = [];
  const take = (claim: ClaimView) => {
    if (json) context.out(jsonLine(timed(claim, Date.now())));
    else claims.push(claim);
  };
  let begin: Date | undefined;
  const completeFrom = (from: Date) => {
    begin = from;
  };
  const list = (options: ListClaimsOptions) =>
    listed(
      (paged: Paged) => rowlock.listClaims({ ...asked, ...options, ...paged, completeFrom }),
      max,
      take,
      context,
    );
  if (asked.heldAt) await list({});
  else {
    if (!asked.endReasons && !asked.until) await list({ states: ["held", "waiting"] });
    await list({ states: ["ended"] });
  }
  if (json || claims.length > 0) sayIfForgotten(asked.heldAt ?? asked.from, begin, CLAIMS_KEPT_BY, context);
  if (json) return EXIT.ok;
  context.out(
    claims.length === 0 ? `${nothingWords(asked, begin)}\n` : pictureOf(claims, asked, chart, context),
  );
  return EXIT.ok;
}

/** The settings of the server that say how far back history goes. */
const CLAIMS_KEPT_BY = "ROWLOCK_HISTORY and ROWLOCK_HISTORY_ROWS_MAX";
const CHANGES_KEPT_BY = "ROWLOCK_CHANGES_RETENTION";

const beginWords = (begin: Date, settings: string) =>
  `The history begins at ${localTime(begin)}, and nothing before that is known any more (the server's ${settings})`;

/** Finding nothing, or little, before the history begins proves nothing. */
function sayIfForgotten(
  from: Date | undefined,
  begin: Date | undefined,
  settings: string,
  { err }: CliContext,
): void {
  if (from && begin && from < begin) err(said(`${beginWords(begin, settings)}.`));
}

/** `begin`: from when on everything is kept; undefined: the server does not say. */
function nothingWords({ name = "", heldAt, from }: ListClaimsOptions, begin: Date | undefined): string {
  const asked = heldAt ?? from;
  const isForgotten = begin !== undefined && (asked === undefined || asked < begin);
  const since = isForgotten ? ` ${beginWords(begin, CLAIMS_KEPT_BY)}.` : "";
  if (!heldAt) return `The history has no such claims.${since}`;
  if (isForgotten) return `Who held ${shown(name)} at ${localTime(heldAt)} is not known.${since}`;
  return `The history has nobody who held ${shown(name)} at ${localTime(heldAt)}.`;
}

function pictureOf(
  claims: readonly ClaimView[],
  { name, from, until }: ListClaimsOptions,
  isChart: true | undefined,
  context: CliContext,
): string {
  const [nowMs, paint] = [Date.now(), paintOf(context)];
  if (!isChart) return claimTable(claims, { isOfOne: name !== undefined, nowMs, paint });
  const width = context.screen?.columns ?? CHART_CHARS;
  return claimChart(claims, { width, nowMs, paint, fromMs: from?.getTime(), untilMs: until?.getTime() });
}

async function showChanges(
  rowlock: RowlockClient,
  asked: ListChangesOptions,
  { max, json }: HistoryFlags,
  context: CliContext,
): Promise<ExitCode> {
  const changes: ChangeView[] = [];
  const take = (change: ChangeView) => {
    if (json) context.out(jsonLine(change));
    else changes.push(change);
  };
  let begin: Date | undefined;
  const completeFrom = (from: Date) => {
    begin = from;
  };
  await listed(
    (paged: Paged) => rowlock.listChanges({ ...asked, ...paged, completeFrom }),
    max,
    take,
    context,
  );
  if (json || changes.length > 0) sayIfForgotten(asked.from, begin, CHANGES_KEPT_BY, context);
  if (json) return EXIT.ok;
  const isForgotten = begin !== undefined && (asked.from === undefined || asked.from < begin);
  if (changes.length === 0)
    context.out(
      `The history has no such changes.${isForgotten && begin ? ` ${beginWords(begin, CHANGES_KEPT_BY)}.` : ""}\n`,
    );
  else context.out(changeTable(changes, paintOf(context)));
  return EXIT.ok;
}

// `rowlock limit`: shows and sets limits and rates, of names, of patterns and of pools.

import { PERMITS_MAX } from "../../server/core/bounds.ts";
import type {
  LimitSetting,
  LimitTarget,
  Rate,
  RowlockClient,
  SetRateOptions,
} from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { countParser, given } from "./flags.ts";
import { behindWords, limitWords, rateWords, settingName } from "./lock-views.ts";
import { pausedLimit, reasonOf } from "./paused-limits.ts";
import { changedPoolLine, usedWords } from "./pools.ts";
import { columns, jsonLine, type Paint, paintOf, said, shellQuoted, shown } from "./print.ts";
import { parseBurst, parseRate, rateText } from "./rates.ts";

const LIMIT_HELP = `
A limit says how many permits of a lock may be held at once: 1 unless one was set, and 0 pauses the lock. If you
raise it, the next waiters get the lock at once. If you lower it, no lease ends.

A rate says how many permits may be granted in a time, and leaves the limit as it is: 500/1m is 500 a minute, of which 500
may go at once after a pause, or as many as --burst says. A lock has no rate unless one was set.

With --pattern, each name has the limit and the rate for itself. With --pool, all names under the pattern share them: leases
under a pool of 50 have at most 50 permits at once, and each also needs its own name. A pool with neither is removed.

Examples:
  rowlock limit                                          all limits that were set
  rowlock limit pool/gpu                                 the one in force for a name
  rowlock limit pool/gpu 4 --reason "two more cards"
  rowlock limit --pattern 'etl/*' 0 --reason "database upgrade until 14:00"
  rowlock limit --pattern 'etl/*' --unset
  rowlock limit api --rate 500/1m --burst 20             a rate, beside the limit
  rowlock limit api 4 --rate 500/1m                      both in one change
  rowlock limit api --unset-rate
  rowlock limit --pool 'openai/*' 50 --rate 500/1m --reason "our contract"
  rowlock limit --pool 'openai/acme/*' 5 --reason "for each tenant a part"
  rowlock limit --pool 'openai/acme/*' --unset

To stop everything under a pattern for a while, use \`rowlock pause\`.
`;

const TITLES = ["NAME or PATTERN", "LIMIT", "RATE", "USED", "VERSION", "REASON"];
/** These columns are left out if no setting fills them. */
const RARE = ["RATE", "USED"];
/** How many settings are listed that override the one that was set. */
const SHOWN_MAX = 20;

interface LimitFlags {
  readonly pattern?: string;
  readonly pool?: string;
  readonly unset?: true;
  readonly rate?: Rate;
  readonly burst?: number;
  readonly unsetRate?: true;
  readonly ifVersion?: number;
  readonly reason?: string;
  readonly json?: true;
}

export const limit: Declare = (command, context) =>
  command
    .argument("[name]", "the lock; leave it out with --pattern and --pool")
    .argument("[permits]", "how many permits may be held at once")
    .option(
      "--pattern <pattern>",
      "show or set the limit or rate of all names that begin with the text before the star, each for itself",
    )
    .option("--pool <pattern>", "the same of all these names together")
    .option("--unset", "delete the limit that was set")
    .option(
      "--rate <permits/time>",
      "how many permits may be granted in this time, such as 500/1m",
      parseRate,
    )
    .option("--burst <count>", "with --rate: how many at once after a pause (default as many)", parseBurst)
    .option("--unset-rate", "delete the rate that was set")
    .option(
      "--if-version <version>",
      "only if the setting has this version; 0: if it was never set",
      countParser(),
    )
    .option("--reason <text>", "why; shown beside the limit")
    .option("--json", "one object per line")
    .asks(LIMIT_HELP, (flags: LimitFlags, first?: string, second?: string) => {
      const { pattern, pool, unset, rate, burst, unsetRate, reason, ifVersion, json } = flags;
      const isOfMany = (pattern ?? pool) !== undefined;
      const [name, permits] = isOfMany ? [undefined, first] : [first, second];
      if (isOfMany && second !== undefined) command.fault("name a lock, a --pattern or a --pool, not both");
      if (pattern !== undefined && pool !== undefined)
        command.fault("--pattern is about each name, and --pool about all of them together: name one");
      if (unset && permits !== undefined)
        command.fault("--unset deletes the limit: leave out the number of permits");
      if (unsetRate && rate) command.fault("--unset-rate deletes the rate: leave out --rate");
      // A --rate that is wrong is a fault of its own.
      if (burst !== undefined && !rate && !command.hasFaults)
        command.fault("--burst is how much of a rate may go at once: add --rate");
      if (name?.endsWith("*"))
        command.fault(
          `"${name}" would be the name of one lock: for all names that begin like this, use --pattern '${name}', or --pool for all of them together`,
        );
      if (permits !== undefined && !(/^\d+$/.test(permits) && Number(permits) <= PERMITS_MAX))
        command.fault(
          `"${permits}" is not a limit: write a whole number from 0 to ${PERMITS_MAX}, or --unset for none`,
        );
      const isChange = permits !== undefined || unset || rate !== undefined || unsetRate;
      if (!isChange && !command.hasFaults && (reason ?? ifVersion) !== undefined)
        command.fault(
          "--reason and --if-version go with a change: add how many permits may be held, --unset, --rate or --unset-rate",
        );
      const target = targetOf({ ...given({ name }), ...flags });
      if (isChange && !target)
        command.fault("name the lock whose limit or rate to change, or a --pattern or --pool");
      const change: LimitChange = {
        limit: unset ? null : permits === undefined ? undefined : Number(permits),
        rate: unsetRate ? null : rate && { ...rate, ...given({ burst }) },
      };
      return async (rowlock) => {
        if (isChange && target) await set(rowlock, target, change, flags, context);
        else if (name !== undefined) {
          const { limit, rate: own } = await rowlock.getLock(name);
          const rateToo = own ? `, rate ${rateWords(own)}` : "";
          const words = `${shown(name)}: limit ${limitWords(limit)}${rateToo}\n`;
          context.out(json ? jsonLine({ name, ...limit, ...given({ rate: own }) }) : words);
        } else await listLimits(rowlock, flags, context);
        return EXIT.ok;
      };
    });

function targetOf({
  name,
  pattern,
  pool,
}: { readonly name?: string } & Pick<LimitFlags, "pattern" | "pool">): LimitTarget | undefined {
  if (pool !== undefined) return { pool };
  if (pattern !== undefined) return { pattern };
  return name === undefined ? undefined : { name };
}

/** What to set: null unsets it, and undefined leaves it alone. */
interface LimitChange {
  readonly limit: number | null | undefined;
  readonly rate: Rate | null | undefined;
}

async function set(
  rowlock: RowlockClient,
  target: LimitTarget,
  change: LimitChange,
  { ifVersion, reason, json }: LimitFlags,
  { out, err }: CliContext,
): Promise<void> {
  const { limit, rate } = change;
  const options = given({ ifVersion, reason });
  const set =
    limit !== undefined
      ? await rowlock.setLimit(target, limit, { ...options, ...given({ rate }) })
      : await rowlock.setRate(target, rate ?? null, await besidesPause(rowlock, target, options));
  const others = "pattern" in target ? await unaffected(rowlock, target.pattern, change) : [];
  if (json) {
    out(jsonLine({ ...target, ...set, ...(others.length > 0 && { unaffected: others }) }));
    return;
  }
  if ("pool" in target) {
    out(changedPoolLine(target.pool, set));
    if (set.serversBehind > 0) err(said(behindWords(set.serversBehind)));
    return;
  }
  const draining = set.draining ? ", more than the limit allows: it drains" : "";
  const rateToo = set.rate ? `, rate ${rateText(set.rate)}` : rate === undefined ? "" : ", no rate";
  out(
    `${shown(settingName(target))}: limit ${set.limit}${rateToo} (version ${set.version}); ${set.heldPermits} held${draining}, ${set.waiterCount} waiting\n`,
  );
  if (set.serversBehind > 0) err(said(behindWords(set.serversBehind)));
  if (others.length === 0) return;
  const words = others
    .slice(0, SHOWN_MAX)
    .map((other) => `${shown(settingName(other))} (${ownWords(other)})`);
  const more = others.length > SHOWN_MAX ? `, and ${others.length - SHOWN_MAX} more` : "";
  const what = rate ? (limit === undefined ? "rates" : "limits or rates") : "limits";
  out(`not changed, because they have ${what} of their own: ${words.join(", ")}${more}\n`);
  if (limit === 0) out(`these go on; to stop them, too: rowlock pause ${shellQuoted(settingName(target))}\n`);
}

/**
 * Returns the options with which a change of the rate alone leaves a pause of the setting as it is: the reason, which says
 * what the limit was before, is that of the limit and of the rate.
 */
async function besidesPause(
  rowlock: RowlockClient,
  target: LimitTarget,
  options: SetRateOptions,
): Promise<SetRateOptions> {
  // `rowlock pause` holds no pools.
  if ("pool" in target) return options;
  const prefix = "name" in target ? target.name : target.pattern.replace(/\*$/, "");
  for await (const { version, reason, limit = null, ...setting } of rowlock.listLimits({ prefix })) {
    if (setting.pool !== undefined || settingName(setting) !== settingName(target)) continue;
    const paused = pausedLimit({ limit, reason });
    if (!paused) return options;
    const kept = reasonOf({ ...paused, ...given({ reason: options.reason }) });
    return { ifVersion: version, ...options, reason: kept };
  }
  return options;
}

/**
 * Finds settings with another limit or rate for names under the pattern, and for longer patterns: these override those of
 * the pattern.
 */
async function unaffected(
  rowlock: RowlockClient,
  pattern: string,
  { limit, rate }: LimitChange,
): Promise<LimitSetting[]> {
  const isOther = (each: LimitSetting) =>
    (typeof limit === "number" && each.limit !== undefined && each.limit !== limit) ||
    (rate && each.rate && rateText(each.rate) !== rateText(rate));
  if (typeof limit !== "number" && !rate) return [];
  const settings = await Array.fromAsync(rowlock.listLimits({ prefix: pattern.slice(0, -1) }));
  return settings.filter((each) => each.pool === undefined && each.pattern !== pattern && isOther(each));
}

function ownWords({ limit, rate }: LimitSetting): string {
  return [...(limit === undefined ? [] : [`${limit}`]), ...(rate ? [`rate ${rateText(rate)}`] : [])].join(
    ", ",
  );
}

async function listLimits(
  rowlock: RowlockClient,
  { pattern, pool, json }: LimitFlags,
  context: CliContext,
): Promise<void> {
  const paint = paintOf(context);
  const rows: string[][] = [];
  for await (const setting of rowlock.listLimits()) {
    if (pattern !== undefined && setting.pattern !== pattern) continue;
    if (pool !== undefined && setting.pool !== pool) continue;
    if (json) context.out(jsonLine(setting));
    else rows.push(settingCells(setting, paint));
  }
  if (json) return;
  const isThere = TITLES.map((title, at) => !RARE.includes(title) || rows.some((row) => row[at] !== ""));
  const titles = TITLES.map((title) => paint("bold", title));
  const shownRows = [titles, ...rows].map((row) => row.filter((_, at) => isThere[at]));
  const none = pool === undefined ? "No limit was set: each lock has 1.\n" : "There is no such pool.\n";
  context.out(rows.length > 0 ? columns(shownRows) : none);
}

function settingCells(setting: LimitSetting, paint: Paint): string[] {
  const { pool, limit, rate, use, version, reason } = setting;
  return [
    `${shown(settingName(setting))}${pool === undefined ? "" : " (pool)"}`,
    `${limit ?? ""}`,
    rate ? rateText(rate) : "",
    use ? usedWords(use, limit, paint) : "",
    `${version}`,
    shown(reason),
  ];
}

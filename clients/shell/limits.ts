// `rowlock limit`: shows and sets limits, rates and queue rules, of names, of patterns and of pools.

import { PERMITS_MAX, WAITING_MAX_MAX } from "../../server/core/bounds.ts";
import type {
  LimitSetting,
  LimitTarget,
  QueueRules,
  Rate,
  RowlockClient,
  SetQueueRulesOptions,
} from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { countParser, given, parseHeadStartMax } from "./flags.ts";
import { behindWords, limitWords, queueRulesWords, rateWords, settingName } from "./lock-views.ts";
import { pausedLimit, reasonOf } from "./paused-limits.ts";
import { changedPoolLine, usedWords } from "./pools.ts";
import { columns, jsonLine, type Paint, paintOf, said, shellQuoted, shown } from "./print.ts";
import { queueRulesText } from "./queue-rules.ts";
import { parseBurst, parseRate, rateText } from "./rates.ts";

const LIMIT_HELP = `
A limit says how many permits of a lock may be held at once: 1 unless one was set, and 0 pauses the lock. If you
raise it, the next waiters get the lock at once. If you lower it, no lease ends.

A rate says how many permits may be granted in a time, and leaves the limit as it is: 500/1m is 500 a minute, of which 500
may go at once after a pause, or as many as --burst says. A lock has no rate unless one was set.

Queue rules say how many may wait, and leave limit and rate as they are: with --waiting-max 1, a request that comes while one
waits is refused. With --newest-wins it waits, and the one that has waited longest ends as superseded: so all but the newest
of many pushes need not be built. With --share-by the next grant goes to the group that holds least, and with --head-start-max
requests may be queued as if they had come earlier (rowlock run --head-start). Queue rules replace those that were set before.
Unless they were set, as many wait as the server allows, in order of arrival.

With --pattern, each name has the limit, the rate and the queue rules for itself. With --pool, all names under the pattern share them: leases
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
  rowlock limit --pattern 'deploy/*' --waiting-max 1 --newest-wins
  rowlock limit --pool 'openai/*' 50 --rate 500/1m --reason "our contract"
  rowlock limit --pool 'openai/acme/*' 5 --reason "for each tenant a part"
  rowlock limit --pool 'openai/acme/*' --unset

To stop everything under a pattern for a while, use \`rowlock pause\`.
`;

const TITLES = ["NAME or PATTERN", "LIMIT", "RATE", "QUEUE", "USED", "VERSION", "REASON"];
/** These columns are left out if no setting fills them. */
const RARE = ["RATE", "QUEUE", "USED"];
/** How many settings are listed that override the one that was set. */
const SHOWN_MAX = 20;

interface LimitFlags {
  readonly pattern?: string;
  readonly pool?: string;
  readonly unset?: true;
  readonly rate?: Rate;
  readonly burst?: number;
  readonly unsetRate?: true;
  readonly waitingMax?: number;
  readonly newestWins?: true;
  readonly shareBy?: string;
  readonly headStartMax?: number;
  readonly unsetQueueRules?: true;
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
      "show or set what is set for all names that begin with the text before the star, each for itself",
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
    .option("--waiting-max <count>", "how many may wait", countParser(1, WAITING_MAX_MAX))
    .option("--newest-wins", "with --waiting-max: the longest waiting ends instead of the newest")
    .option(
      "--share-by <group>",
      "grant fair shares to groups: principal, or label: and a key, such as label:tenant",
    )
    .option(
      "--head-start-max <time>",
      "let requests be queued as if they had come earlier, by at most so much",
      parseHeadStartMax,
    )
    .option("--unset-queue-rules", "delete the queue rules that were set")
    .option(
      "--if-version <version>",
      "only if the setting has this version; 0: if it was never set",
      countParser(),
    )
    .option("--reason <text>", "why; shown beside the limit")
    .option("--json", "one object per line")
    .asks(LIMIT_HELP, (flags: LimitFlags, first?: string, second?: string) => {
      const { pattern, pool, unset, rate, burst, unsetRate, reason, ifVersion, json } = flags;
      const { waitingMax, newestWins, shareBy, headStartMax, unsetQueueRules } = flags;
      const setsQueueRules = [waitingMax, shareBy, headStartMax].some((set) => set !== undefined);
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
      if (unsetQueueRules && setsQueueRules)
        command.fault(
          "--unset-queue-rules deletes them: leave out --waiting-max, --share-by and --head-start-max",
        );
      if (newestWins && waitingMax === undefined && !command.hasFaults)
        command.fault("--newest-wins says who waits when as many wait as may: add --waiting-max");
      const orders = Object.entries({
        "--newest-wins": newestWins,
        "--share-by": shareBy,
        "--head-start-max": headStartMax,
      }).flatMap(([flag, set]) => (set === undefined ? [] : flag));
      if (orders.length > 1)
        command.fault(
          `${orders.join(" and ")} are ${orders.length === 2 ? "two" : "three"} orders of one queue: name one`,
        );
      if (shareBy !== undefined && shareBy !== "principal" && !/^label:./s.test(shareBy))
        command.fault(
          `--share-by "${shareBy}" is no group: write principal, or label: and a key, such as label:tenant`,
        );
      if (pool !== undefined && (setsQueueRules || unsetQueueRules))
        command.fault("queue rules are for each name by itself: set them with --pattern instead of --pool");
      if (name?.endsWith("*"))
        command.fault(
          `"${name}" would be the name of one lock: for all names that begin like this, use --pattern '${name}', or --pool for all of them together`,
        );
      if (permits !== undefined && !(/^\d+$/.test(permits) && Number(permits) <= PERMITS_MAX))
        command.fault(
          `"${permits}" is not a limit: write a whole number from 0 to ${PERMITS_MAX}, or --unset for none`,
        );
      const queueRules = queueRulesOf(flags);
      const isChange = [permits, unset, rate, unsetRate, queueRules].some((set) => set !== undefined);
      if (!isChange && !command.hasFaults && (reason ?? ifVersion) !== undefined)
        command.fault(
          "--reason and --if-version go with a change: add how many permits may be held, --unset, --rate, --unset-rate, --waiting-max, --share-by, --head-start-max or --unset-queue-rules",
        );
      const target = targetOf({ ...given({ name }), ...flags });
      if (isChange && !target)
        command.fault("name the lock whose settings to change, or a --pattern or --pool");
      const change: LimitChange = {
        limit: unset ? null : permits === undefined ? undefined : Number(permits),
        rate: unsetRate ? null : rate && { ...rate, ...given({ burst }) },
        queueRules,
      };
      return async (rowlock) => {
        if (isChange && target) await set(rowlock, target, change, flags, context);
        else if (name !== undefined) {
          const { limit, rate: own, queueRules: rules } = await rowlock.getLock(name);
          const rateToo = own ? `, rate ${rateWords(own)}` : "";
          const rulesToo = rules ? `, ${queueRulesWords(rules)}` : "";
          const words = `${shown(name)}: limit ${limitWords(limit)}${rateToo}${rulesToo}\n`;
          const asJson = { name, ...limit, ...given({ rate: own, queueRules: rules }) };
          context.out(json ? jsonLine(asJson) : words);
        } else await listLimits(rowlock, flags, context);
        return EXIT.ok;
      };
    });

/** undefined: they stay. */
function queueRulesOf({
  waitingMax,
  newestWins,
  shareBy,
  headStartMax,
  unsetQueueRules,
}: Pick<LimitFlags, "waitingMax" | "newestWins" | "shareBy" | "headStartMax" | "unsetQueueRules">):
  | QueueRules
  | null
  | undefined {
  if ([waitingMax, shareBy, headStartMax].every((set) => set === undefined))
    return unsetQueueRules ? null : undefined;
  return {
    ...given({ waitingMax, shareBy, headStartMax }),
    whenFull: newestWins ? "end longest waiting" : "refuse",
  };
}

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
  readonly queueRules: QueueRules | null | undefined;
}

async function set(
  rowlock: RowlockClient,
  target: LimitTarget,
  change: LimitChange,
  { ifVersion, reason, json }: LimitFlags,
  { out, err }: CliContext,
): Promise<void> {
  const { rate, queueRules } = change;
  const set = await setAll(rowlock, target, change, given({ ifVersion, reason }));
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
  const none = queueRules === undefined ? "" : ", no queue rules";
  const rulesToo = set.queueRules ? `, ${queueRulesText(set.queueRules)}` : none;
  out(
    `${shown(settingName(target))}: limit ${set.limit}${rateToo}${rulesToo} (version ${set.version}); ${set.heldPermits} held${draining}, ${set.waiterCount} waiting\n`,
  );
  if (set.serversBehind > 0) err(said(behindWords(set.serversBehind)));
  if (others.length === 0) return;
  const words = others
    .slice(0, SHOWN_MAX)
    .map((other) => `${shown(settingName(other))} (${ownWords(other)})`);
  const more = others.length > SHOWN_MAX ? `, and ${others.length - SHOWN_MAX} more` : "";
  out(`not changed, because they have ${whatOf(change)} of their own: ${words.join(", ")}${more}\n`);
  if (change.limit === 0)
    out(`these go on; to stop them, too: rowlock pause ${shellQuoted(settingName(target))}\n`);
}

async function setAll(
  rowlock: RowlockClient,
  target: LimitTarget,
  { limit, rate, queueRules }: LimitChange,
  options: SetQueueRulesOptions,
) {
  const rulesToo = given({ queueRules });
  if (limit !== undefined)
    return await rowlock.setLimit(target, limit, { ...options, ...given({ rate }), ...rulesToo });
  const beside = await besidesPause(rowlock, target, options);
  if (rate !== undefined) return await rowlock.setRate(target, rate, { ...beside, ...rulesToo });
  // A pool has none: the flags were checked.
  const ofEach = target as Exclude<LimitTarget, { readonly pool: string }>;
  return await rowlock.setQueueRules(ofEach, queueRules ?? null, beside);
}

/** What was set, in words. */
function whatOf({ limit, rate, queueRules }: LimitChange): string {
  const words = [
    ...(typeof limit === "number" ? ["limits"] : []),
    ...(rate ? ["rates"] : []),
    ...(queueRules ? ["queue rules"] : []),
  ];
  return words.join(" or ");
}

/**
 * Returns the options with which a change of all but the limit leaves a pause of the setting as it is: the reason, which says
 * what the limit was before, is that of the whole setting.
 */
async function besidesPause(
  rowlock: RowlockClient,
  target: LimitTarget,
  options: SetQueueRulesOptions,
): Promise<SetQueueRulesOptions> {
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
 * Finds other settings for names under the pattern, and for longer patterns: these override those of
 * the pattern.
 */
async function unaffected(
  rowlock: RowlockClient,
  pattern: string,
  { limit, rate, queueRules }: LimitChange,
): Promise<LimitSetting[]> {
  const isOther = (each: LimitSetting) =>
    (typeof limit === "number" && each.limit !== undefined && each.limit !== limit) ||
    (rate && each.rate && rateText(each.rate) !== rateText(rate)) ||
    (queueRules && each.queueRules && queueRulesText(each.queueRules) !== queueRulesText(queueRules));
  if (typeof limit !== "number" && !rate && !queueRules) return [];
  const settings = await Array.fromAsync(rowlock.listLimits({ prefix: pattern.slice(0, -1) }));
  return settings.filter((each) => each.pool === undefined && each.pattern !== pattern && isOther(each));
}

function ownWords({ limit, rate, queueRules }: LimitSetting): string {
  const words = [
    ...(limit === undefined ? [] : [`${limit}`]),
    ...(rate ? [`rate ${rateText(rate)}`] : []),
    ...(queueRules ? [queueRulesText(queueRules)] : []),
  ];
  return words.join(", ");
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
  const { pool, limit, rate, queueRules, use, version, reason } = setting;
  return [
    `${shown(settingName(setting))}${pool === undefined ? "" : " (pool)"}`,
    `${limit ?? ""}`,
    rate ? rateText(rate) : "",
    queueRules ? queueRulesText(queueRules) : "",
    use ? usedWords(use, limit, paint) : "",
    `${version}`,
    shown(reason),
  ];
}

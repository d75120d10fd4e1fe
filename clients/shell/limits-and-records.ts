// `rowlock limit`, `update` and `delete`: show and set limits and rates, and change and delete a lock's record.

import { ATTEMPTS_MAX, PERMITS_MAX } from "../../server/core/bounds.ts";
import type {
  LimitSetting,
  LimitTarget,
  Rate,
  RecordChanges,
  RowlockClient,
  SetRateOptions,
} from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { countParser, given, parseNotBefore, parseOneName, parseStatus } from "./flags.ts";
import { behindWords, limitWords, rateWords, recordRows, settingName } from "./lock-views.ts";
import { pausedLimit, reasonOf } from "./paused-limits.ts";
import { columns, jsonLine, paintOf, said, shellQuoted, shown } from "./print.ts";
import { parseBurst, parseRate, rateText } from "./rates.ts";

const LIMIT_HELP = `
A limit says how many permits of a lock may be held at once: 1 unless one was set, and 0 pauses the lock. If you
raise it, the next waiters get the lock at once. If you lower it, no lease ends.

A rate says how many permits may be granted in a time, and leaves the limit as it is: 500/1m is 500 a minute, of which 500
may go at once after a pause, or as many as --burst says. A lock has no rate unless one was set.

Examples:
  rowlock limit                                          all limits that were set
  rowlock limit pool/gpu                                 the one in force for a name
  rowlock limit pool/gpu 4 --reason "two more cards"
  rowlock limit --pattern 'etl/*' 0 --reason "database upgrade until 14:00"
  rowlock limit --pattern 'etl/*' --unset
  rowlock limit api --rate 500/1m --burst 20             a rate, beside the limit
  rowlock limit api 4 --rate 500/1m                      both in one change
  rowlock limit api --unset-rate

To stop everything under a pattern for a while, use \`rowlock pause\`.
`;

/** The column of rates, which is left out if there are none. */
const RATE_AT = 2;
/** How many settings are listed that override the one that was set. */
const SHOWN_MAX = 20;

interface LimitFlags {
  readonly pattern?: string;
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
    .argument("[name]", "the lock; leave it out with --pattern")
    .argument("[permits]", "how many permits may be held at once")
    .option(
      "--pattern <pattern>",
      "show or set the limit or rate of all names that begin with the text before the star",
    )
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
      const { pattern, unset, rate, burst, unsetRate, reason, ifVersion, json } = flags;
      const [name, permits] = pattern === undefined ? [first, second] : [undefined, first];
      if (pattern !== undefined && second !== undefined)
        command.fault("name a lock or a --pattern, not both");
      if (unset && permits !== undefined)
        command.fault("--unset deletes the limit: leave out the number of permits");
      if (unsetRate && rate) command.fault("--unset-rate deletes the rate: leave out --rate");
      // A --rate that is wrong is a fault of its own.
      if (burst !== undefined && !rate && !command.hasFaults)
        command.fault("--burst is how much of a rate may go at once: add --rate");
      if (name?.endsWith("*"))
        command.fault(
          `"${name}" would be the name of one lock: for all names that begin like this, use --pattern '${name}'`,
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
      const target = name !== undefined ? { name } : pattern !== undefined ? { pattern } : undefined;
      if (isChange && !target) command.fault("name the lock whose limit or rate to change, or a --pattern");
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
  { pattern, json }: LimitFlags,
  context: CliContext,
): Promise<void> {
  const paint = paintOf(context);
  const rows = [["NAME or PATTERN", "LIMIT", "RATE", "VERSION", "REASON"].map((word) => paint("bold", word))];
  for await (const setting of rowlock.listLimits()) {
    if (pattern !== undefined && setting.pattern !== pattern) continue;
    if (json) context.out(jsonLine(setting));
    const { limit = "", rate, version, reason } = setting;
    const cells = [`${limit}`, rate ? rateText(rate) : "", `${version}`, shown(reason)];
    rows.push([`${shown(settingName(setting))}${setting.pool === undefined ? "" : " (pool)"}`, ...cells]);
  }
  if (json) return;
  const hasRates = rows.some((row, at) => at > 0 && row[RATE_AT] !== "");
  const shownRows = hasRates ? rows : rows.map((row) => row.toSpliced(RATE_AT, 1));
  context.out(rows.length > 1 ? columns(shownRows) : "No limit was set: each lock has 1.\n");
}

const UPDATE_HELP = `
Changes a lock's record, and creates the lock if it does not exist: a task for \`rowlock capture\`, or the next run of a
job. It does not affect holders of the lock.

Examples:
  rowlock update task/7 --status new --attempts 3
  rowlock update report --not-before 2030-01-01T06:00:00Z
  rowlock update report --not-before 10m           from now
  rowlock update report --not-before none          at any time
  rowlock update task/8 --status new --if-version 0
  rowlock update task/7 --attempts 3 --reason "the bucket is back"
`;

const parseAttemptsOrNone = countParser(0, ATTEMPTS_MAX, ", or unlimited");

interface UpdateFlags {
  readonly notBefore?: Pick<RecordChanges, "notBefore" | "notBeforeIn">;
  /** Wrapped in an object, because commander would take a plain null for an empty text. */
  readonly attempts?: Pick<RecordChanges, "attemptsLeft">;
  readonly status?: string;
  readonly ifVersion?: number;
  readonly reason?: string;
  readonly json?: true;
}

export const update: Declare = (command, { out }) =>
  command
    .argument("<name>", "the lock", parseOneName)
    .option("--status <word>", "its status", parseStatus)
    .option("--attempts <count>", "how many more times the lock may be granted; or unlimited", (text) => ({
      attemptsLeft: text === "unlimited" ? null : parseAttemptsOrNone(text),
    }))
    .option(
      "--not-before <time>",
      "grant the lock only from this instant on, or after this time from now; none: at any time",
      parseNotBefore,
    )
    .option(
      "--if-version <version>",
      "only if the record has this version; 0: if there is none",
      countParser(),
    )
    .option("--reason <text>", "why; `rowlock history --changes` shows it")
    .option("--json", "one object")
    .asks(
      UPDATE_HELP,
      ({ notBefore, attempts, status, ifVersion, reason, json }: UpdateFlags, name: string) => {
        if (!command.hasFaults && !notBefore && !attempts && status === undefined)
          command.fault("say what to set: --status, --attempts or --not-before");
        return async (rowlock) => {
          const changes = { ...notBefore, ...attempts, ...given({ status, ifVersion, reason }) };
          const record = await rowlock.updateRecord(name, changes);
          if (json) out(jsonLine({ name, ...record }));
          else out(columns([["name", shown(name)], ...recordRows(record, Date.now())]));
          return EXIT.ok;
        };
      },
    );

const DELETE_HELP = `
Deletes the lock's record, as if it had never had one. Its limit stays, and its fencing tokens go on rising. The
server refuses this while somebody holds the lock or waits for it.

Examples:
  rowlock delete task/7
  rowlock delete task/7 --if-version 12 --reason "not needed any more"
`;

const deleteRecord: Declare = (command, { out }) =>
  command
    .argument("<name>", "the lock", parseOneName)
    .option("--if-version <version>", "only if the record has this version", countParser())
    .option("--reason <text>", "why; `rowlock history --changes` shows it")
    .option("--json", "one object")
    .asks(
      DELETE_HELP,
      ({ ifVersion, reason, json }: { ifVersion?: number; reason?: string; json?: true }, name: string) =>
        async (rowlock) => {
          const deleted = await rowlock.deleteRecord(name, given({ ifVersion, reason }));
          if (json) out(jsonLine({ name, deleted }));
          else out(deleted ? "Deleted.\n" : "There was no record.\n");
          return EXIT.ok;
        },
    );

export { deleteRecord as delete };

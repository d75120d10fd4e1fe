// `rowlock limit`, `update` and `delete`: show and set limits, and change and delete a lock's record.

import { ATTEMPTS_MAX, PERMITS_MAX } from "../../server/core/bounds.ts";
import type { LimitSetting, LimitTarget, RecordChanges, RowlockClient } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { countParser, given, parseNotBefore, parseOneName, parseStatus } from "./flags.ts";
import { behindWords, limitWords, recordRows, settingName } from "./lock-views.ts";
import { columns, jsonLine, paintOf, said, shellQuoted, shown } from "./print.ts";

const LIMIT_HELP = `
A limit says how many permits of a lock may be held at once: 1 unless one was set, and 0 pauses the lock. If you
raise it, the next waiters get the lock at once. If you lower it, no lease ends.

Examples:
  rowlock limit                                          all limits that were set
  rowlock limit pool/gpu                                 the one in force for a name
  rowlock limit pool/gpu 4 --reason "two more cards"
  rowlock limit --pattern 'etl/*' 0 --reason "database upgrade until 14:00"
  rowlock limit --pattern 'etl/*' --unset

To stop everything under a pattern for a while, use \`rowlock pause\`.
`;

/** How many settings are listed that override the one that was set. */
const SHOWN_MAX = 20;

interface LimitFlags {
  readonly pattern?: string;
  readonly unset?: true;
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
      "show or set the limit of all names that begin with the text before the star",
    )
    .option("--unset", "delete the setting")
    .option(
      "--if-version <version>",
      "only if the setting has this version; 0: if it was never set",
      countParser(),
    )
    .option("--reason <text>", "why; shown beside the limit")
    .option("--json", "one object per line")
    .asks(LIMIT_HELP, (flags: LimitFlags, first?: string, second?: string) => {
      const { pattern, unset, reason, ifVersion, json } = flags;
      const [name, permits] = pattern === undefined ? [first, second] : [undefined, first];
      if (pattern !== undefined && second !== undefined)
        command.fault("name a lock or a --pattern, not both");
      if (unset && permits !== undefined)
        command.fault("--unset deletes the setting: leave out the number of permits");
      if (name?.endsWith("*"))
        command.fault(
          `"${name}" would be the name of one lock: for all names that begin like this, use --pattern '${name}'`,
        );
      if (permits !== undefined && !(/^\d+$/.test(permits) && Number(permits) <= PERMITS_MAX))
        command.fault(
          `"${permits}" is not a limit: write a whole number from 0 to ${PERMITS_MAX}, or --unset for none`,
        );
      const isChange = permits !== undefined || unset;
      if (!isChange && (reason ?? ifVersion) !== undefined)
        command.fault(
          "--reason and --if-version go with a change: add how many permits may be held, or --unset",
        );
      const target = name !== undefined ? { name } : pattern !== undefined ? { pattern } : undefined;
      if (isChange && !target) command.fault("name the lock whose limit to change, or a --pattern");
      return async (rowlock) => {
        if (isChange && target) await set(rowlock, target, unset ? null : Number(permits), flags, context);
        else if (name !== undefined) {
          const { limit } = await rowlock.getLock(name);
          context.out(json ? jsonLine({ name, ...limit }) : `${shown(name)}: limit ${limitWords(limit)}\n`);
        } else await listLimits(rowlock, flags, context);
        return EXIT.ok;
      };
    });

async function set(
  rowlock: RowlockClient,
  target: LimitTarget,
  limit: number | null,
  { ifVersion, reason, json }: LimitFlags,
  { out, err }: CliContext,
): Promise<void> {
  const set = await rowlock.setLimit(target, limit, given({ ifVersion, reason }));
  const isPattern = "pattern" in target;
  const others = isPattern && limit !== null ? await unaffected(rowlock, target.pattern, limit) : [];
  if (json) {
    out(jsonLine({ ...target, ...set, ...(others.length > 0 && { unaffected: others }) }));
    return;
  }
  const draining = set.draining ? ", more than the limit allows: it drains" : "";
  out(
    `${shown(settingName(target))}: limit ${set.limit} (version ${set.version}); ${set.heldPermits} held${draining}, ${set.waiterCount} waiting\n`,
  );
  if (set.serversBehind > 0) err(said(behindWords(set.serversBehind)));
  if (others.length === 0) return;
  const words = others.slice(0, SHOWN_MAX).map((other) => `${shown(settingName(other))} (${other.limit})`);
  const more = others.length > SHOWN_MAX ? `, and ${others.length - SHOWN_MAX} more` : "";
  out(`not changed, because they have limits of their own: ${words.join(", ")}${more}\n`);
  if (limit === 0) out(`these go on; to stop them, too: rowlock pause ${shellQuoted(settingName(target))}\n`);
}

/**
 * Finds settings with another limit for names under the pattern, and for longer patterns: these override the pattern's
 * limit.
 */
async function unaffected(rowlock: RowlockClient, pattern: string, limit: number): Promise<LimitSetting[]> {
  const prefix = pattern.slice(0, -1);
  const settings = await Array.fromAsync(rowlock.listLimits({ prefix }));
  const under = settings.filter((each) => each.pattern !== pattern);
  return under.filter((each) => each.limit !== limit);
}

async function listLimits(
  rowlock: RowlockClient,
  { pattern, json }: LimitFlags,
  context: CliContext,
): Promise<void> {
  const paint = paintOf(context);
  const rows = [["NAME or PATTERN", "LIMIT", "VERSION", "REASON"].map((word) => paint("bold", word))];
  for await (const setting of rowlock.listLimits()) {
    if (pattern !== undefined && setting.pattern !== pattern) continue;
    if (json) context.out(jsonLine(setting));
    const { limit, version, reason } = setting;
    rows.push([shown(settingName(setting)), String(limit), String(version), shown(reason)]);
  }
  if (!json) context.out(rows.length > 1 ? columns(rows) : "No limit was set: each lock has 1.\n");
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

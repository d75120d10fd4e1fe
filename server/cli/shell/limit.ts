// `rowlock limit`: shows limits, and sets them.

import type { LimitSettingView, LimitTarget, Rowlock } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseCount } from "./durations.ts";
import { columns, jsonLine, limitWords, paintOf, said, shown } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
A limit says how many permits of a lock may be held at once: 1 unless one was set, and 0 pauses the lock. Raising it
grants the lock to the next waiters at once; lowering it ends no lease.
${SERVER_HELP}
Examples:
  rowlock limit                                          all limits that were set
  rowlock limit pool/gpu                                 the one in force for a name
  rowlock limit pool/gpu 4 --reason "two more cards"
  rowlock limit --pattern 'etl/*' 0 --reason "database upgrade until 14:00"
  rowlock limit --pattern 'etl/*' --unset
`;

/** How many settings are listed that override the one that was set. */
const SHOWN_MAX = 20;

interface Flags {
  readonly pattern?: string;
  readonly unset?: true;
  readonly ifVersion?: number;
  readonly reason?: string;
  readonly json?: true;
}

export function addLimit(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("[name]", "the lock; leave it out with --pattern")
    .argument("[permits]", "how many permits may be held at once")
    .option("--pattern <pattern>", "for every name that begins with the text before the star")
    .option("--unset", "delete the setting")
    .option(
      "--if-version <version>",
      "only if the setting has this version; 0: if it was never set",
      (text) => parseCount(text),
    )
    .option("--reason <text>", "why, for others who look at the limit")
    .option("--json", "one object per line");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (first?: string, second?: string) => {
      const flags: Flags = command.opts();
      const [name, permits] = flags.pattern === undefined ? [first, second] : [undefined, first];
      if (flags.pattern !== undefined && second !== undefined)
        command.fault("name a lock or a --pattern, not both");
      if (flags.unset && permits !== undefined) command.fault("--unset takes no number of permits");
      if (name?.endsWith("*"))
        command.fault(`"${name}" is the name of one lock: for all that begin so, say --pattern '${name}'`);
      const limit = permits === undefined ? (flags.unset ? null : undefined) : Number(permits);
      if (permits !== undefined && !/^\d+$/.test(permits))
        command.fault(`"${permits}" is no limit: write a whole number`);
      if (permits === undefined && !flags.unset && (flags.reason ?? flags.ifVersion) !== undefined)
        command.fault(
          "--reason and --if-version go with a change: add how many permits may be held, or --unset",
        );
      const target =
        name !== undefined ? { name } : flags.pattern !== undefined && { pattern: flags.pattern };
      if (limit !== undefined && !target)
        command.fault("name the lock whose limit to change, or a --pattern");
      exit(
        await withClient(command, context, async (rowlock) => {
          if (target && limit !== undefined) await set(rowlock, target, limit, flags, context);
          else await look(rowlock, name, flags, context);
          return EXIT.ok;
        }),
      );
    });
}

async function set(
  rowlock: Rowlock,
  target: LimitTarget,
  limit: number | null,
  { ifVersion, reason, json }: Flags,
  context: CliContext,
): Promise<void> {
  const options = { ...(ifVersion !== undefined && { ifVersion }), ...(reason !== undefined && { reason }) };
  const set = await rowlock.setLimit(target, limit, options);
  const others =
    "pattern" in target && limit !== null ? await unaffected(rowlock, target.pattern, limit) : [];
  if (json) {
    context.out(jsonLine({ ...target, ...set, ...(others.length > 0 && { unaffected: others }) }));
    return;
  }
  const draining = set.draining ? ", more than the limit allows: it drains" : "";
  const whose = "name" in target ? target.name : target.pattern;
  context.out(
    `${shown(whose)}: limit ${set.limit} (version ${set.version}); ${set.heldPermits} held${draining}, ${set.waiting} waiting\n`,
  );
  if (set.serversBehind > 0) context.err(said(behindWords(set.serversBehind)));
  if (others.length === 0) return;
  const words = others
    .slice(0, SHOWN_MAX)
    .map((other) => `${shown(other.name ?? other.pattern ?? "")} (${other.limit})`);
  const more = others.length > SHOWN_MAX ? `, and ${others.length - SHOWN_MAX} more` : "";
  context.out(`not changed, because they have limits of their own: ${words.join(", ")}${more}\n`);
}

/** Says what it means that some servers have not confirmed the new limit, and what to do. */
function behindWords(count: number): string {
  const servers = count === 1 ? "1 server has" : `${count} servers have`;
  return (
    `The limit is set, but ${servers} not confirmed it, and may still grant by the old limit. A server that has died ` +
    "grants nothing. Stop each server that is frozen or cut off from the others, and run this command again: once all " +
    "servers use the limit, it prints no such line."
  );
}

/**
 * Finds settings with another limit for names under the pattern, and for longer patterns: these override the pattern's
 * limit.
 */
async function unaffected(rowlock: Rowlock, pattern: string, limit: number): Promise<LimitSettingView[]> {
  const prefix = pattern.slice(0, -1);
  const found: LimitSettingView[] = [];
  for await (const setting of rowlock.listLimits()) {
    const isUnder = setting.pattern !== pattern && (setting.name ?? setting.pattern)?.startsWith(prefix);
    if (isUnder && setting.limit !== limit) found.push(setting);
  }
  return found;
}

async function look(
  rowlock: Rowlock,
  name: string | undefined,
  { pattern, json }: Flags,
  context: CliContext,
): Promise<void> {
  if (name !== undefined) {
    const { limit } = await rowlock.getLock(name);
    context.out(json ? jsonLine({ name, ...limit }) : `${shown(name)}: limit ${limitWords(limit)}\n`);
    return;
  }
  const paint = paintOf(context);
  const rows = [["FOR", "LIMIT", "VERSION", "REASON"].map((word) => paint("bold", word))];
  for await (const setting of rowlock.listLimits()) {
    if (pattern !== undefined && setting.pattern !== pattern) continue;
    if (json) context.out(jsonLine(setting));
    const { limit, version, reason } = setting;
    rows.push([shown(setting.name ?? setting.pattern ?? ""), String(limit), String(version), shown(reason)]);
  }
  if (!json) context.out(rows.length > 1 ? columns(rows) : "No limit was set: each lock has 1.\n");
}

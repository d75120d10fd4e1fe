// `rowlock pause` and `resume`: hold all limits under a name or pattern at 0, also those that names and longer patterns
// have of their own, and set back what was there. Each change depends on the version that was read, so nobody's change
// is overwritten.

import { TEXT_BYTES_MAX } from "../../server/core/bounds.ts";
import type { LimitInForce, LimitSetting, LimitTarget, RowlockClient } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { parseName } from "./flags.ts";
import { behindWords, settingName } from "./lock-views.ts";
import { type PausedLimit, pausedBy, pausedLimit, reasonOf } from "./paused-limits.ts";
import { jsonLine, said, shown } from "./print.ts";
import { resumeWords } from "./wait-causes.ts";

/** How often changes that others make at the same time are looked at again. */
const ROUNDS_MAX = 5;

const PAUSE_HELP = `
Grants nothing more under a name or a pattern until \`rowlock resume\`: it sets the limit to 0, and also each limit that
names and longer patterns under the pattern have of their own. Leases last as long as they would, and waiters keep their
places. What each limit was stands in its reason, so that anybody can resume.

Examples:
  rowlock pause 'etl/*' --reason "database upgrade until 14:00"
  rowlock pause etl/load
  rowlock resume 'etl/*'
`;

const RESUME_HELP = `
Undoes \`rowlock pause\` of the same name or pattern: each limit is what it was before, unless somebody has set it since.
A limit that several pauses hold stays at 0 until all of them are resumed.

Examples:
  rowlock resume 'etl/*'
  rowlock resume etl/load
`;

interface PauseFlags {
  readonly reason?: string;
  readonly json?: true;
}

export const pause: Declare = (command, context) =>
  command
    .argument("<name>", "the lock, or a pattern such as etl/*", parseName)
    .option("--reason <text>", "why; shown beside the limits")
    .option("--json", "one object per line for each limit")
    .asks(PAUSE_HELP, ({ reason = "", json }: PauseFlags, text: string) => {
      const bytes = Buffer.byteLength(reasonOf({ by: [text], limit: null, reason: "", why: reason }));
      if (!command.hasFaults && bytes > TEXT_BYTES_MAX)
        command.fault(`--reason is too long by ${bytes - TEXT_BYTES_MAX} bytes: shorten it`);
      return async (rowlock) => {
        const toPause = (setting: Setting): Change | undefined => {
          const now = pausedLimit(setting);
          if (now?.by.includes(text)) return undefined;
          const before = now ?? { ...setting, by: [], why: reason };
          return { limit: 0, reason: reasonOf({ ...before, by: [...before.by, text] }) };
        };
        const count = await changeAll(rowlock, text, toPause, json, context);
        if (count === 0) context.err(said(`"${text}" is paused already.`));
        return count === null ? EXIT.failed : EXIT.ok;
      };
    });

export const resume: Declare = (command, context) =>
  command
    .argument("<name>", "the lock or the pattern that was paused", parseName)
    .option("--json", "one object per line for each limit")
    .asks(RESUME_HELP, ({ json }: PauseFlags, text: string) => async (rowlock) => {
      const toResume = (setting: Setting): Change | undefined => {
        const now = pausedLimit(setting);
        if (!now?.by.includes(text)) return undefined;
        return undone(now, text);
      };
      const count = await changeAll(rowlock, text, toResume, json, context);
      if (count === 0) {
        const others = await pausing(rowlock, text);
        const words = others
          ? `"${text}" is paused by ${others.by.map((each) => `"${each}"`).join(", ")}: \`${resumeWords(others)}\` ends that.`
          : `No limit is held by a pause of "${text}": see \`rowlock limit\`.`;
        context.err(said(words));
      }
      return count ? EXIT.ok : EXIT.failed;
    });

function undone(paused: PausedLimit, text: string): Change {
  const by = paused.by.filter((each) => each !== text);
  return by.length === 0 ? paused : { limit: 0, reason: reasonOf({ ...paused, by }) };
}

/** A setting, or its absence: then `limit` is null. */
type Setting = Omit<LimitSetting, "limit"> & { readonly limit: number | null };
type Change = Pick<Setting, "limit" | "reason">;

/**
 * Changes all settings under `text` that `change` wants changed, and looks again until there are none, as others may set
 * limits meanwhile. Resolves with how many it has changed; null: others have kept changing them.
 */
async function changeAll(
  rowlock: RowlockClient,
  text: string,
  change: (setting: Setting) => Change | undefined,
  json: true | undefined,
  { out, err }: CliContext,
): Promise<number | null> {
  const { RowlockError } = await import("../typescript/src/index.ts");
  /** The version of the own setting of `text`, as far as is known while nothing is set. */
  let unsetVersion = 0n;
  let count = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let isDone = true;
    for (const setting of await settingsUnder(rowlock, text, unsetVersion)) {
      const wanted = change(setting);
      if (!wanted) continue;
      isDone = false;
      const { name, pattern = "", version: ifVersion } = setting;
      const target: LimitTarget = name === undefined ? { pattern } : { name };
      try {
        const set = await rowlock.setLimit(target, wanted.limit, { ifVersion, reason: wanted.reason });
        count += 1;
        if (json) out(jsonLine({ ...target, ...set }));
        else out(changeLine(setting, set, await stillPausing(rowlock, setting, wanted, set)));
        if (set.serversBehind > 0) err(said(behindWords(set.serversBehind)));
      } catch (error) {
        if (!(error instanceof RowlockError) || error.reason !== "VERSION_MISMATCH") throw error;
        if (settingName(setting) === text) unsetVersion = BigInt(error.metadata.version ?? 0);
      }
    }
    if (isDone) return count;
  }
  err(said("Others change these limits at the same time: run this command again."));
  return null;
}

/** The setting of `text`, even if nothing is set, and all settings of names and longer patterns under it. */
async function settingsUnder(rowlock: RowlockClient, text: string, unsetVersion: bigint): Promise<Setting[]> {
  const isPattern = text.endsWith("*");
  const prefix = isPattern ? text.slice(0, -1) : text;
  const all = await Array.fromAsync(rowlock.listLimits({ prefix }));
  // A pool stands beside the pattern of the same text.
  const listed = all.filter(({ pool }) => pool === undefined);
  // A setting that has only a rate has no limit of its own to hold at 0.
  const others = listed.flatMap(({ limit, ...each }) =>
    isPattern && settingName(each) !== text && limit !== undefined ? [{ ...each, limit }] : [],
  );
  const own = listed.find((each) => settingName(each) === text);
  const target = isPattern ? { pattern: text } : { name: text };
  return [{ ...target, version: unsetVersion, reason: "", ...own, limit: own?.limit ?? null }, ...others];
}

/** What still holds a setting at 0 after its change: pauses that it names itself, or one of a shorter pattern. */
async function stillPausing(
  rowlock: RowlockClient,
  setting: Setting,
  { limit, reason }: Change,
  set: LimitInForce,
): Promise<PausedLimit | undefined> {
  // The answer about a pattern that is not set any more has the default, whatever a shorter pattern says.
  if (limit === null && (set.limit === 0 || setting.name === undefined))
    return await pausing(rowlock, settingName(setting));
  return limit === 0 && setting.limit === 0 ? pausedLimit({ limit, reason }) : undefined;
}

/** The pauses that hold a name, or the names under a pattern, at 0. */
async function pausing(rowlock: RowlockClient, text: string): Promise<PausedLimit | undefined> {
  // A pattern matches its own beginning, unless that is empty. Then there is no shorter one.
  const name = text.replace(/\*$/, "");
  return name === "" ? undefined : pausedBy((await rowlock.getLock(name)).limit);
}

function changeLine(setting: Setting, set: LimitInForce, still: PausedLimit | undefined): string {
  const waits = `${set.heldPermits} held, ${set.waiterCount} waiting`;
  const now = still
    ? `limit 0, also paused by ${still.by.map(shown).join(", ")}`
    : `limit ${set.limit}, was ${setting.limit ?? "not set"}`;
  return `${shown(settingName(setting))}: ${now}; ${waits}\n`;
}

// `rowlock check`: whether a job has succeeded lately, for monitoring systems that run plugins as Nagios does
// (https://nagios-plugins.org/doc/guidelines.html): one line, and one of four exit codes.

import { type LockView, type RowlockClient, RowlockError } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import type { ExitCode } from "./context.ts";
import { sentenceOf } from "./errors.ts";
import { parseDelay, parseOneName } from "./flags.ts";
import { localTime } from "./past-times.ts";
import { shown, timeWords } from "./print.ts";

const HELP = `
Says in one line whether the work under a lock has succeeded lately, for Nagios, Icinga, Zabbix, or cron itself. A run succeeds when its
lease is released, unless it says that it has failed, as \`rowlock run\` does for a command that does not end with 0.

The last success is in the lock's record, which \`rowlock update NAME --not-before none\` makes. Without one it is looked for in the history,
which the server keeps as long as ROWLOCK_HISTORY says.

Ends with 0 (OK), 1 (WARNING: it has succeeded within the time, but not in its last run), 2 (CRITICAL: not within the time, or
somebody holds the lock for longer than --held-max), or 3 (UNKNOWN: nothing is known, or no server answers).

Examples:
  rowlock check cron/nightly --ok-within 26h
  rowlock check cron/nightly --ok-within 26h --held-max 2h
`;

const STATES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"] as const;
type State = (typeof STATES)[number];

interface CheckFlags {
  readonly okWithin?: number;
  readonly heldMax?: number;
}

/** What is known of a lock's runs. */
export interface Runs {
  readonly lastSuccessAt?: Date;
  /** Runs in a row, up to the last one, that failed or were lost. */
  readonly failures: number;
  /** When the present lease that has lasted longest began. */
  readonly heldSince?: Date;
  /** From when on nothing can have been missed; unset: not known. */
  readonly knownFrom?: Date;
}

export const check: Declare = (command, context) =>
  command
    .argument("<name>", "the lock", parseOneName)
    .option("--ok-within <time>", "how long ago the last success may be, such as 26h", parseDelay)
    .option("--held-max <time>", "how long a run may take, such as 2h", parseDelay)
    .asks(HELP, ({ okWithin, heldMax }: CheckFlags, name: string) => {
      if (!command.hasFaults && okWithin === undefined)
        command.fault("say with --ok-within how long ago the last success may be, such as 26h");
      return async (rowlock, servers): Promise<ExitCode> => {
        let answer: readonly [State, string];
        try {
          answer = verdict(await runsOf(rowlock, name), okWithin as number, heldMax, Date.now());
        } catch (error) {
          if (!(error instanceof RowlockError)) throw error;
          answer = ["UNKNOWN", (await sentenceOf(error, servers)).replaceAll(/\s+/g, " ")];
        }
        const [state, words] = answer;
        context.out(`${state} - ${shown(name)}: ${words}\n`);
        return STATES.indexOf(state);
      };
    });

async function runsOf(rowlock: Pick<RowlockClient, "getLock" | "listClaims">, name: string): Promise<Runs> {
  const lock = await rowlock.getLock(name);
  const held = heldSince(lock);
  const { record } = lock;
  const present = { failures: record?.failures ?? 0, ...(held && { heldSince: held }) };
  if (record?.lastSuccess?.endedAt) return { ...present, lastSuccessAt: record.lastSuccess.endedAt };
  let knownFrom: Date | undefined;
  const completeFrom = (from: Date) => {
    knownFrom = from;
  };
  const ended = { name, states: ["ended"], endReasons: ["RELEASED"], pageSize: 1, completeFrom } as const;
  for await (const { end } of rowlock.listClaims(ended))
    if (end?.endedAt) return { ...present, lastSuccessAt: end.endedAt };
  return { ...present, ...(knownFrom && { knownFrom }) };
}

function heldSince({ holders }: LockView): Date | undefined {
  const since = holders.flatMap(({ grantedAt }) => (grantedAt ? [grantedAt.getTime()] : []));
  return since.length === 0 ? undefined : new Date(Math.min(...since));
}

/** The worst that is true, in words, with the age of the last success for graphs. */
export function verdict(
  { lastSuccessAt, failures, heldSince: since, knownFrom }: Runs,
  okWithinMs: number,
  heldMaxMs: number | undefined,
  nowMs: number,
): readonly [State, string] {
  const ageMs = lastSuccessAt && Math.max(0, nowMs - lastSuccessAt.getTime());
  const heldMs = since && Math.max(0, nowMs - since.getTime());
  const isStuck = heldMs !== undefined && heldMaxMs !== undefined && heldMs > heldMaxMs;
  const last = lastSuccessAt
    ? `last success ${timeWords(ageMs ?? 0)} ago (${localTime(lastSuccessAt)})`
    : `no success is known${knownFrom ? `, and the history begins at ${localTime(knownFrom)}` : ""}`;
  const failed =
    failures === 0 ? "" : `, ${failures} ${failures === 1 ? "run has" : "runs have"} failed since`;
  const runs =
    heldMs === undefined ? "" : `, runs now for ${timeWords(heldMs)}${isStuck ? ", which is too long" : ""}`;
  const seconds = (ms: number) => Math.round(ms / 1_000);
  const graph = ageMs === undefined ? "" : ` | age=${seconds(ageMs)}s;;${seconds(okWithinMs)};0`;
  return [stateOf(), `${last}${failed}${runs}${graph}`];

  function stateOf(): State {
    if (isStuck || (ageMs !== undefined && ageMs > okWithinMs)) return "CRITICAL";
    if (ageMs !== undefined) return failures > 0 ? "WARNING" : "OK";
    return knownFrom && nowMs - knownFrom.getTime() >= okWithinMs ? "CRITICAL" : "UNKNOWN";
  }
}

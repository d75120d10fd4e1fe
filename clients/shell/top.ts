// `rowlock top`: who uses locks now and has used them in the last minutes, as it changes.

import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError, Option } from "commander";
import type { ClaimView, ListClaimsOptions, RowlockClient } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { sentenceOf } from "./errors.ts";
import { parsePrefix, timeParser } from "./flags.ts";
import { ifServed } from "./newer-verbs.ts";
import { localTime } from "./past-times.ts";
import { jsonLine, paintOf } from "./print.ts";
import { screenOf } from "./screen.ts";
import { interruption } from "./take.ts";
import {
  GROUPINGS,
  type Grouping,
  groupOf,
  ORDERS,
  type Order,
  type Usage,
  usageOf,
  usageTable,
} from "./usage.ts";

const PAGE_SIZE = 1_000;
/** How many live claims, and how many ended ones, each look reads at most: a server has other work. */
const CLAIMS_MAX = 5_000;
/** How many searches that find too little each look may cost the server. */
const SEARCHES_MAX = 3;
const CLASSES_MAX = 100;
const EVERY_MS = 5_000;
const EVERY_MS_MIN = 1_000;
const OVER_MS = 600_000;

/** `written` is how a person writes the default, which help shows. */
function timeOption(flag: string, about: string, minMs: number, defaultMs: number, written: string): Option {
  return new Option(flag, about).argParser(timeParser(minMs)).default(defaultMs, written);
}

const HELP = `
Counts claims by lock, owner, verified caller or class of names: leases and waiters of now, how long the oldest lease has
been held, and leaks, which are leases without end and leases that nobody has fetched; and, of the last minutes (--over),
how long leases were held together, how many have ended, and which share of these expired or was force-released. On a
terminal, the page is redrawn until Ctrl-C. Elsewhere, it prints a table for each interval.

A class is a name or a pattern of --class; all other names are "other". Without --class, it is the first folder of a name.

Each look reads up to ${CLAIMS_MAX} live claims and ${CLAIMS_MAX} that have ended, and says if there are more: name a prefix then.

Examples:
  rowlock top
  rowlock top etl/ --by owner --sort leaks
  rowlock top --by principal --sort time --over 1h
  rowlock top --by class --class 'etl/*' --class 'web/*' --once --json
`;

interface TopFlags {
  readonly by: Grouping;
  readonly class?: readonly string[];
  readonly sort: Order;
  readonly over: number;
  readonly every: number;
  readonly once?: true;
  readonly json?: true;
}

function addClass(text: string, classes: readonly string[] = []): readonly string[] {
  if (classes.length === CLASSES_MAX)
    throw new InvalidArgumentError(`there are more than ${CLASSES_MAX}: use fewer`);
  return [...classes, text];
}

export const top: Declare = (command, context) =>
  command
    .argument("[prefix]", "only locks whose names begin with this", parsePrefix, "")
    .addOption(new Option("--by <what>", "what to count by").choices(GROUPINGS).default("name"))
    .option(
      "--class <pattern>",
      "with --by class: a class of names, such as etl/*; may be repeated",
      addClass,
    )
    .addOption(new Option("--sort <column>", "what comes first").choices(Object.keys(ORDERS)).default("held"))
    .addOption(timeOption("--over <time>", "how far back to look", 1_000, OVER_MS, "10m"))
    .addOption(timeOption("--every <time>", "how often to look", EVERY_MS_MIN, EVERY_MS, "5s"))
    .option("--once", "look once")
    .option("--json", "one object per line for each group")
    .asks(HELP, (flags: TopFlags, prefix: string) => {
      if (flags.class && flags.by !== "class") command.fault("--class needs --by class: add it");
      // Listens before the client is loaded, so that Ctrl-C is no error from the start.
      const interrupted = interruption(context);
      const signal = AbortSignal.any([interrupted.signal, context.outGone]);
      const view =
        context.screen && !flags.json && !flags.once ? pageView(flags, context) : linesView(flags, context);
      return (rowlock, servers) =>
        ifServed(rowlock, context, async () => {
          const { RowlockError } = await import("../typescript/src/index.ts");
          let wasSeen = false;
          try {
            while (!signal.aborted) {
              try {
                const look = await untilAborted(lookAt(rowlock, prefix, flags), signal);
                if (!look) break;
                wasSeen = true;
                view.show(look);
              } catch (error) {
                // Until the first look, the fault may lie in this command itself.
                if (!(error instanceof RowlockError) || !wasSeen || !error.isTransient) throw error;
                view.lost(await sentenceOf(error, servers));
              }
              if (flags.once) break;
              await sleep(flags.every, undefined, { signal }).catch(() => {});
            }
            return EXIT.ok;
          } finally {
            view.close();
          }
        });
    });

/** Resolves with undefined if the signal comes first. */
async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const aborted = Promise.withResolvers<undefined>();
  const abort = () => aborted.resolve(undefined);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
    work.catch(() => {});
  }
}

/** What was seen at once. */
interface Look {
  readonly at: Date;
  readonly usages: readonly Usage[];
  /** The ended claims were read back to here. */
  readonly since: Date;
  /** Which claims were not read; empty: all were. */
  readonly left: readonly string[];
}

async function lookAt(rowlock: RowlockClient, prefix: string, flags: TopFlags): Promise<Look> {
  const at = new Date();
  const from = new Date(at.getTime() - flags.over);
  const live = await claimsOf(rowlock, { prefix, states: ["held", "waiting"] });
  const ended = await claimsOf(rowlock, { prefix, states: ["ended"], from });
  const since = ended.readBackTo ?? from;
  const usages = usageOf([...live.claims, ...ended.claims], groupOf(flags.by, flags.class ?? []), {
    sinceMs: since.getTime(),
    nowMs: at.getTime(),
    order: flags.sort,
  });
  const left = [
    ...(live.isAll ? [] : [`Only the first ${live.claims.length} live claims were read.`]),
    ...(ended.isAll ? [] : [`Claims that ended were read back to ${localTime(since)} only.`]),
  ];
  return { at, usages, since, left };
}

interface SomeClaims {
  readonly claims: readonly ClaimView[];
  readonly isAll: boolean;
  /** If these are not all ended claims: since when they are. */
  readonly readBackTo?: Date;
}

class SearchedEnough extends Error {}

async function claimsOf(rowlock: RowlockClient, asked: ListClaimsOptions): Promise<SomeClaims> {
  const claims: ClaimView[] = [];
  let searches = 0;
  let searchedBackTo: Date | undefined;
  const searched = (backTo: Date): void => {
    searches += 1;
    searchedBackTo = backTo;
    if (searches === SEARCHES_MAX) throw new SearchedEnough();
  };
  try {
    for await (const claim of rowlock.listClaims({ ...asked, pageSize: PAGE_SIZE, searched })) {
      if (claims.length === CLAIMS_MAX) {
        const endedAt = claim.end?.endedAt;
        return { claims, isAll: false, ...(endedAt && { readBackTo: endedAt }) };
      }
      claims.push(claim);
    }
    return { claims, isAll: true };
  } catch (error) {
    if (!(error instanceof SearchedEnough)) throw error;
    return { claims, isAll: false, ...(searchedBackTo && { readBackTo: searchedBackTo }) };
  }
}

interface TopView {
  show(look: Look): void;
  /** No server answers at present; `sentence` ends with a line break. */
  lost(sentence: string): void;
  close(): void;
}

function textOf({ usages, left, at, since }: Look, { by }: TopFlags, context: CliContext): string {
  const paint = paintOf(context);
  const table = usageTable(usages, { by, overMs: at.getTime() - since.getTime(), paint });
  return [table, ...left.map((sentence) => `${paint("yellow", sentence)}\n`)].join("");
}

function pageView(flags: TopFlags, context: CliContext): TopView {
  let text = "";
  let lostWords = "";
  const screen = screenOf(context, () => ({ body: `${text}${lostWords}`.trimEnd().split("\n") }));
  return {
    show(look) {
      text = textOf(look, flags, context);
      lostWords = "";
      screen.draw();
    },
    lost(sentence) {
      lostWords = `\n${paintOf(context)("red", sentence.trimEnd())}`;
      screen.draw();
    },
    close: screen.close,
  };
}

function linesView(flags: TopFlags, context: CliContext): TopView {
  const { out, err } = context;
  let isLost = false;
  return {
    show(look) {
      isLost = false;
      const at = look.at.toISOString();
      if (!flags.json) {
        out(
          `${flags.once ? "" : `${localTime(look.at)}\n`}${textOf(look, flags, context)}${flags.once ? "" : "\n"}`,
        );
        return;
      }
      for (const usage of look.usages) out(jsonLine({ at, since: look.since, ...usage }));
      for (const sentence of look.left) err(`rowlock: ${sentence}\n`);
    },
    lost(sentence) {
      if (!isLost) err(sentence);
      isLost = true;
    },
    close() {},
  };
}

// `rowlock ls`, `show` and `watch`: list locks, show one of them, and show locks as they change.

import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "commander";
import type { ClaimView, LockView, RowlockClient, RowlockError } from "../typescript/src/index.ts";
import { claimTable } from "./claim-views.ts";
import type { Declare } from "./command.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { sentenceOf } from "./errors.ts";
import { addLabel, given, parseName, timeParser } from "./flags.ts";
import { lockLine, lockPage, lockTable } from "./lock-views.ts";
import { ifServed } from "./newer-verbs.ts";
import { jsonLine, paintOf, said, shown } from "./print.ts";
import { screenOf } from "./screen.ts";
import { interruption } from "./take.ts";
import { type Changes, type Watched, WatchedLocks, watchedOf } from "./watched-locks.ts";

const PAGE_SIZE = 1_000;
const CLAIM_FLAGS = ["owner", "principal", "label", "olderThan"];
const ORDERS = { name: "name", "longest-wait": "longest wait", "most-waiters": "most waiters" } as const;

const LS_HELP = `
Shows all locks, or those whose names begin with the prefix. The server forgets a lock some time after its last use,
unless the lock has a record or its own limit was ever set.

With --owner, --principal, --label or --older-than it lists holders and waiters instead of locks.

Examples:
  rowlock ls
  rowlock ls etl/ --busy
  rowlock ls --order longest-wait --json
  rowlock ls --owner nightly
  rowlock ls etl/ --label team=data --older-than 10m
`;

interface LsFlags extends ClaimFlags {
  readonly busy?: true;
  readonly order?: keyof typeof ORDERS;
  readonly json?: true;
}

/** Flags that list claims instead of locks. */
interface ClaimFlags {
  readonly owner?: string;
  readonly principal?: string;
  readonly label?: Record<string, string>;
  readonly olderThan?: number;
}

export const ls: Declare = (command, context) =>
  command
    .argument("[prefix]", "what the locks' names begin with", "")
    .option("--busy", "only locks that are held or waited for")
    .addOption(
      new Option("--order <order>", "which locks come first (default name)").choices(Object.keys(ORDERS)),
    )
    .option("--owner <text>", "holders and waiters with this owner")
    .option("--principal <name>", "holders and waiters that are this verified caller")
    .option("--label <key=value>", "holders and waiters with this label; may be repeated", addLabel)
    .option("--older-than <time>", "holders that have held a lock for longer", timeParser(0))
    .option("--json", "one object per line")
    .asks(LS_HELP, ({ busy, order, json, ...flags }: LsFlags, prefix: string) => {
      if (Object.keys(flags).some((flag) => CLAIM_FLAGS.includes(flag))) {
        if ((busy ?? order) !== undefined)
          command.fault(
            "--busy and --order are about locks, and --owner, --principal, --label and --older-than list holders and waiters: leave some of them out",
          );
        return (rowlock) => ifServed(rowlock, context, () => lsClaims(rowlock, prefix, flags, json, context));
      }
      return async (rowlock) => {
        const asked = {
          prefix,
          busyOnly: busy ?? false,
          order: ORDERS[order ?? "name"],
          pageSize: PAGE_SIZE,
        };
        const locks: LockView[] = [];
        for await (const lock of rowlock.listLocks(asked)) {
          if (json) context.out(jsonLine(lock));
          else locks.push(lock);
        }
        if (!json) context.out(lockTable(locks, Date.now(), paintOf(context)));
        return EXIT.ok;
      };
    });

async function lsClaims(
  rowlock: RowlockClient,
  prefix: string,
  { owner, principal, label, olderThan }: ClaimFlags,
  json: true | undefined,
  context: CliContext,
): Promise<ExitCode> {
  const states: ClaimView["state"][] = olderThan === undefined ? ["held", "waiting"] : ["held"];
  const asked = { prefix, states, pageSize: PAGE_SIZE, ...given({ owner, principal, labels: label }) };
  const claims: ClaimView[] = [];
  for await (const claim of rowlock.listClaims(asked)) {
    const heldMs = Date.now() - (claim.grantedAt?.getTime() ?? Number.POSITIVE_INFINITY);
    if (olderThan !== undefined && heldMs < olderThan) continue;
    if (json) context.out(jsonLine(claim));
    else claims.push(claim);
  }
  if (json) return EXIT.ok;
  const options = { isOfOne: false, nowMs: Date.now(), paint: paintOf(context) };
  context.out(claims.length === 0 ? "There are no such claims.\n" : claimTable(claims, options));
  return EXIT.ok;
}

const SHOW_HELP = `
Shows up to 100 holders and the first 100 waiters. For a name that nobody has used, it shows the limit that would apply.

Examples:
  rowlock show etl/load
  rowlock show etl/load --json | jq '.holders[].owner'
`;

export const show: Declare = (command, context) =>
  command
    .argument("<name>", "the lock", parseName)
    .option("--json", "one object")
    .asks(SHOW_HELP, ({ json }: { json?: true }, name: string) => async (rowlock) => {
      const lock = await rowlock.getLock(name);
      context.out(json ? jsonLine(lock) : lockPage(lock, Date.now(), paintOf(context)));
      return EXIT.ok;
    });

/** The pause after a report that no server answers, before the next attempt. */
const AGAIN_MS = 1_000;
const NOT_LET_THROUGH = ["UNIMPLEMENTED", "INTERNAL", "UNKNOWN"];

const WATCH_HELP = `
Shows a lock as \`rowlock show\` does, or, for a prefix that ends in / or *, a list as \`rowlock ls\` does. Without an
argument, it shows all locks. The server sends each change as it happens. On a terminal, the page is redrawn until
Ctrl-C. Elsewhere, it prints one line for each lock, and then one line for each change. A renewal is not a change.

If the connection is lost, the watch continues through another server, or when one comes back. It reports that it began
anew: it shows only the latest state of what changed meanwhile.

Examples:
  rowlock watch etl/load
  rowlock watch 'etl/*'
  rowlock watch etl/ --json | jq 'select(.waiting > 10) | .name'
`;

export const watch: Declare = (command, context) =>
  command
    .argument("[name]", "the lock, or a prefix that ends in / or *", "")
    .option("--json", "one object per line for each change")
    .asks(WATCH_HELP, ({ json = false }: { json?: boolean }, text: string) => {
      // Listens before the client is loaded, so that Ctrl-C is no error from the start.
      const interrupted = interruption(context);
      const signal = AbortSignal.any([interrupted.signal, context.outGone]);
      const which = watchedOf(text);
      const watched = new WatchedLocks(which);
      const view = context.screen && !json ? pageView(which, context) : linesView(json, context);
      return async (rowlock, servers) => {
        const { RowlockError } = await import("../typescript/src/index.ts");
        try {
          while (!signal.aborted) {
            try {
              for await (const changes of watched.changes(rowlock, signal)) view.show(changes, watched);
            } catch (error) {
              if (signal.aborted) break;
              if (!(error instanceof RowlockError)) throw error;
              if (isNotLetThrough(error)) {
                context.err(notLetThrough(error));
                return EXIT.noServer;
              }
              // Until the first locks were seen, the fault may lie in this command itself.
              if (!watched.wasSeen || !error.isTransient) throw error;
              view.lost(await sentenceOf(error, servers));
              await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
            }
          }
          return EXIT.ok;
        } finally {
          view.close();
          interrupted.stop();
        }
      };
    });

/**
 * Whether a proxy refuses streams, or an older server has no watches, although other calls came through: such errors
 * carry no reason of ours.
 */
function isNotLetThrough({ reason, code }: RowlockError): boolean {
  return reason === "UNKNOWN" && NOT_LET_THROUGH.includes(code);
}

function notLetThrough({ code, message }: RowlockError): string {
  return said(
    `The server, or a proxy in front of it, does not let watches through (${code}: ${message}): use \`rowlock ls\` or \`rowlock show\` instead.`,
  );
}

/** What the command shows. */
interface WatchView {
  show(changes: Changes, watched: WatchedLocks): void;
  /** The locks cannot be watched at present; `sentence` ends with a line break. */
  lost(sentence: string): void;
  close(): void;
}

/** A page that fills the terminal. */
function pageView(watched: Watched, context: CliContext): WatchView {
  const paint = paintOf(context);
  let locks: readonly LockView[] = [];
  let lostWords = "";
  const screen = screenOf(context, () => {
    const [first] = locks;
    const view =
      "name" in watched && first ? lockPage(first, Date.now(), paint) : lockTable(locks, Date.now(), paint);
    return `${view}${lostWords}`;
  });
  return {
    show: (_, state) => {
      locks = state.locks;
      lostWords = "";
      screen.draw();
    },
    lost: (sentence) => {
      lostWords = `\n${paint("red", sentence.trimEnd())}`;
      screen.draw();
    },
    close: screen.close,
  };
}

function linesView(isJson: boolean, { out, err }: CliContext): WatchView {
  let isLost = false;
  return {
    show({ beganAnew, changed, gone }) {
      isLost = false;
      if (beganAnew)
        err("rowlock: The watch began anew: it shows only the latest state of what changed meanwhile.\n");
      const now = new Date();
      const at = now.toISOString();
      for (const lock of changed)
        out(isJson ? jsonLine({ at, ...lock }) : `${at} ${lockLine(lock, now.getTime())}\n`);
      for (const name of gone)
        out(isJson ? jsonLine({ at, name, forgotten: true }) : `${at} ${shown(name)}: forgotten\n`);
    },
    lost(sentence) {
      if (!isLost) err(sentence);
      isLost = true;
    },
    close() {},
  };
}

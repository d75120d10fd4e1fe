// `rowlock watch`: locks as they change.

import type { LockView, RowlockError } from "../../../clients/typescript/src/index.ts";
import { DURATION_US_MAX } from "../../core/bounds.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseDuration } from "./durations.ts";
import { LivePage } from "./live-page.ts";
import { lockPage } from "./lock-page.ts";
import { lockTable, ownersOf } from "./lock-table.ts";
import { jsonLine, type Paint, paintOf, shown } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { changesBetween, lookAgain, type Watched, watchedOf } from "./watching.ts";
import { sentenceOf, withClient } from "./with-client.ts";

const INTERVAL_MS = 1_000;
const INTERVAL_MS_MIN = 100;
const MS_MAX = DURATION_US_MAX / 1_000;
const ENDS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

const HELP = `
Of a name, shows what \`rowlock show\` does; of a prefix, which ends in / or *, what \`rowlock ls\` does; of nothing, all
locks. On a terminal it is written anew all the time, until Ctrl-C. Elsewhere there is a line for each lock at first, and
one whenever something has changed: that a lease was renewed is no change.
${SERVER_HELP}
Examples:
  rowlock watch etl/load
  rowlock watch 'etl/*' --interval 5s
  rowlock watch etl/ --json | jq 'select(.waiting > 10) | .name'
`;

/** Where what is seen goes. */
interface View {
  show(locks: readonly LockView[]): void;
  /** It cannot be seen at present; `sentence` has a line end. */
  lost(sentence: string): void;
  close(): void;
}

export function addWatch(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("[name]", "the lock, or a prefix that ends in / or *", "")
    .option("--interval <time>", "how often to look (default 1s)", (text) =>
      parseDuration(text, { minMs: INTERVAL_MS_MIN, maxMs: MS_MAX }),
    )
    .option("--json", "one object a line for each change");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (text: string) => {
      const { interval = INTERVAL_MS, json = false } = command.opts<{ interval?: number; json?: true }>();
      const watched = watchedOf(text);
      const view =
        context.screen && !json ? new Screen(watched, context, paintOf(context)) : new Lines(json, context);
      const ended = endOf(context);
      exit(
        await withClient(command, context, async (rowlock, servers) => {
          const { RowlockError } = await import("../../../clients/typescript/src/index.ts");
          /** Until something was seen, what is wrong may be this command. */
          let wasSeen = false;
          while (!ended.signal.aborted) {
            try {
              for await (const locks of lookAgain(rowlock, watched, interval, ended.signal)) {
                wasSeen = true;
                view.show(locks);
              }
            } catch (error) {
              if (!wasSeen || !(error instanceof RowlockError) || !(error as RowlockError).isTransient)
                throw error;
              view.lost(await sentenceOf(error, servers));
            }
          }
          return EXIT.ok;
        }).finally(() => {
          view.close();
          ended.stop();
        }),
      );
    });
}

/** Aborted by a signal, and when nobody reads what is written. */
function endOf(context: CliContext): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const silence = ENDS.map((signal) => context.onSignal(signal, () => controller.abort()));
  return {
    signal: AbortSignal.any([controller.signal, context.outGone]),
    stop: () => {
      for (const off of silence) off();
    },
  };
}

class Screen implements View {
  readonly #watched: Watched;
  readonly #context: CliContext;
  readonly #paint: Paint;
  #page: LivePage | undefined;
  #seen = "";

  constructor(watched: Watched, context: CliContext, paint: Paint) {
    this.#watched = watched;
    this.#context = context;
    this.#paint = paint;
  }

  show(locks: readonly LockView[]): void {
    const [first] = locks;
    if ("name" in this.#watched) this.#seen = first ? lockPage(first, Date.now(), this.#paint) : "";
    else
      this.#seen =
        locks.length > 0 ? lockTable(locks, Date.now(), this.#paint) : "There are no such locks.\n";
    this.#draw("");
  }

  lost(sentence: string): void {
    this.#draw(`\n${this.#paint("red", sentence.trimEnd())}`);
  }

  close(): void {
    this.#page?.leave();
  }

  #draw(below: string): void {
    this.#page ??= new LivePage(this.#context, this.#paint);
    const at = this.#paint("dim", new Date().toLocaleTimeString());
    this.#page.show(`${at}\n\n${this.#seen}${below}`);
  }
}

class Lines implements View {
  readonly #isJson: boolean;
  readonly #context: CliContext;
  #before = new Map<string, string>();
  #isLost = false;

  constructor(isJson: boolean, context: CliContext) {
    this.#isJson = isJson;
    this.#context = context;
  }

  show(locks: readonly LockView[]): void {
    this.#isLost = false;
    const { changed, gone, now } = changesBetween(this.#before, locks);
    this.#before = now;
    const at = new Date().toISOString();
    for (const lock of changed)
      this.#context.out(this.#isJson ? jsonLine({ at, ...lock }) : `${at} ${lineOf(lock)}\n`);
    for (const name of gone)
      this.#context.out(
        this.#isJson ? jsonLine({ at, name, forgotten: true }) : `${at} ${shown(name)}: forgotten\n`,
      );
  }

  lost(sentence: string): void {
    if (!this.#isLost) this.#context.err(sentence);
    this.#isLost = true;
  }

  close(): void {}
}

function lineOf(lock: LockView): string {
  const { name, limit, heldPermits, waiting, draining } = lock;
  const held = heldPermits > 0 || lock.holderCount > 0 ? `held by ${ownersOf(lock)}` : "free";
  const permits = heldPermits > 1 ? ` (${heldPermits} permits)` : "";
  const drains = draining ? ", drains" : "";
  return `${shown(name)}: limit ${limit.limit}, ${held}${permits}${drains}, ${waiting} waiting`;
}

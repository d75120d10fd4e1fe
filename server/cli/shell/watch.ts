// `rowlock watch`: shows locks as they change.

import { setTimeout as sleep } from "node:timers/promises";
import type { LockView, RowlockError } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { LivePage } from "./live-page.ts";
import { lockPage } from "./lock-page.ts";
import { lockTable, ownersOf } from "./lock-table.ts";
import { counted, dueWords, jsonLine, type Paint, paintOf, said, shown } from "./print.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { type Changes, type Watched, WatchedLocks, watchedOf } from "./watching.ts";
import { sentenceOf, withClient } from "./with-client.ts";

/** How often the page is redrawn if only the time has changed. */
const REDRAW_MS = 1_000;
/** The pause after a report that no server answers, before the next attempt. */
const AGAIN_MS = 1_000;
const NOT_LET_THROUGH = ["UNIMPLEMENTED", "INTERNAL", "UNKNOWN"];
const ENDS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

const HELP = `
For a name, shows what \`rowlock show\` does; for a prefix, which ends in / or *, what \`rowlock ls\` does; without an
argument, all locks. The server sends each change as it happens. On a terminal, the page is redrawn until Ctrl-C.
Elsewhere, it prints a line for each lock at first, and one for each change; a renewal is not a change.

If the connection is lost, the watch goes on through another server, or when one comes back, and reports that it began
anew: of what changed meanwhile, it shows only the latest state.
${SERVER_HELP}
Examples:
  rowlock watch etl/load
  rowlock watch 'etl/*'
  rowlock watch etl/ --json | jq 'select(.waiting > 10) | .name'
`;

/** Shows what is watched. */
interface View {
  show(changes: Changes, watched: WatchedLocks): void;
  /** The locks cannot be watched at present; `sentence` ends with a line break. */
  lost(sentence: string): void;
  close(): void;
}

export function addWatch(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("[name]", "the lock, or a prefix that ends in / or *", "")
    .option("--json", "one object per line for each change");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (text: string) => {
      const { json = false } = command.opts<{ json?: true }>();
      const which = watchedOf(text);
      const watched = new WatchedLocks(which);
      const view =
        context.screen && !json ? new Screen(which, context, paintOf(context)) : new Lines(json, context);
      const { signal, stop } = endOf(context);
      exit(
        await withClient(command, context, async (rowlock, servers) => {
          const { RowlockError } = await import("../../../clients/typescript/src/index.ts");
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
        }).finally(() => {
          view.close();
          stop();
        }),
      );
    });
}

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

/** `signal` is aborted by a process signal, and when nobody reads the output any more. */
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
  #redraws: NodeJS.Timeout | undefined;
  #locks: readonly LockView[] = [];
  #lost = "";

  constructor(watched: Watched, context: CliContext, paint: Paint) {
    this.#watched = watched;
    this.#context = context;
    this.#paint = paint;
  }

  show(_: Changes, { locks }: WatchedLocks): void {
    this.#locks = locks;
    this.#lost = "";
    this.#draw();
  }

  lost(sentence: string): void {
    this.#lost = `\n${this.#paint("red", sentence.trimEnd())}`;
    this.#draw();
  }

  close(): void {
    clearInterval(this.#redraws);
    this.#page?.leave();
  }

  #draw(): void {
    this.#page ??= new LivePage(this.#context, this.#paint);
    this.#redraws ??= setInterval(() => this.#draw(), REDRAW_MS);
    const at = this.#paint("dim", new Date().toLocaleTimeString());
    this.#page.show(`${at}\n\n${this.#seen()}${this.#lost}`);
  }

  #seen(): string {
    const [first] = this.#locks;
    if (!first) return "There are no such locks.\n";
    return "name" in this.#watched
      ? lockPage(first, Date.now(), this.#paint)
      : lockTable(this.#locks, Date.now(), this.#paint);
  }
}

class Lines implements View {
  readonly #isJson: boolean;
  readonly #context: CliContext;
  #isLost = false;

  constructor(isJson: boolean, context: CliContext) {
    this.#isJson = isJson;
    this.#context = context;
  }

  show({ beganAnew, changed, gone }: Changes): void {
    this.#isLost = false;
    if (beganAnew)
      this.#context.err(
        "rowlock: The watch began anew: it shows only the latest state of what changed meanwhile.\n",
      );
    const now = new Date();
    const at = now.toISOString();
    for (const lock of changed)
      this.#context.out(this.#isJson ? jsonLine({ at, ...lock }) : `${at} ${lineOf(lock, now.getTime())}\n`);
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

function lineOf(lock: LockView, nowMs: number): string {
  const { name, limit, heldPermits, waiting, draining, record } = lock;
  const held = heldPermits > 0 || lock.holderCount > 0 ? `held by ${ownersOf(lock)}` : "free";
  const permits = heldPermits > 1 ? ` (${heldPermits} permits)` : "";
  const drains = draining ? ", drains" : "";
  const { status = "", attemptsLeft, notBefore } = record ?? {};
  const remembered = [
    status === "" ? [] : `, status ${shown(status)}`,
    attemptsLeft === undefined ? [] : `, ${counted(attemptsLeft, "attempt")} left`,
    record && notBefore ? `, due ${dueWords(record, nowMs)}` : [],
  ].flat();
  return `${shown(name)}: limit ${limit.limit}, ${held}${permits}${drains}, ${waiting} waiting${remembered.join("")}`;
}

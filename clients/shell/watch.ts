// `rowlock watch`: shows locks as they change, over any number of connections.

import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "commander";
import type { ConnectionEvent, RowlockError } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { sentenceOf } from "./errors.ts";
import { LOCK_ORDERS, type LockOrder } from "./lock-orders.ts";
import { said } from "./print.ts";
import { interruption } from "./take.ts";
import { linesView, pageView } from "./watch-views.ts";
import { WatchedLocks, watchedOf } from "./watched-locks.ts";

/** The pause after a report that no server answers, before the next attempt. */
const AGAIN_MS = 1_000;
const NOT_LET_THROUGH = ["UNIMPLEMENTED", "INTERNAL", "UNKNOWN"];

const WATCH_HELP = `
Shows a lock as \`rowlock show\` does, or, for a prefix that ends in / or *, a list as \`rowlock ls\` does. Without an
argument, it shows all locks. The server sends each change as it happens. On a terminal, it shows a page until q or
Ctrl-C: it marks what has just changed, and the arrow keys and Page Up and Down scroll. Elsewhere, it prints one line
for each lock, and then one line for each change. A renewal is not a change.

If the connection is lost, the watch continues through another server, or when one comes back. It reports that it began
anew: it shows only the latest state of what changed meanwhile.

Examples:
  rowlock watch etl/load
  rowlock watch 'etl/*'
  rowlock watch --busy --order longest-wait
  rowlock watch etl/ --json | jq 'select(.waiterCount > 10) | .name'
`;

interface WatchFlags {
  readonly busy?: boolean;
  readonly order?: LockOrder;
  readonly json?: boolean;
}

export const watch: Declare = (command, context) => {
  let onConnection: (event: ConnectionEvent) => void = () => {};
  command
    .argument("[name]", "a lock, or a prefix that ends in / or *", "")
    .option("--busy", "only locks that are held or waited for")
    .addOption(
      new Option("--order <order>", "which locks come first (default name)").choices(
        Object.keys(LOCK_ORDERS),
      ),
    )
    .option("--json", "one object per line for each change");
  command.asks(
    WATCH_HELP,
    ({ busy = false, order, json = false }: WatchFlags, text: string) => {
      const which = watchedOf(text);
      if ("name" in which && (busy || order !== undefined))
        command.fault(
          "--busy and --order choose from several locks: watch a prefix that ends in / or *, or leave them out",
        );
      // Listens before the client is loaded, so that Ctrl-C is no error from the start.
      const interrupted = interruption(context);
      const signal = AbortSignal.any([interrupted.signal, context.outGone]);
      const watched = new WatchedLocks(which);
      const options = { which, isBusyOnly: busy, order: order ?? "name", isJson: json } as const;
      const view = context.screen && !json ? pageView(options, context) : linesView(options, context);
      onConnection = ({ kind, address }) => view.reconnecting(kind === "disconnected" ? address : null);
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
        }
      };
    },
    { onConnection: (event) => onConnection(event) },
  );
};

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

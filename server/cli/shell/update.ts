// `rowlock update`: changes a lock's record.

import { InvalidArgumentError } from "commander";
import type { LockChanges } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseCount } from "./durations.ts";
import { parseName } from "./lock-options.ts";
import { columns, jsonLine, recordRows, shown } from "./print.ts";
import { parseAttempts, parseDelay, parseStatus } from "./record-options.ts";
import { addServerOptions, SERVER_HELP } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";
import { withClient } from "./with-client.ts";

const HELP = `
Changes a lock's record, and creates the lock if it does not exist: a task for \`rowlock capture\`, or the next run of a
job. It does not affect holders of the lock.
${SERVER_HELP}
Examples:
  rowlock update task/7 --status new --attempts 3
  rowlock update report --not-before 2030-01-01T06:00:00Z
  rowlock update report --not-before 10m           from now
  rowlock update report --not-before none          at any time
  rowlock update task/8 --status new --if-version 0
`;

interface Flags {
  readonly notBefore?: Pick<LockChanges, "notBefore" | "notBeforeIn">;
  /** Wrapped in an object, because commander would take a plain null for an empty text. */
  readonly attempts?: Pick<LockChanges, "attemptsLeft">;
  readonly status?: string;
  readonly ifVersion?: number;
  readonly json?: true;
}

export function addUpdate(command: ShellCommand, context: CliContext, exit: (code: ExitCode) => void): void {
  command
    .argument("<name>", "the lock", parseName)
    .option("--status <word>", "its status", parseStatus)
    .option("--attempts <count>", "how many more times the lock may be granted; or unlimited", (text) => ({
      attemptsLeft: text === "unlimited" ? null : parseAttempts(text),
    }))
    .option(
      "--not-before <time>",
      "grant nothing before this instant, or for this long from now; none: grant at any time",
      parseNotBefore,
    )
    .option("--if-version <version>", "only if the record has this version; 0: if there is none", (text) =>
      parseCount(text),
    )
    .option("--json", "one object");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      const { notBefore, attempts, status, ifVersion, json }: Flags = command.opts();
      if (!command.hasFaults && !notBefore && !attempts && status === undefined)
        command.fault("say what to set: --status, --attempts or --not-before");
      exit(
        await withClient(command, context, async (rowlock) => {
          const record = await rowlock.updateLock(name, {
            ...notBefore,
            ...attempts,
            ...(status !== undefined && { status }),
            ...(ifVersion !== undefined && { ifVersion }),
          });
          if (json) context.out(jsonLine({ name, ...record }));
          else context.out(columns([["name", shown(name)], ...recordRows(record, Date.now())]));
          return EXIT.ok;
        }),
      );
    });
}

function parseNotBefore(text: string): NonNullable<Flags["notBefore"]> {
  if (text === "none") return { notBefore: null };
  if (!/^\d{4}-/.test(text)) return { notBeforeIn: parseDelay(text) };
  const isInstant = /T.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
  if (!isInstant)
    throw new InvalidArgumentError("write an instant with its zone, such as 2030-01-01T06:00:00Z");
  return { notBefore: new Date(text) };
}

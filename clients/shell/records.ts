// `rowlock update` and `delete`: change and delete a lock's record.

import { ATTEMPTS_MAX } from "../../server/core/bounds.ts";
import type { RecordChanges } from "../typescript/src/index.ts";
import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { countParser, given, parseNotBefore, parseOneName, parseStatus } from "./flags.ts";
import { recordRows } from "./lock-views.ts";
import { columns, jsonLine, shown } from "./print.ts";

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

// The commands of a session, by the request fields that they come in: the method's function that runs each, and the
// field for its answer. Also the order in which the commands of one message begin.

import type { DescMessage } from "@bufbuild/protobuf";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import type { SessionCommand } from "#proto/rowlock/v1/lock_service_pb.js";
import { LockService, SessionCommandSchema, SessionResultSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Run } from "../handler.ts";
import type { MethodContext } from "../methods/method.ts";
import { METHODS } from "../methods/methods.ts";
import { renewLeases } from "../methods/renew-and-release.ts";

type Named = Exclude<SessionCommand["command"]["case"], "cancel" | undefined>;

export interface CommandKind {
  readonly run: Run<[MethodContext]>;
  /** Its name in metrics and in the log: `Acquire`. */
  readonly method: string;
  /** The message type of its answers, and their field in SessionResult. */
  readonly output: DescMessage;
  readonly field: number;
}

const RUNS = { ...METHODS, renewLeases } as unknown as Readonly<Record<Named, Run<[MethodContext]>>>;

/** Commands that keep leases or give them back begin first; commands that only read begin last. */
const ORDER: readonly (Named | "cancel")[] = [
  "cancel",
  "release",
  "renew",
  "renewLeases",
  "forceRelease",
  "setLimit",
  "updateLock",
  "deleteLock",
  "acquire",
  "capture",
  "waitInQueue",
  "getLock",
  "listLocks",
  "listLimits",
  "watchLocks",
];

export const COMMANDS: Readonly<Record<Named, CommandKind>> = Object.fromEntries(
  SessionCommandSchema.fields.flatMap(({ oneof, localName, name }) => {
    const answer = SessionResultSchema.fields.find((field) => field.name === name);
    if (!oneof || answer?.fieldKind !== "message") return [];
    const { number: field, message: output } = answer;
    const method = LockService.methods.find((known) => known.localName === localName)?.name ?? "RenewLeases";
    return [[localName, { run: RUNS[localName as Named], method, output, field }]];
  }),
) as Record<Named, CommandKind>;

/** Returns the commands of one message in the order in which they begin. */
export function inOrder(commands: readonly SessionCommand[]): readonly SessionCommand[] {
  if (commands.length < 2) return commands;
  const rank = ({ command }: SessionCommand) => (command.case ? ORDER.indexOf(command.case) : 0);
  return [...commands].sort((a, b) => rank(a) - rank(b));
}

/** Whether a command counts as a wait. */
export function waits({ command }: SessionCommand): boolean {
  return (
    command.case === "waitInQueue" ||
    command.case === "watchLocks" ||
    (command.case === "capture" && command.value.maxWait !== undefined) ||
    (command.case === "acquire" && command.value.whenBusy === WhenBusy.WAIT)
  );
}

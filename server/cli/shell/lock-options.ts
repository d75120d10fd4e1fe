// The flags of the commands that take a lock.

import { InvalidArgumentError, Option } from "commander";
import type { LockOptions, Refusal } from "../../../clients/typescript/src/index.ts";
import { DURATION_US_MAX, NAME_BYTES_MAX, PERMITS_MAX, TTL_US_MIN } from "../../core/bounds.ts";
import { parseCount, parseDuration, told } from "./durations.ts";
import { shown } from "./print.ts";
import { addRecordOptions, recordOptions } from "./record-options.ts";
import type { ShellCommand } from "./shell-command.ts";

const MS_MAX = DURATION_US_MAX / 1_000;
const TTL_MS_MIN = TTL_US_MIN / 1_000;

interface Flags {
  /** false: --no-wait. */
  readonly wait?: number | "forever" | boolean;
  readonly permits?: number;
  readonly shared?: true;
  readonly exclusive?: true;
  readonly ttl?: number;
  readonly owner?: string;
  readonly label?: Record<string, string>;
}

/** Adds the flags of a command that takes one lock by its name. */
export function addLockOptions(command: ShellCommand): ShellCommand {
  command
    .option("--wait <time>", "how long to wait in the queue (default forever)", parseWait)
    .option("--no-wait", "do not wait: take it now or not at all")
    .option("--permits <count>", "how many permits to take (default 1)", (text) =>
      parseCount(text, 1, PERMITS_MAX),
    )
    .addOption(
      new Option("--shared", "as a reader: beside other readers").conflicts(["exclusive", "permits"]),
    )
    .addOption(new Option("--exclusive", "as a writer: alone").conflicts("permits"));
  return addLeaseOptions(command);
}

/** Adds the flags of any command that takes leases. */
export function addLeaseOptions(command: ShellCommand): ShellCommand {
  command
    .option("--ttl <time>", "how long the lease lasts without a renewal (default 30s)", parseTtl)
    .option("--owner <text>", "the holder's name, for people who look (default: machine and process)")
    .option("--label <key=value>", "a label for people who look; may be repeated", addLabel);
  return addRecordOptions(command);
}

/** Returns a lock's name. Throws an InvalidArgumentError, which commander reports, if it is empty or too long. */
export function parseName(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > NAME_BYTES_MAX)
    throw new InvalidArgumentError(
      `it is ${bytes === 0 ? "empty" : `${bytes} bytes long`}: name the lock in 1 to ${NAME_BYTES_MAX} bytes`,
    );
  return text;
}

/** Returns milliseconds. Throws an InvalidArgumentError, which commander reports. */
export function parseTtl(text: string): number {
  return parseDuration(text, { minMs: TTL_MS_MIN, maxMs: MS_MAX });
}

/** Returns milliseconds, or `forever`. Throws an InvalidArgumentError, which commander reports. */
export function parseWait(text: string): number | "forever" {
  return text === "forever" ? text : parseDuration(text, { minMs: 0, maxMs: MS_MAX });
}

/** Returns what the flags ask for. */
export function lockOptions(command: ShellCommand): LockOptions {
  const { wait, permits, shared, exclusive }: Flags = command.opts();
  return {
    wait: wait === false ? 0 : typeof wait === "number" ? wait : "forever",
    ...(permits !== undefined && { permits }),
    ...(shared && { mode: "shared" }),
    ...(exclusive && { mode: "exclusive" }),
    ...leaseOptions(command),
  };
}

export function leaseOptions(command: ShellCommand) {
  const { ttl, owner, label }: Flags = command.opts();
  return {
    ...(ttl !== undefined && { ttl }),
    ...(owner !== undefined && { owner }),
    ...(label && { labels: label }),
    ...recordOptions(command),
  };
}

/** Says in one sentence why the lock was not acquired. */
export function refusedSentence(name: string, refusal: Refusal): string {
  switch (refusal.reason) {
    case "BUSY":
    case "TIMED_OUT": {
      const [first, ...more] = refusal.holders;
      const whom = first
        ? `: ${shown(first.owner)} holds it${more.length > 0 ? `, and ${more.length} more` : ""}`
        : "";
      return refusal.reason === "BUSY"
        ? `"${name}" is busy${whom}.`
        : `"${name}" did not become free in time${whom}.`;
    }
    case "PAUSED":
      return `"${name}" is paused${refusal.limit?.reason ? ` (${shown(refusal.limit.reason)})` : ""}: its limit has to be raised.`;
    case "NEVER_FITS":
      return `"${name}" has a limit of ${refusal.limit?.limit ?? "less"}, so this can never be granted: ask for fewer permits, or raise the limit.`;
    case "NOT_BEFORE": {
      const { retryAfterMs } = refusal;
      return `"${name}" is not due yet${retryAfterMs === undefined ? "" : `: it is in ${told(retryAfterMs)}`}.`;
    }
    case "EXHAUSTED":
      return `"${name}" has no attempts left: \`rowlock update\` gives it more.`;
    case "STATUS_MISMATCH":
      return `"${name}" has ${refusal.status === "" ? "no status" : `the status "${shown(refusal.status)}"`}, which no --if-status names.`;
    default:
      return `"${name}" was not acquired. ${refusal.message}`;
  }
}

function addLabel(text: string, labels: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at === 0) throw new InvalidArgumentError("write key=value, with a key");
  return at < 0 ? { ...labels, [text]: "" } : { ...labels, [text.slice(0, at)]: text.slice(at + 1) };
}

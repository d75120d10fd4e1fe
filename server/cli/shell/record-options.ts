// The flags about a lock's record: what the lock remembers, and what it must remember for a grant.

import { InvalidArgumentError } from "commander";
import type { RecordOptions, ReleaseOptions } from "../../../clients/typescript/src/index.ts";
import { ATTEMPTS_MAX, DELAY_US_MAX, STATUS_BYTES_MAX, STATUSES_MAX } from "../../core/bounds.ts";
import { parseCount, parseDuration } from "./durations.ts";
import type { ShellCommand } from "./shell-command.ts";

const DELAY_MS_MAX = DELAY_US_MAX / 1_000;

interface Flags {
  readonly ifStatus?: readonly string[];
  readonly statusDone?: string;
  readonly statusFailed?: string;
  readonly coolDownFailed?: number;
  readonly statusIfLost?: string;
  readonly atMostEvery?: number;
  readonly lockDelay?: number;
}

/** Adds the flags by which a lease depends on the lock's record, or changes it. */
export function addRecordOptions(command: ShellCommand): ShellCommand {
  return command
    .option("--if-status <word>", "only if the lock has this status; may be repeated", addStatus)
    .option("--status-if-lost <word>", "the lock's status if it is lost", parseStatus)
    .option(
      "--at-most-every <time>",
      "after the release, the lock is due only this long after the grant",
      parseDelay,
    )
    .option("--lock-delay <time>", "how long the lock is not due after it was lost", parseDelay);
}

/** Adds the flags for what the lock remembers when the command under it has ended. */
export function addOutcomeOptions(command: ShellCommand): ShellCommand {
  return command
    .option("--status-done <word>", "the lock's status after a command that ends with 0", parseStatus)
    .option(
      "--status-failed <word>",
      "the lock's status after a command that fails, or if the lock is lost",
      parseStatus,
    )
    .option(
      "--cool-down-failed <time>",
      "after a command that fails, how long the lock is not due, whatever --at-most-every says",
      parseDelay,
    );
}

export function recordOptions(command: ShellCommand): RecordOptions {
  const {
    ifStatus,
    statusFailed,
    statusIfLost = statusFailed,
    atMostEvery,
    lockDelay,
  }: Flags = command.opts();
  return {
    ...(ifStatus && { ifStatus }),
    ...(statusIfLost !== undefined && { statusIfLost }),
    ...(atMostEvery !== undefined && { minInterval: atMostEvery }),
    ...(lockDelay !== undefined && { lockDelay }),
  };
}

/** Returns what the lock remembers when the command has ended with this code. */
export function outcomeOf(command: ShellCommand, code: number): ReleaseOptions {
  const { statusDone, statusFailed, coolDownFailed }: Flags = command.opts();
  const status = code === 0 ? statusDone : statusFailed;
  return {
    ...(status !== undefined && { status }),
    ...(code !== 0 && coolDownFailed !== undefined && { coolDown: coolDownFailed }),
  };
}

export function parseStatus(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > STATUS_BYTES_MAX)
    throw new InvalidArgumentError(`it is ${bytes} bytes long: use at most ${STATUS_BYTES_MAX}`);
  return text;
}

/** Returns milliseconds. Throws an InvalidArgumentError, which commander reports. */
export function parseDelay(text: string): number {
  return parseDuration(text, { minMs: 0, maxMs: DELAY_MS_MAX });
}

export function parseAttempts(text: string): number {
  return parseCount(text, 0, ATTEMPTS_MAX);
}

function addStatus(text: string, statuses: readonly string[] = []): readonly string[] {
  if (statuses.length === STATUSES_MAX)
    throw new InvalidArgumentError(`there are more than ${STATUSES_MAX}: use fewer`);
  return [...statuses, parseStatus(text)];
}

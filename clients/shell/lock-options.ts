// The flags of the commands that take locks: how to wait, what to take, what the lock's record must be for a grant, and
// what it becomes afterwards.

import { Option } from "commander";
import { PERMITS_MAX } from "../../server/core/bounds.ts";
import type { LockOptions, ReleaseOptions } from "../typescript/src/index.ts";
import type { RowlockCommand } from "./command.ts";
import type { ExitCode } from "./context.ts";
import {
  addLabel,
  addStatus,
  countParser,
  given,
  parseDelay,
  parseStatus,
  parseTtl,
  parseWait,
} from "./values.ts";

export interface LeaseFlags {
  readonly ttl?: number;
  readonly owner?: string;
  readonly label?: Record<string, string>;
  readonly ifStatus?: readonly string[];
  readonly statusFailed?: string;
  readonly statusIfLost?: string;
  readonly atMostEvery?: number;
  readonly lockDelay?: number;
}

export interface LockFlags extends LeaseFlags {
  /** false: --no-wait. */
  readonly wait?: number | "forever" | false;
  readonly permits?: number;
  readonly shared?: true;
  readonly exclusive?: true;
  readonly quiet?: true;
}

export interface OutcomeFlags {
  readonly statusDone?: string;
  readonly statusFailed?: string;
  readonly coolDownFailed?: number;
}

/** Adds the flags of a command that takes one lock by its name. */
export function addLockOptions(command: RowlockCommand): RowlockCommand {
  const shared = new Option("--shared", "take it as a reader, beside other readers");
  return addLeaseOptions(
    command
      .option("--wait <time>", "how long to wait in the queue (default forever)", parseWait)
      .option("--no-wait", "do not wait: take it now or not at all")
      .option("--permits <count>", "how many permits to take (default 1)", countParser(1, PERMITS_MAX))
      .addOption(shared.conflicts(["exclusive", "permits"]))
      .addOption(new Option("--exclusive", "take it as a writer, alone").conflicts("permits"))
      .option("-q, --quiet", "print neither the place in the queue nor that the lock was not acquired"),
  );
}

/** Adds the flags of any command that takes leases. */
export function addLeaseOptions(command: RowlockCommand): RowlockCommand {
  return command
    .option("--ttl <time>", "how long the lease lasts without a renewal (default 30s)", parseTtl)
    .option("--owner <text>", "the holder's name, shown to people (default: machine and process)")
    .option("--label <key=value>", "a label, shown to people; may be repeated", addLabel)
    .option("--if-status <word>", "only if the lock has this status; may be repeated", addStatus)
    .option("--status-if-lost <word>", "the lock's status if it is lost", parseStatus)
    .option(
      "--at-most-every <time>",
      "minimum time between grants; applies if the lease is released",
      parseDelay,
    )
    .option("--lock-delay <time>", "minimum time to the next grant if the lock is lost", parseDelay);
}

/** Adds the flags for what the lock remembers when the command under it has ended. */
export function addOutcomeOptions(command: RowlockCommand): RowlockCommand {
  return command
    .option("--status-done <word>", "the lock's status after a command that ends with 0", parseStatus)
    .option(
      "--status-failed <word>",
      "the lock's status after a command that fails, or if the lock is lost",
      parseStatus,
    )
    .option(
      "--cool-down-failed <time>",
      "minimum time to the next grant after a command that fails; overrides --at-most-every",
      parseDelay,
    );
}

export function lockOptions({ wait = "forever", permits, shared, exclusive, ...flags }: LockFlags) {
  const mode = shared ? "shared" : exclusive ? "exclusive" : undefined;
  return {
    wait: wait === false ? 0 : wait,
    ...given({ permits, mode }),
    ...leaseOptions(flags),
  } satisfies LockOptions;
}

export function leaseOptions(flags: LeaseFlags) {
  const { ttl, owner, label, ifStatus, statusFailed, atMostEvery, lockDelay } = flags;
  const { statusIfLost = statusFailed } = flags;
  return given({ ttl, owner, labels: label, ifStatus, statusIfLost, minInterval: atMostEvery, lockDelay });
}

/** Returns what the lock remembers when the command has ended with this code. */
export function outcomeOf(flags: OutcomeFlags, code: ExitCode): ReleaseOptions {
  const { statusDone, statusFailed, coolDownFailed } = flags;
  return code === 0
    ? given({ status: statusDone })
    : given({ status: statusFailed, coolDown: coolDownFailed });
}

// How a person writes the values of flags and arguments, and the flags that several commands share: how to wait for a
// lock, what to take, what its record must be for a grant, and what it becomes afterwards. Each parser throws an
// InvalidArgumentError, which the command reports: it says what to write instead.

import { type Command, InvalidArgumentError, Option } from "commander";
import {
  ATTEMPTS_MAX,
  DELAY_US_MAX,
  DURATION_US_MAX,
  FURTHER_LOCKS_MAX,
  NAME_BYTES_MAX,
  PERMITS_MAX,
  STATUS_BYTES_MAX,
  STATUSES_MAX,
  TTL_US_MIN,
} from "../../server/core/bounds.ts";
import type { LockOptions, ReleaseOptions, SpendOptions } from "../typescript/src/index.ts";
import { type FurtherLock, writtenLock } from "./also.ts";
import { type ExitCode, UNIT_MS } from "./context.ts";
import { timeWords } from "./print.ts";
import { instantOf } from "./written-times.ts";

/** Makes a parser of times such as 500ms, 30s, 5m, 2h and 1d. It returns milliseconds; a bare number is seconds. */
export function timeParser(minMs: number, maxMs = DURATION_US_MAX / 1_000): (text: string) => number {
  return (text) => {
    const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? [];
    const ms = Number(number || Number.NaN) * UNIT_MS[unit as keyof typeof UNIT_MS];
    if (Number.isNaN(ms)) throw new InvalidArgumentError("write a time such as 30s, 500ms, 5m or 2h");
    if (ms < minMs || ms > maxMs)
      throw new InvalidArgumentError(`write a time from ${timeWords(minMs)} to ${timeWords(maxMs)}`);
    return ms;
  };
}

/** Makes a parser of whole numbers within bounds. `or`: what else may be written, for people. */
export function countParser(min = 0, max = Number.MAX_SAFE_INTEGER, or = ""): (text: string) => number {
  return (text) => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= min && count <= max) return count;
    throw new InvalidArgumentError(`write a whole number from ${min} to ${max}${or}`);
  };
}

export const parseTtl = timeParser(TTL_US_MIN / 1_000);
export const parseDelay = timeParser(0, DELAY_US_MAX / 1_000);
export const parseHeadStartMax = timeParser(1);
const parseHeadStart = timeParser(0);
export const parseAttempts = countParser(0, ATTEMPTS_MAX);

export function parseWait(text: string): number | "forever" {
  return text === "forever" ? text : timeParser(0)(text);
}

export function parseName(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > 0 && bytes <= NAME_BYTES_MAX) return text;
  const fault = bytes === 0 ? "it is empty" : `it is ${bytes} bytes long`;
  throw new InvalidArgumentError(`${fault}: name the lock in 1 to ${NAME_BYTES_MAX} bytes`);
}

/** For commands that would create a lock of this name. */
export function parseOneName(text: string): string {
  if (text.endsWith("*"))
    throw new InvalidArgumentError(
      "this would be the name of one lock: patterns with a star have limits (`rowlock limit --pattern`), and `rowlock " +
        "capture` takes one of many locks",
    );
  if (text.includes("\ufffd"))
    throw new InvalidArgumentError(
      "it has U+FFFD, which stands for what was not valid text: two names may have become this one",
    );
  return parseName(text);
}

/** What names begin with. A star at the end, as in patterns, stands for the rest of the name. */
export function parsePrefix(text: string): string {
  return text.endsWith("*") ? text.slice(0, -1) : text;
}

export function parseStatus(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= STATUS_BYTES_MAX) return text;
  throw new InvalidArgumentError(`it is ${bytes} bytes long: use at most ${STATUS_BYTES_MAX}`);
}

/** For a flag that may be repeated. */
export function addStatus(text: string, statuses: readonly string[] = []): readonly string[] {
  if (statuses.length === STATUSES_MAX)
    throw new InvalidArgumentError(`there are more than ${STATUSES_MAX}: use fewer`);
  return [...statuses, parseStatus(text)];
}

/** A name that ends so is one, but hardly what was meant: then nothing would guard the lock. */
const MEANT_HOW = /:(share|read|excl|writ|permit)[^:]*$/;

/** For a flag that may be repeated. */
function addAlso(text: string, also: readonly FurtherLock[] = []): readonly FurtherLock[] {
  if (also.length === FURTHER_LOCKS_MAX)
    throw new InvalidArgumentError(`there are more than ${FURTHER_LOCKS_MAX}: use fewer`);
  const { name, mode, permits } = writtenLock(text);
  if (text === "--") throw new InvalidArgumentError("name a lock: the command comes after that");
  const isPlain = mode === undefined && permits === undefined;
  if (isPlain ? MEANT_HOW.test(name) : /:permits=\d*$/.test(name))
    throw new InvalidArgumentError(
      `after the name, write one of :shared, :exclusive and :permits=COUNT${isPlain ? `; for the lock of this name, "${name}:permits=1"` : ""}`,
    );
  // After a fault of the flag before, `also` is an empty text.
  if ([...also].some((other) => other.name === name))
    throw new InvalidArgumentError("this lock is named twice: name each once");
  const count = permits === undefined ? undefined : countParser(1, PERMITS_MAX)(permits);
  return [...also, { name: parseOneName(name), ...given({ mode, permits: count }) }];
}

/** For a flag that may be repeated. */
export function addLabel(text: string, labels: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at === 0) throw new InvalidArgumentError("write key=value, with a key");
  return at < 0 ? { ...labels, [text]: "" } : { ...labels, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Returns an instant; null: at any time. A time is an instant from now on. */
export function parseNotBefore(
  text: string,
): { readonly notBefore: Date | null } | { readonly notBeforeIn: number } {
  if (text === "none") return { notBefore: null };
  if (/^\d+(\.\d+)?[a-z]*$/.test(text)) return { notBeforeIn: parseDelay(text) };
  const notBefore = instantOf(text);
  if (notBefore) return { notBefore };
  throw new InvalidArgumentError(
    "write an instant with its zone, such as 2030-01-01T06:00:00Z, a time from now such as 10m, or none",
  );
}

type Given<Fields> = { readonly [Field in keyof Fields]?: Exclude<Fields[Field], undefined> };

/** Returns the fields that are defined: the client's options accept no undefined ones. */
export function given<const Fields extends object>(fields: Fields): Given<Fields> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Given<Fields>;
}

export interface LeaseFlags {
  readonly ttl?: number;
  readonly owner?: string;
  readonly label?: Record<string, string>;
  readonly ifStatus?: readonly string[];
  readonly statusFailed?: string;
  readonly statusIfLost?: string;
  readonly atMostEvery?: number;
  readonly lockDelay?: number;
  readonly backoff?: number;
  readonly backoffMax?: number;
}

export interface LockFlags extends LeaseFlags {
  /** false: --no-wait. */
  readonly wait?: number | "forever" | false;
  readonly permits?: number;
  readonly shared?: true;
  readonly exclusive?: true;
  readonly also?: readonly FurtherLock[];
  readonly headStart?: number;
  readonly quiet?: true;
}

export interface SpendFlags
  extends Pick<LockFlags, "wait" | "permits" | "headStart" | "owner" | "label" | "ifStatus" | "quiet"> {
  readonly requestId?: string;
}

export interface OutcomeFlags {
  readonly statusDone?: string;
  readonly statusFailed?: string;
  readonly coolDownFailed?: number;
}

/** Adds the flags of a command that takes a lock by its name, or several. */
export function addLockOptions<Each extends Command>(command: Each): Each {
  const shared = new Option("--shared", "take it as a reader, beside other readers");
  return addLeaseOptions(
    addQueueOptions(command)
      .addOption(shared.conflicts(["exclusive", "permits"]))
      .addOption(new Option("--exclusive", "take it as a writer, alone").conflicts("permits"))
      .addOption(
        new Option("--also <lock>", "a further lock, taken together with the first; may be repeated")
          .argParser(addAlso)
          .conflicts("headStart"),
      )
      .option("-q, --quiet", "print neither the place in the queue nor that the lock was not acquired"),
  );
}

/** Adds the flags of a command that only spends from a lock's rate. */
export function addSpendOptions<Each extends Command>(command: Each): Each {
  return addClaimOptions(addQueueOptions(command))
    .option("--request-id <text>", "an id of your own: repeated with it, the command spends nothing more")
    .option("-q, --quiet", "print neither the place in the queue nor that nothing was spent");
}

/** Refuses --also with this sentence, for a command that is about one lock. */
export function refuseAlso<Each extends Command>(command: Each, instead: string): Each {
  const refuse = () => {
    throw new InvalidArgumentError(instead);
  };
  return command.addOption(new Option("--also <lock>").argParser(refuse).hideHelp());
}

function addQueueOptions<Each extends Command>(command: Each): Each {
  refuseBoth(command, "wait", "no-wait");
  return command
    .option("--wait <time>", "how long to wait in the queue (default forever)", parseWait)
    .option("--no-wait", "do not wait: take it now or not at all")
    .option("--permits <count>", "how many permits to take (default 1)", countParser(1, PERMITS_MAX))
    .option(
      "--head-start <time>",
      "queue as if it had come so much earlier, where the lock allows it",
      parseHeadStart,
    );
}

function addClaimOptions<Each extends Command>(command: Each): Each {
  return command
    .option("--owner <text>", "the holder's name, shown to people (default: machine and process)")
    .option("--label <key=value>", "a label, shown to people; may be repeated", addLabel)
    .option("--if-status <word>", "only if the lock has this status; may be repeated", addStatus);
}

/** For a flag and its negation, which are one option to commander: the later one would count. */
function refuseBoth(command: Command, ...flags: [string, string]): void {
  const seen = new Set<string>();
  for (const flag of flags)
    command.on(`option:${flag}`, () => {
      seen.add(flag);
      if (seen.size === flags.length)
        command.error(`error: --${flags.join(" and --")} contradict each other: leave one of them out`, {
          code: "commander.conflictingOption",
        });
    });
}

/** Adds the flags of any command that takes leases. */
export function addLeaseOptions<Each extends Command>(command: Each): Each {
  return addClaimOptions(
    command.option("--ttl <time>", "how long the lease lasts without a renewal (default 30s)", parseTtl),
  )
    .option("--status-if-lost <word>", "the lock's status if it is lost", parseStatus)
    .option(
      "--at-most-every <time>",
      "minimum time between grants; applies if the lease is released",
      parseDelay,
    )
    .option("--lock-delay <time>", "minimum time to the next grant if the lock is lost", parseDelay)
    .option(
      "--backoff <time>",
      "minimum time to the next grant after a failure or a loss, twice as long after each further one",
      parseDelay,
    )
    .option("--backoff-max <time>", "the longest of these times (default: it does not grow)", parseDelay);
}

/** Adds the flags for what the lock remembers when the command under it has ended. */
export function addOutcomeOptions<Each extends Command>(command: Each): Each {
  return command
    .option("--status-done <word>", "the lock's status after a command that ends with 0", parseStatus)
    .option(
      "--status-failed <word>",
      "the lock's status after a command that fails, or if the lock is lost",
      parseStatus,
    )
    .option(
      "--cool-down-failed <time>",
      "minimum time to the next grant after a command that fails; overrides --at-most-every and --backoff",
      parseDelay,
    );
}

export function lockOptions({
  wait = "forever",
  permits,
  shared,
  exclusive,
  also,
  headStart,
  ...flags
}: LockFlags) {
  const mode = shared ? "shared" : exclusive ? "exclusive" : undefined;
  return {
    wait: wait === false ? 0 : wait,
    ...given({ permits, mode, also, headStart }),
    ...leaseOptions(flags),
  } satisfies LockOptions;
}

export function spendOptions({ wait = "forever", label, ...flags }: SpendFlags) {
  const { permits, headStart, owner, ifStatus, requestId } = flags;
  return {
    wait: wait === false ? 0 : wait,
    ...given({ permits, headStart, owner, labels: label, ifStatus, requestId }),
  } satisfies SpendOptions;
}

export function leaseOptions(flags: LeaseFlags) {
  const { ttl, owner, label, ifStatus, statusFailed, atMostEvery, lockDelay } = flags;
  const { statusIfLost = statusFailed, backoff: first, backoffMax: max } = flags;
  const backoff = first === undefined ? undefined : { first, ...given({ max }) };
  const record = { ifStatus, statusIfLost, minInterval: atMostEvery, lockDelay, backoff };
  return given({ ttl, owner, labels: label, ...record });
}

/** Returns what the lock remembers when the command has ended with this code. */
export function outcomeOf({ statusDone, statusFailed, coolDownFailed }: OutcomeFlags) {
  return (code: ExitCode): ReleaseOptions =>
    code === 0
      ? given({ status: statusDone })
      : { failed: true, ...given({ status: statusFailed, coolDown: coolDownFailed }) };
}

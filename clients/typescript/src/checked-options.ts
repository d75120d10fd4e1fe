// Checks options when the program runs, as callers in JavaScript have no types: unknown names, wrong types and wrong
// values, all at once. What servers check themselves, such as the length of a name, is left to them.

import type { WantedLock } from "./also.ts";
import type { CaptureOptions } from "./capture.ts";
import { MODES } from "./mode.ts";
import type { ConnectOptions, LockOptions } from "./options.ts";
import { WHEN_FULL } from "./queue-rules.ts";
import type { SpendOptions } from "./rates.ts";
import type { RecordChanges, RecordOptions, ReleaseOptions } from "./records.ts";
import type { ListOptions, SetLimitOptions, SetQueueRulesOptions } from "./verbs.ts";
import type { WatchOptions } from "./watch.ts";
import { faultOfText } from "./whole-text.ts";
import type { WorkOptions } from "./work.ts";

/** Says what a value must be; undefined: it is right. */
type Check = (value: unknown) => string | undefined;
type Checks<Options> = Readonly<Record<keyof Options, Check>>;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** What people call an option elsewhere. */
const MEANT: Readonly<Record<string, string>> = {
  address: "addresses",
  count: "permits",
  expiry: "ttl",
  lease: "ttl",
  leaseTime: "ttl",
  logger: "log",
  onLog: "log",
  timeout: "wait",
  waitTime: "wait",
  weight: "permits",
};
/** Options whose values no error shows. */
const SECRET = ["token", "headers", "tls"];
/** The most letters by which an unknown name may differ from the one that was meant. */
const TYPOS_MAX = 2;

const text: Check = (value) => (typeof value === "string" ? faultOfText(value) : "must be a text");
const faultOfAny = (all: readonly string[]) => all.map(faultOfText).find((fault) => fault !== undefined);
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const call: Check = (value) => (typeof value === "function" ? undefined : "must be a function");
const texts: Check = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === "string")
    ? faultOfAny(value)
    : "must be a list of texts";
const object: Check = (value) =>
  typeof value === "object" && value !== null ? undefined : "must be an object";
const signal: Check = (value) => (value instanceof AbortSignal ? undefined : "must be an AbortSignal");
const date: Check = (value) =>
  value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : "must be a valid Date";
const labels: Check = (value) =>
  object(value) === undefined && Object.values(value as object).every((each) => typeof each === "string")
    ? faultOfAny(Object.entries(value as Readonly<Record<string, string>>).flat())
    : "must be an object with texts";
const version: Check = (value) =>
  typeof value === "bigint" || Number.isSafeInteger(value)
    ? undefined
    : "must be a version, which is an integer";
const whole =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least
      ? undefined
      : `must be a whole number, ${least} or more`;
const ms: Check = (value) =>
  typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY
    ? undefined
    : `must be a number of milliseconds, 0 or more${written(value)}`;
const timer: Check = (value) =>
  typeof value === "number" ? undefined : `must be a number of milliseconds${written(value)}`;
const oneOf = (...values: readonly unknown[]): Check => {
  const said = values.map((each) => JSON.stringify(each)).join(", ");
  return (value) => (values.includes(value) ? undefined : `must be one of ${said}`);
};
const either =
  (...checks: readonly Check[]): Check =>
  (value) => {
    const faults = checks.map((check) => check(value));
    return faults.includes(undefined) ? undefined : faults.join(", or ").replaceAll(", or must be", ", or");
  };
const forever = oneOf("forever");
const nothing: Check = (value) => (value === null ? undefined : "must be null");
const rate: Check = (value) => {
  const { permits, per, burst = 1, ...more } = Object(value) as Record<string, unknown>;
  const faults = [whole(1)(permits), ms(per), whole(1)(burst), ...Object.keys(more)];
  return faults.every((fault) => fault === undefined)
    ? undefined
    : "must be { permits, per } or { permits, per, burst }, with per in milliseconds";
};

const queueRules: Check = (value) => {
  const {
    waitingMax,
    whenFull = "refuse",
    shareBy,
    headStartMax,
    ...more
  } = Object(value) as Record<string, unknown>;
  const faults = [oneOf(...Object.keys(WHEN_FULL))(whenFull), ...Object.keys(more)];
  if (waitingMax !== undefined || (shareBy ?? headStartMax) === undefined) faults.push(whole(1)(waitingMax));
  if (shareBy !== undefined) faults.push(text(shareBy));
  if (headStartMax !== undefined) faults.push(ms(headStartMax));
  if (faults.every((fault) => fault === undefined)) return undefined;
  return 'must be { waitingMax }, { waitingMax, whenFull }, { shareBy } or { headStartMax }, with whenFull "refuse" or "end longest waiting"';
};

const wantedLocks: Check = (value) => {
  if (!Array.isArray(value)) return "must be a list of names, or of { name, mode, permits }";
  for (const [at, entry] of value.entries()) {
    try {
      checkOptions(typeof entry === "object" ? entry : { name: entry }, WANTED, ["name"]);
    } catch (error) {
      return `has a wrong entry ${at + 1} (${(error as Error).message})`;
    }
  }
  return undefined;
};

/** Says how a time in words is written in milliseconds. */
function written(value: unknown): string {
  const [, amount, unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(String(value)) ?? [];
  return amount === undefined ? "" : ` (write ${Number(amount) * (UNIT_MS[unit] as number)})`;
}

const addresses: Check = (value) => {
  const all = [value].flat();
  if (all.length === 0 || !all.every((each) => typeof each === "string" && each.trim() !== ""))
    return "must name at least one server, as host:port";
  for (const address of all as string[]) {
    const said = address.trim();
    if (/^unix(-abstract)?:/.test(said)) continue;
    if (said.includes("/")) return "must be host:port, without a scheme or a path";
    const [, host = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(said) ?? [];
    if (host === "") return "must be host:port, with an IPv6 address in brackets";
    if (port === "") return `has no port: write ${host}:50051, if that is the server's`;
    if (!/^\d+$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
      return "must have a port from 1 to 65,535";
  }
  return undefined;
};

const backoff: Check = (value) => {
  const { first, max, ...others } = Object(value) as Record<string, unknown>;
  const isGood = ms(first) === undefined && (max === undefined || ms(max) === undefined);
  return isGood && Object.keys(others).length === 0
    ? undefined
    : "must have the time `first`, in milliseconds, and may have the longest time `max`";
};

const RECORD: Checks<RecordOptions> = {
  minInterval: ms,
  lockDelay: ms,
  statusIfLost: text,
  ifStatus: either(text, texts),
  backoff,
};
const WANTED: Checks<Exclude<WantedLock, string>> = {
  name: text,
  mode: oneOf(...Object.keys(MODES)),
  permits: whole(1),
};
const CLAIM = { signal, owner: text, labels, margin: ms, ...RECORD };
export const CAPTURE: Checks<CaptureOptions> = {
  ...CLAIM,
  requestId: text,
  prefix: text,
  names: texts,
  count: whole(1),
  wait: either(ms, forever),
  ttl: ms,
};
export const CONNECT: Checks<ConnectOptions> = {
  addresses,
  owner: text,
  labels,
  tls: either(flag, object),
  token: either(text, object, call),
  allowTokenInPlaintext: flag,
  headers: either(object, call),
  connectTimeout: timer,
  giveUpAfter: timer,
  idleAfter: timer,
  explainAfter: timer,
  releaseOnExit: flag,
  onConnection: call,
  log: call,
  openTelemetry: either(oneOf(false), object),
};
export const LOCK: Checks<LockOptions> = {
  ...CLAIM,
  requestId: text,
  wait: either(ms, forever),
  ttl: either(ms, forever),
  permits: WANTED.permits,
  mode: WANTED.mode,
  also: wantedLocks,
  headStart: ms,
  onPosition: call,
  positionInterval: ms,
  onWaiting: call,
};
export const SPEND: Checks<SpendOptions> = {
  wait: LOCK.wait,
  permits: LOCK.permits,
  headStart: ms,
  signal,
  onPosition: call,
  positionInterval: ms,
  onWaiting: call,
  owner: text,
  labels,
  ifStatus: RECORD.ifStatus,
  requestId: text,
};
export const WORK: Checks<WorkOptions> = {
  ...CLAIM,
  ttl: ms,
  concurrency: whole(1),
  statusWhenDone: text,
  statusWhenFailed: text,
};
export const RELEASE: Checks<ReleaseOptions> = {
  status: text,
  coolDown: ms,
  attemptsLeft: whole(0),
  failed: flag,
};
/** Of all changes: of a limit, a rate, queue rules, a record, and of its deletion. */
export const CHANGE: Checks<SetQueueRulesOptions> = { ifVersion: version, reason: text };
export const SET_LIMIT: Checks<SetLimitOptions> = {
  ...CHANGE,
  rate: either(rate, nothing),
  queueRules: either(queueRules, nothing),
};
export const CHANGES: Checks<RecordChanges> = {
  notBefore: either(date, nothing),
  notBeforeIn: ms,
  attemptsLeft: either(whole(0), nothing),
  status: text,
  ...CHANGE,
};
export const LIST: Checks<ListOptions> = {
  prefix: text,
  busyOnly: flag,
  status: either(text, texts),
  exhaustedOnly: flag,
  order: oneOf("name", "longest wait", "most waiters"),
  pageSize: whole(0),
};
export const WATCH: Checks<WatchOptions> = { prefix: text, signal };

/**
 * Throws a RangeError that says all that is wrong with the options. An option that is undefined is not set, which is a
 * fault of `required` ones. Of `alternatives`, one may be set.
 */
export function checkOptions(
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[] = [],
  alternatives: readonly (readonly string[])[] = [],
): void {
  const wrong = typeof options === "function" ? "must be an object" : object(options);
  if (wrong) throw new RangeError(`The options ${wrong}, and not ${shown(options)}.`);
  const given = options as Readonly<Record<string, unknown>>;
  const missing = required.filter((name) => given[name] === undefined);
  const wrongly = Object.entries(given).flatMap(([name, value]) => {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) return [unknown(name, Object.keys(checks))];
    const fault = value === undefined ? undefined : check(value);
    if (fault === undefined) return [];
    return [`${name}: ${SECRET.includes(name) ? `a ${typeof value}` : shown(value)} ${fault}`];
  });
  const both = alternatives.filter((names) => names.every((name) => given[name] !== undefined));
  const faults = [
    ...missing.map((name) => `${name}: ${checks[name]?.(undefined)}`),
    ...wrongly,
    ...both.map((names) => `${names.join(" and ")}: set one of them`),
  ];
  const [first, ...more] = faults;
  if (first === undefined) return;
  throw new RangeError(
    more.length === 0 ? first : `${faults.length} things are wrong with the options: ${faults.join("; ")}`,
  );
}

/** Throws a RangeError unless it is the name of a lock, or its prefix. */
export function checkName(name: unknown, what = "name"): void {
  const fault = text(name);
  if (fault !== undefined) throw new RangeError(`${what}: ${shown(name)} ${fault}`);
}

/** Throws a RangeError unless it is a function: perhaps the arguments of this call are swapped. */
export function checkFunction(work: unknown, usage: string): asserts work is (...words: never[]) => unknown {
  if (typeof work !== "function")
    throw new RangeError(`The arguments are ${usage}, and there is ${shown(work)} instead of the function.`);
}

function unknown(name: string, known: readonly string[]): string {
  const meant = MEANT[name];
  const near = known.find((each) => typos(name.toLowerCase(), each.toLowerCase()) <= TYPOS_MAX);
  const guess = meant !== undefined && known.includes(meant) ? meant : near;
  const hint = guess === undefined ? `there are ${known.join(", ")}` : `did you mean "${guess}"?`;
  return `unknown option "${name}"; ${hint}`;
}

/** How many letters differ, are missing or too many, or are swapped. */
function typos(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, at) => [at]) as number[][];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  (rows[0] as number[]).push(...Array.from(other, (_, index) => index + 1));
  for (let row = 1; row <= one.length; row++)
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      (rows[row] as number[])[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  return at(one.length, other.length);
}

function shown(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : String(value);
}

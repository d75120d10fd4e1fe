// Converts the core's types to column values, the same for every store: numbers, bigints, UTF-8 bytes and NULL; words
// are stored as codes. from-rows.ts converts back. Also knows the keys of request ids, and the ranges of bytes that
// stand for prefixes of names, which an index finds on every database.

import { hash } from "node:crypto";
import {
  type Claim,
  type ClaimState,
  callersRequestId,
  type EndReason,
  isLead,
  isServerMade,
  type Level,
  type Member,
  type Mode,
  placeOf,
} from "../../core/claim.ts";
import type { LimitRule } from "../../core/limit.ts";
import { freeSinceUs, type LastRun, type Lock, OWN_NAMES_PREFIX } from "../../core/lock.ts";
import { type QueueRules, queueRulesText, sameQueueRules } from "../../core/queue-rules.ts";
import { type Rate, sameRate } from "../../core/rate.ts";
import { groupId } from "./shares.ts";

export type Value = number | bigint | Buffer | null;

export type ToText<Text> = (text: string) => Text;

/** For a store that converts text to bytes itself, as `bytesOf` is for others. */
export const asIs = (text: string): string => text;

// Codes are small numbers that never change their meaning. New words get new numbers.
export const STATE_CODES: Readonly<Record<ClaimState, number>> = { waiting: 1, held: 2, ended: 3 };
export const MODE_CODES: Readonly<Record<Mode, number>> = { permit: 1, shared: 2, exclusive: 3 };
const END_REASON_CODES: Readonly<Record<EndReason, number>> = {
  released: 1,
  expired: 2,
  force_released: 3,
  cancelled: 4,
  lapsed: 5,
  timed_out: 6,
  never_fits: 7,
  exhausted: 8,
  status_mismatch: 9,
  spent: 10,
  superseded: 11,
  failed: 12,
};

export const STATES = wordsOf(STATE_CODES);
export const MODES = wordsOf(MODE_CODES);
export const END_REASONS = wordsOf(END_REASON_CODES);

export function wordsOf<Word extends string>(codes: Readonly<Record<Word, number>>): readonly Word[] {
  const words: Word[] = [];
  for (const word of Object.keys(codes) as Word[]) words[codes[word]] = word;
  return words;
}

/**
 * In numeric columns for what a claim does not have yet. Not NULL, which occupies no space: a row that keeps its size
 * is updated in place.
 */
const NOTHING = 0;

/** Shared, because most locks have no reason and most claims have no note. */
const NO_BYTES = Buffer.alloc(0);

const NO_LABELS = "{}";
/** Shared, because most claims have no labels. */
const NO_LABELS_BYTES = Buffer.from(NO_LABELS);

export function bytesOf(text: string): Buffer {
  if (text === "") return NO_BYTES;
  return text === NO_LABELS ? NO_LABELS_BYTES : Buffer.from(text, "utf8");
}

function textOfLabels(labels: Claim["labels"]): string {
  for (const _ in labels) return JSON.stringify(labels);
  return NO_LABELS;
}

/** Returns the word for a code. Throws if this server does not know the code. */
export function wordOf<Word extends string>(words: readonly Word[], code: unknown): Word {
  const found = words[Number(code)];
  if (found === undefined)
    throw new Error(`A row contains the code ${code}, which this server does not know.`);
  return found;
}

/** Values for LOCK_COUNTED_COLUMNS. */
export function countedValues(lock: Lock): Value[] {
  return [
    lock.nextTicket,
    lock.lastToken,
    lock.heldPermits,
    lock.sharedHolders,
    lock.exclusiveHolders,
    lock.holders,
    lock.waiting,
    lock.waitingPermits,
    lock.revision,
  ];
}

/** Values for LOCK_SELDOM_COLUMNS. */
export function seldomValues(lock: Lock): Value[] {
  return [
    lock.limit,
    lock.limitVersion,
    bytesOf(lock.limitReason),
    lock.record ? 1 : 0,
    lock.changeMark,
    lock.recordFloor,
    ...rateValues(lock.rate),
    lock.rateUntilUs,
    lock.wakesAtUs,
    lock.entering,
    lock.enteringPermits,
    lock.counting,
    queueRulesValue(lock.queueRules),
    lock.sharedBy === null ? null : bytesOf(lock.sharedBy),
    lock.orderKeyUs,
  ];
}

function queueRulesValue(rules: QueueRules | null): Value {
  return rules && bytesOf(queueRulesText(rules));
}

const NO_RATE: readonly Value[] = [null, null, null];

function rateValues(rate: Rate | null): readonly Value[] {
  return rate === null ? NO_RATE : [rate.permits, rate.perUs, rate.burst];
}

/** Values for RULE_COLUMNS. */
export function ruleValues(rule: LimitRule): Value[] {
  const { prefix, limit, rate, version, reason, changeMark, poolId = null, queueRules } = rule;
  const ofPattern = [bytesOf(prefix), limit, ...rateValues(rate), version, bytesOf(reason), changeMark];
  return [...ofPattern, poolId, queueRulesValue(queueRules)];
}

export function sameSeldom(a: Lock, b: Lock): boolean {
  return (
    a.limit === b.limit &&
    a.limitVersion === b.limitVersion &&
    a.limitReason === b.limitReason &&
    (a.record === null) === (b.record === null) &&
    a.changeMark === b.changeMark &&
    a.recordFloor === b.recordFloor &&
    a.rateUntilUs === b.rateUntilUs &&
    a.wakesAtUs === b.wakesAtUs &&
    a.entering === b.entering &&
    a.enteringPermits === b.enteringPermits &&
    a.counting === b.counting &&
    sameQueueRules(a.queueRules, b.queueRules) &&
    a.sharedBy === b.sharedBy &&
    a.orderKeyUs === b.orderKeyUs &&
    sameRate(a.rate, b.rate)
  );
}

/** Values for the columns that never change. */
function fixedClaimValues<Text>(claim: Claim, text: ToText<Text>): (Value | Text)[] {
  return [
    claim.ticketNumber,
    text(claim.secret),
    text(claim.requestId),
    MODE_CODES[claim.mode],
    claim.permits,
    text(claim.owner),
    text(claim.principal),
    text(textOfLabels(claim.labels)),
    claim.terms === null ? null : text(JSON.stringify(claim.terms)),
  ];
}

/** Values for CLAIM_CHANGING_COLUMNS. */
export function changingClaimValues(claim: Claim): Value[] {
  const { requestedAtUs, waitUntilUs, state, ttlUs, deadlineUs, levels, members } = claim;
  return [
    requestedAtUs,
    waitUntilUs,
    STATE_CODES[state],
    ttlUs,
    deadlineUs,
    ...grantValues(claim),
    levels === null ? null : bytesOf(levelsText(levels)),
    members === null ? null : bytesOf(membersText(members)),
  ];
}

const LEVEL_CODES: Readonly<Record<Level["state"], string>> = { has: "h", waits: "w", left: "l" };

/** Such as `1f:3:h 2k:a:w`: pool and rank in base 36; of a claim for several locks with its permits there. */
function levelsText(levels: readonly Level[]): string {
  return levels
    .map(({ poolId, rank, state, permits }) =>
      [
        ...[poolId.toString(36), rank.toString(36), LEVEL_CODES[state]],
        ...(permits === undefined ? [] : [permits.toString(36)]),
      ].join(":"),
    )
    .join(" ");
}

/** JSON with lock, ticket number, name, mode, permits and token of each, the numbers of 64 bits in base 36. */
export type WrittenMember = [
  ...ids: [lock: string, ticket: string],
  ...wanted: [name: string, mode: number, permits: number],
  token: string,
];

function membersText(members: readonly Member[]): string {
  const written = members.map(
    ({ lockId, ticketNumber, name, mode, permits, fencingToken }): WrittenMember => {
      const token = fencingToken.toString(36);
      return [lockId.toString(36), ticketNumber.toString(36), name, MODE_CODES[mode], permits, token];
    },
  );
  return JSON.stringify(written);
}

/** Values for CLAIM_WRITTEN_COLUMNS. */
export function writtenClaimValues(claim: Claim): Value[] {
  return [...placeValues(claim), ...changingClaimValues(claim)];
}

const NOWHERE: readonly Value[] = [null, null];

function placeValues(claim: Claim): Value[] {
  const waits = claim.state === "waiting" && claim.levels !== null && isLead(claim);
  const at = waits && claim.levels?.find(({ state }) => state === "waits");
  return [placeOf(claim), ...(at ? [at.poolId, at.rank] : placeInGroup(claim)), claim.turn];
}

function placeInGroup({ lockId, group, ticketNumber }: Claim): readonly Value[] {
  return group === null ? NOWHERE : [groupId(lockId, group), ticketNumber];
}

function grantValues(claim: Claim): Value[] {
  return [
    claim.replica ?? NOTHING,
    claim.provisional ? 1 : 0,
    claim.fencingToken,
    claim.grantedAtUs ?? NOTHING,
  ];
}

/** Values for CLAIM_COLUMNS. `text`: how the texts are given. */
export function claimValuesBy<Text>(text: ToText<Text>, claim: Claim): (Value | Text)[] {
  return [claim.lockId, ...placeValues(claim), ...holderValuesBy(text, claim)];
}

/** Values for HOLDER_COLUMNS. `text`: how the texts are given. */
export function holderValuesBy<Text>(text: ToText<Text>, claim: Claim): (Value | Text)[] {
  return [...fixedClaimValues(claim, text), ...changingClaimValues(claim)];
}

const SECOND_US = 1_000_000;

/** Values for HISTORY_COLUMNS. `text`: how the texts are given. */
export function historyValuesBy<Text>(text: ToText<Text>, claim: Claim): (Value | Text)[] {
  const endedAtUs = claim.endedAtUs ?? NOTHING;
  return [
    claim.lockId,
    ...fixedClaimValues(claim, text),
    claim.requestedAtUs,
    claim.waitUntilUs,
    claim.ttlUs,
    ...grantValues(claim),
    claim.members === null ? null : bytesOf(membersText(claim.members)),
    endedAtUs,
    claim.endReason === null ? NOTHING : END_REASON_CODES[claim.endReason],
    text(claim.endNote),
    text(claim.endedBy),
    Math.ceil(((claim.deadlineUs ?? endedAtUs) - endedAtUs) / SECOND_US),
  ];
}

/** Values for RECORD_COLUMNS. The lock must have a record. */
export function recordValues(lock: Lock): Value[] {
  const { id, name } = lock;
  return [id, bytesOf(folderOf(name)), bytesOf(name), ...changingRecordValues(lock)];
}

/** Values for RECORD_CHANGING_COLUMNS; empty for a lock without a record. */
export function changingRecordValues(lock: Lock): Value[] {
  const { record } = lock;
  if (!record) return [];
  return [
    bytesOf(record.status),
    freeSinceUs(lock),
    record.notBeforeUs,
    record.attemptsLeft,
    record.version,
    ...runValues(record.lastRun),
    record.attemptsSince,
    bytesOf(record.principal),
    record.failures,
    ...successValues(record.lastSuccess),
  ];
}

const NO_RUN: readonly Value[] = [null, null, null, null, null, null];

function runValues(run: LastRun | null): readonly Value[] {
  if (!run) return NO_RUN;
  return [
    bytesOf(run.owner),
    run.fencingToken,
    run.grantedAtUs,
    run.endedAtUs,
    END_REASON_CODES[run.end],
    bytesOf(run.status),
  ];
}

const NO_SUCCESS: readonly Value[] = [null, null, null, null, null];

function successValues(run: LastRun | null): readonly Value[] {
  if (!run) return NO_SUCCESS;
  return [bytesOf(run.owner), run.fencingToken, run.grantedAtUs, run.endedAtUs, bytesOf(run.status)];
}

/** The part of a name up to and including its last slash; empty if there is none. */
export function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

/** No valid UTF-8 begins with this byte, so it sorts after all names. */
const ABOVE_ALL_NAMES = Buffer.from([0xff]);

export interface NameRange {
  readonly from: Buffer;
  readonly below: Buffer;
}

/** All names except the servers' own, which begin with a NUL. */
const CALLERS_NAMES: NameRange = {
  from: Buffer.of(OWN_NAMES_PREFIX.charCodeAt(0) + 1),
  below: ABOVE_ALL_NAMES,
};

/** The names that begin with `prefix` and come after `afterName`. An empty prefix leaves out the servers' own names. */
export function rangeAfter(prefix: string, afterName: string | null): NameRange {
  const { from, below } = prefix === "" ? CALLERS_NAMES : prefixRange(prefix);
  if (afterName === null) return { from, below };
  // The first byte string after the name. A single lower bound, because SQLite would seek to one of two bounds and scan
  // from there to the other.
  const next = Buffer.concat([Buffer.from(afterName, "utf8"), Buffer.of(0)]);
  return { from: Buffer.compare(next, from) > 0 ? next : from, below };
}

export function prefixRange(prefix: string): NameRange {
  const from = Buffer.from(prefix, "utf8");
  const below = Buffer.from(from);
  for (let last = below.length - 1; last >= 0; last--) {
    const byte = below[last] as number;
    if (byte < 0xff) {
      below[last] = byte + 1;
      return { from, below: below.subarray(0, last + 1) };
    }
  }
  return { from, below: ABOVE_ALL_NAMES };
}

const KEY_BYTES = 16;
/** A UUID of version 7 begins with its time: 48 bits. */
const TIME_BYTES = 6;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const UUID_CHARS = 36;

/**
 * The key of a request id, as claims keep it, in rowlock_request: 16 bytes, so that the index of request ids is small.
 * A hash of the whole id, with who asks and which lease of a Capture it is. If the caller's id is a UUID of version 7,
 * the first bytes are its time, so rows of one time are neighbours. Somebody may look for two ids with the same key:
 * whoever finds a claim by its key must compare the id.
 */
export function requestKeyOf(requestId: string): Buffer {
  const known = recent.get(requestId);
  if (known) return known;
  if (recent.size >= RECENT_MAX) recent.clear();
  const key = keyOf(requestId);
  recent.set(requestId, key);
  return key;
}

/** A transaction looks a request id up and adds it soon after. Nobody may change these keys. */
const recent = new Map<string, Buffer>();
const RECENT_MAX = 1_024;

function keyOf(requestId: string): Buffer {
  // As a text it comes several times as fast as a Buffer.
  const digest = hash("sha256", requestId, "latin1");
  const key = Buffer.allocUnsafe(KEY_BYTES);
  key.write(digest, 0, KEY_BYTES, "latin1");
  const id = callersRequestId({ requestId });
  if (id.length !== UUID_CHARS || !UUID_V7.test(id)) return key;
  key.writeUInt32BE(Number.parseInt(id.slice(0, 8), 16), 0);
  key.writeUInt16BE(Number.parseInt(id.slice(9, 13), 16), TIME_BYTES - 2);
  return key;
}

export interface KeyOwner {
  readonly key: Uint8Array;
  readonly requestId: string;
}

/**
 * The request ids that are taken by others: those with one of these keys that are not its owner, and of several ids
 * with one key all but the first. undefined: there are none, as nearly always.
 */
export function takenBy(
  requestIds: readonly string[],
  found: readonly KeyOwner[],
): ReadonlySet<string> | undefined {
  if (requestIds.length + found.length < 2) return undefined;
  const owners = new Map<string, string>();
  let taken: Set<string> | undefined;
  for (const { key, requestId } of found) owners.set(textOf(key), requestId);
  for (const requestId of requestIds) {
    if (isServerMade(requestId)) continue;
    const key = textOf(requestKeyOf(requestId));
    const owner = owners.get(key);
    if (owner === undefined) owners.set(key, requestId);
    else if (owner !== requestId) taken = (taken ?? new Set()).add(requestId);
  }
  return taken;
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
}

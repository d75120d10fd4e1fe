// Messages from and to bytes, without a copy if none is needed; claims, places, locks and times as messages. Pure. Only a
// Lease and a Ticket contain a secret id: they go to the client that asked for them.

import {
  create,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import * as pb from "#proto/rowlock/v1/lock_pb.js";
import * as service from "#proto/rowlock/v1/lock_service_pb.js";
import {
  type Claim,
  type ClaimState,
  callersRequestId,
  type EndReason,
  formatClaimId,
  isGivenBack,
  isSpend,
  type Member,
  type Mode,
} from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { EffectiveLimit, EffectiveQueueRules, EffectiveRate } from "../../core/limit.ts";
import { isDraining, type LastRun, type LockRecord, totalHeld, waiterCount } from "../../core/lock.ts";
import { releasedOf, settingsOf } from "../../core/noted-change.ts";
import { waitsAt } from "../../core/pools.ts";
import type { QueueRules, WhenFull } from "../../core/queue-rules.ts";
import type { Rate } from "../../core/rate.ts";
import type { LimitSetting, PoolView, ViewedLock } from "../../engine/answers.ts";
import type { KeptChange } from "../../engine/history.ts";
import type { Answer } from "../call.ts";
import { CallError } from "./call-error.ts";
import { READERS, WRITERS } from "./hot-codec.ts";
import { Reader, Writer } from "./wire.ts";

const MODES: Record<Mode, pb.Mode> = {
  permit: pb.Mode.PERMIT,
  shared: pb.Mode.SHARED,
  exclusive: pb.Mode.EXCLUSIVE,
};

export const STATES: Readonly<Record<ClaimState, pb.ClaimState>> = {
  waiting: pb.ClaimState.WAITING,
  held: pb.ClaimState.HELD,
  ended: pb.ClaimState.ENDED,
};

const SOURCES: Record<EffectiveLimit["source"], pb.LimitSource> = {
  default: pb.LimitSource.DEFAULT,
  pattern: pb.LimitSource.PATTERN,
  name: pb.LimitSource.NAME,
  pool: pb.LimitSource.POOL,
};

/** What most answers fit into. */
const ANSWER_BYTES = 256;

/** For grpc-js, which passes messages on as bytes. */
export function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

/** Throws a CallError (MALFORMED_MESSAGE) if the bytes are not that message. */
export function decode<Schema extends DescMessage>(schema: Schema, bytes: Buffer): MessageShape<Schema> {
  const read = READERS.get(schema);
  if (read) {
    const reader = new Reader(bytes);
    const message = read(reader, bytes.length);
    if (reader.at === bytes.length) return message as MessageShape<Schema>;
  }
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch {
    // Every error of the decoder is about the caller's bytes.
    throw new CallError(
      "MALFORMED_MESSAGE",
      `The bytes are not a ${schema.typeName}: encode it as protobuf, and all text in it as UTF-8.`,
    );
  }
}

/** Encodes an answer, or returns it if it already consists of bytes. */
export function encode(schema: DescMessage, answer: Answer | Buffer): Buffer {
  if (Buffer.isBuffer(answer)) return answer;
  const writer = new Writer(ANSWER_BYTES);
  return encodeHot(writer, schema, answer) ? writer.finish() : encodeAny(schema, answer);
}

export function encodeInto(writer: Writer, schema: DescMessage, answer: Answer | Buffer): void {
  if (Buffer.isBuffer(answer)) writer.raw(answer);
  else if (!encodeHot(writer, schema, answer)) writer.raw(encodeAny(schema, answer));
}

/** false: it has written nothing, because there is no generated code for this answer, or it gives the answer up. */
function encodeHot(writer: Writer, schema: DescMessage, answer: Answer): boolean {
  const write = WRITERS.get(schema);
  if (!write) return false;
  const from = writer.length;
  write(writer, answer);
  return writer.keep(from);
}

function encodeAny(schema: DescMessage, answer: Answer): Buffer {
  const bytes = toBinary(schema, create(schema, answer), { writeUnknownFields: false });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const NO_LOCKS: pb.ClaimedLock[] = [];

function claimedLock({ name, mode, permits, fencingToken }: Member): pb.ClaimedLock {
  return create(pb.ClaimedLockSchema, { lockName: name, mode: MODES[mode], permits, fencingToken });
}

/** A held claim. `nowUs`: when its remaining time counts from, by the database's clock. */
export function leaseMessage(claim: Claim, lockName: string, nowUs: number): pb.Lease {
  const { deadlineUs, grantedAtUs } = claim;
  const leftUs = leaseLeftUs(claim, nowUs);
  // As `create` would make it, at a fraction of its cost.
  const lease: pb.Lease = {
    $typeName: "rowlock.v1.Lease",
    leaseId: formatClaimId(claim),
    lockName,
    mode: MODES[claim.mode],
    permits: claim.permits,
    fencingToken: claim.fencingToken,
    requestId: callersRequestId(claim),
    provisional: claim.provisional && deadlineUs !== null,
    also: claim.members === null ? NO_LOCKS : claim.members.slice(1).map(claimedLock),
  };
  if (leftUs !== null) lease.ttl = durationMessage(leftUs);
  if (deadlineUs !== null) lease.expiresAt = timestampMessage(deadlineUs);
  if (grantedAtUs !== null) lease.grantedAt = timestampMessage(grantedAtUs);
  return lease;
}

export function ticketMessage(
  claim: Claim,
  lockName: string,
  place: Place,
  nowUs: number,
  graceUs: number,
): pb.Ticket {
  const { waitUntilUs, requestedAtUs } = claim;
  const waitUs =
    waitUntilUs === null
      ? Number.POSITIVE_INFINITY
      : Math.min(waitUntilUs - nowUs, waitUntilUs - requestedAtUs);
  return create(pb.TicketSchema, {
    ticketId: formatClaimId(claim),
    lockName,
    ahead: place.ahead,
    permitsAhead: BigInt(place.permitsAhead),
    queueLength: place.queueLength,
    waited: durationMessage(nowUs - requestedAtUs),
    keptFor: durationMessage(Math.min(graceUs, waitUs)),
    ...(place.rateWaitUs !== undefined && { rateWait: durationMessage(place.rateWaitUs) }),
    pool: place.pool ?? "",
    waitsFor: place.waitsFor ?? "",
  });
}

/** A claim that ended with its grant. */
export function spentMessage(claim: Claim, lockName: string): pb.Spent {
  return create(pb.SpentSchema, {
    lockName,
    permits: claim.permits,
    fencingToken: claim.fencingToken,
    ...(claim.grantedAtUs !== null && { spentAt: timestampMessage(claim.grantedAtUs) }),
    requestId: callersRequestId(claim),
  });
}

/** A claim as everybody may see it: without its secret id. Its other locks are those that the caller may read: see `shownMembers`. */
export function claimMessage(claim: Claim, lockName: string, pool = ""): pb.Claim {
  const { grantedAtUs, deadlineUs } = claim;
  const isLive = claim.state !== "ended";
  return create(pb.ClaimSchema, {
    lockName,
    ticketNumber: claim.ticketNumber,
    state: STATES[claim.state],
    mode: MODES[claim.mode],
    permits: claim.permits,
    owner: claim.owner,
    principal: claim.principal,
    labels: claim.labels,
    fencingToken: claim.fencingToken,
    requestedAt: timestampMessage(claim.requestedAtUs),
    ...(grantedAtUs !== null && { grantedAt: timestampMessage(grantedAtUs) }),
    // The deadline of an ended claim is when its row may be deleted.
    ...(isLive && deadlineUs !== null && { expiresAt: timestampMessage(deadlineUs) }),
    provisional: claim.provisional,
    spendOnly: isSpend(claim),
    pool,
    also: claim.members?.filter(({ lockId }) => lockId !== claim.lockId).map(claimedLock) ?? [],
    ...(!isLive && { end: endMessage(claim), replica: claim.replica === null ? "" : String(claim.replica) }),
  });
}

export function endMessage({ endedAtUs, endReason, endNote, endedBy }: Claim): pb.ClaimEnd {
  return create(pb.ClaimEndSchema, {
    ...(endReason !== null && { reason: END_REASONS[endReason] }),
    ...(endedAtUs !== null && { endedAt: timestampMessage(endedAtUs) }),
    // Of several locks, the one because of which it ended.
    ...(isEndedBySomebody(endReason) ? { endedBy } : { lockName: endedBy }),
    ...(isNotedStatus(endReason) ? { status: endNote } : { note: endNote }),
  });
}

/** Whether what is noted of the end is the lock's status. */
function isNotedStatus(reason: EndReason | null): boolean {
  return isGivenBack(reason) || reason === "expired" || reason === "status_mismatch";
}

function isEndedBySomebody(reason: EndReason | null): boolean {
  return reason === "force_released" || reason === "superseded";
}

export function changeMessage(change: KeptChange): pb.Change {
  const { atUs, kind, target, isPattern, by, reason } = change;
  const names = kind === "pool" ? ("pool" as const) : ("pattern" as const);
  const ofLock = { case: isPattern ? names : ("lockName" as const), value: target };
  return create(pb.ChangeSchema, {
    changedAt: timestampMessage(atUs),
    ...(kind !== "policy" && { target: ofLock }),
    changedBy: by,
    reason,
    what: whatChanged(change),
  });
}

type What = NonNullable<MessageInitShape<typeof pb.ChangeSchema>["what"]>;

/** The history keeps it as text. */
function whatChanged({ kind, target, from, to }: KeptChange): What {
  switch (kind) {
    case "limit":
    case "pool":
      return { case: "limit", value: limitChangeOf(from, to) };
    case "record":
      return {
        case: "record",
        value: { ...(from !== "" && { from: keptRecord(from) }), ...(to !== "" && { to: keptRecord(to) }) },
      };
    case "forced_release": {
      const { state, ...claim } = releasedOf(from);
      return {
        case: "forcedRelease",
        value: { claim: { lockName: target, state: STATES[state], ...claim } },
      };
    }
    case "policy":
      return { case: "policy", value: { from, to } };
  }
}

function limitChangeOf(from: string, to: string): MessageInitShape<typeof pb.LimitChangeSchema> {
  const [before, after] = [settingsOf(from), settingsOf(to)];
  return {
    ...(before.limit !== null && { from: before.limit }),
    ...(after.limit !== null && { to: after.limit }),
    ...(before.rate && { rateFrom: rateMessage(before.rate) }),
    ...(after.rate && { rateTo: rateMessage(after.rate) }),
    ...(before.queueRules && { queueRulesFrom: queueRulesMessage(before.queueRules) }),
    ...(after.queueRules && { queueRulesTo: queueRulesMessage(after.queueRules) }),
  };
}

function keptRecord(text: string): pb.LockRecord {
  return fromJsonString(pb.LockRecordSchema, text);
}

export function limitSettingMessage(setting: LimitSetting): service.LimitSetting {
  const { kind, target, limit, rate, queueRules, version, reason, use } = setting;
  return create(service.LimitSettingSchema, {
    target: { case: kind, value: target },
    limit: limit ?? 0,
    ...{ version, reason, rateOnly: limit === null },
    ...(rate && { rate: rateMessage(rate) }),
    ...(queueRules && { queueRules: queueRulesMessage(queueRules) }),
    ...(use && { use }),
  });
}

/** A pool over a lock, as everybody sees it who may read all names under it. */
export function poolMessage({ limit, rate, use }: PoolView): pb.PoolInForce {
  return create(pb.PoolInForceSchema, {
    pattern: limit.pattern,
    ...(Number.isFinite(limit.limit) && { limit: limitMessage(limit) }),
    ...(rate && { rate: rateInForceMessage(rate, use.available) }),
    use,
  });
}

export function lockMessage(view: ViewedLock): pb.Lock {
  const { lock, limit, rate, queueRules, holders, waiters, pools = [], poolPatterns } = view;
  const poolOf = (claim: Claim) => poolPatterns?.get(waitsAt(claim) ?? 0n) ?? "";
  return create(pb.LockSchema, {
    name: lock.name,
    limit: limitMessage(limit),
    heldPermits: BigInt(totalHeld(lock)),
    holderCount: lock.holders - lock.entering,
    waiterCount: waiterCount(lock),
    draining: isDraining(lock, limit.limit),
    lastFencingToken: lock.lastToken,
    holders: holders.map((claim) => claimMessage(claim, lock.name)),
    waiters: waiters.map((claim) => claimMessage(claim, lock.name, poolOf(claim))),
    ...(lock.record && { record: recordMessage(lock.record) }),
    ...(rate && { rate: rateInForceMessage(rate, rate.available) }),
    ...(queueRules && { queueRules: queueRulesInForceMessage(queueRules) }),
    pools: pools.map(poolMessage),
  });
}

export function rateMessage({ permits, perUs, burst }: Rate): pb.Rate {
  return create(pb.RateSchema, { permits, per: durationMessage(perUs), burst });
}

/** `available`: 0 where that is not shown. */
export function rateInForceMessage(rate: EffectiveRate, available = 0): pb.RateInForce {
  const { source, pattern, version, reason } = rate;
  const shown = { source: SOURCES[source], pattern, version, reason, available };
  return create(pb.RateInForceSchema, { rate: rateMessage(rate), ...shown });
}

const WHEN_FULL: Readonly<Record<WhenFull, pb.WhenFull>> = {
  refuse: pb.WhenFull.REFUSE,
  end_longest_waiting: pb.WhenFull.END_LONGEST_WAITING,
};

export function queueRulesMessage({
  waitingMax,
  whenFull,
  shareBy,
  headStartMaxUs,
}: QueueRules): pb.QueueRules {
  const bounds = { waitingMax: waitingMax ?? 0, whenFull: WHEN_FULL[whenFull] };
  const headStarts = headStartMaxUs > 0 && { headStartMax: durationMessage(headStartMaxUs) };
  return create(pb.QueueRulesSchema, { ...bounds, shareBy: shareBy ?? "", ...headStarts });
}

export function queueRulesInForceMessage(rules: EffectiveQueueRules): pb.QueueRulesInForce {
  const { source, pattern, version, reason } = rules;
  const shown = { source: SOURCES[source], pattern, version, reason };
  return create(pb.QueueRulesInForceSchema, { rules: queueRulesMessage(rules), ...shown });
}

export function limitMessage(limit: EffectiveLimit): pb.Limit {
  return create(pb.LimitSchema, {
    permits: limit.limit,
    source: SOURCES[limit.source],
    pattern: limit.pattern,
    version: limit.version,
    reason: limit.reason,
  });
}

export function recordMessage(record: LockRecord): pb.LockRecord {
  const { notBeforeUs, attemptsLeft, status, lastRun, lastSuccess, failures, version } = record;
  return create(pb.LockRecordSchema, {
    ...(notBeforeUs !== null && { notBefore: timestampMessage(notBeforeUs) }),
    ...(attemptsLeft !== null && { attemptsLeft }),
    status,
    ...(lastRun && { lastRun: lastRunMessage(lastRun) }),
    ...(lastSuccess && { lastSuccess: lastRunMessage(lastSuccess) }),
    failures,
    version,
  });
}

function lastRunMessage(run: LastRun): pb.LastRun {
  return create(pb.LastRunSchema, {
    owner: run.owner,
    fencingToken: run.fencingToken,
    grantedAt: timestampMessage(run.grantedAtUs),
    endedAt: timestampMessage(run.endedAtUs),
    endReason: END_REASONS[run.end],
    status: run.status,
  });
}

export const END_REASONS: Readonly<Record<EndReason, pb.EndReason>> = {
  released: pb.EndReason.RELEASED,
  expired: pb.EndReason.EXPIRED,
  force_released: pb.EndReason.FORCE_RELEASED,
  lapsed: pb.EndReason.LAPSED,
  cancelled: pb.EndReason.CANCELLED,
  timed_out: pb.EndReason.TIMED_OUT,
  never_fits: pb.EndReason.NEVER_FITS,
  exhausted: pb.EndReason.EXHAUSTED,
  status_mismatch: pb.EndReason.STATUS_MISMATCH,
  spent: pb.EndReason.SPENT,
  superseded: pb.EndReason.SUPERSEDED,
  failed: pb.EndReason.FAILED,
};

const SECOND_US = 1_000_000;

/** A span of time; a negative one becomes 0. */
export function durationMessage(spanUs: number): Duration {
  const us = Math.max(0, spanUs);
  const seconds = Math.floor(us / SECOND_US);
  return {
    $typeName: "google.protobuf.Duration",
    seconds: BigInt(seconds),
    nanos: Math.round(us - seconds * SECOND_US) * 1_000,
  };
}

/**
 * The remaining time of a lease, as every client gets it; null: it has no end. Never more than the lease was given for:
 * the clock may be read before the reading by which the lease was given, or be set back.
 */
export function leaseLeftUs(
  { deadlineUs, grantedAtUs, ttlUs, provisional }: Claim,
  nowUs: number,
): number | null {
  if (deadlineUs === null) return null;
  const givenUs = provisional && grantedAtUs !== null ? deadlineUs - grantedAtUs : ttlUs;
  return Math.max(0, Math.min(deadlineUs - nowUs, givenUs ?? Number.POSITIVE_INFINITY));
}

/** A span of time, or an instant as the time since 1970, in microseconds. */
export function spanUs({ seconds = 0n, nanos = 0 }: { seconds?: bigint; nanos?: number }): number {
  return Number(seconds) * 1e6 + nanos / 1e3;
}

export function timestampMessage(us: number): Timestamp {
  const seconds = Math.floor(us / SECOND_US);
  return {
    $typeName: "google.protobuf.Timestamp",
    seconds: BigInt(seconds),
    nanos: (us - seconds * SECOND_US) * 1_000,
  };
}

/** For a person: `14:03:20 UTC`, `yesterday at 14:03:20 UTC`, `2026-11-20 14:03:20 UTC`. */
export function instantText(us: number, nowUs: number): string {
  const [day = "", time = ""] = isoOf(us).split("T");
  const [today] = isoOf(nowUs).split("T");
  const at = `${time.slice(0, "14:03:20".length)} UTC`;
  if (day === today) return at;
  const [yesterday] = isoOf(nowUs - 86_400 * SECOND_US).split("T");
  return day === yesterday ? `yesterday at ${at}` : `${day} ${at}`;
}

/** Instants beyond what a Date can hold are as late as it can. */
function isoOf(us: number): string {
  return new Date(Math.min(us / 1_000, 8.64e15)).toISOString();
}

/** For a person: `450 ms`, `12 s`, `3 min`, `5 h`, `24 days`. */
export function spanText(spanUs: number): string {
  const seconds = Math.max(0, spanUs) / SECOND_US;
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

// SetLimit, UpdateRecord, DeleteRecord and ForceRelease: what operators and schedulers change.

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { WhenFull } from "#proto/rowlock/v1/lock_pb.js";
import type * as service from "#proto/rowlock/v1/lock_service_pb.js";
import {
  DELAY_US_MAX,
  LABEL_KEY_BYTES_MAX,
  NAME_BYTES_MAX,
  PERMITS_MAX,
  POOL_BYTES_MAX,
  WAITING_MAX_MAX,
} from "../../core/bounds.ts";
import type { Asked, DeleteRecord, ForceRelease, SetLimit, UpdateRecord } from "../../core/command.ts";
import type { NewSettings } from "../../core/limit.ts";
import { isDraining, totalHeld, waiterCount } from "../../core/lock.ts";
import { type QueueRules, SHARE_BY_LABEL, SHARE_BY_PRINCIPAL } from "../../core/queue-rules.ts";
import { backInUs, type Rate } from "../../core/rate.ts";
import type { AnswerTo } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted } from "../admission.ts";
import { shownClaim, shownRecord } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import {
  lockInUse,
  recordVersionMismatch,
  tooManyPools,
  unknownLock,
  versionMismatch,
} from "../messages/call-error.ts";
import { claimMessage, queueRulesMessage, rateMessage, recordMessage } from "../messages/messages.ts";
import { type Check, DELAY, HEAD_START, NANOS_MAX, PER } from "./fields.ts";

/** Has a command of the call decided, in its turn. */
async function decided<Command extends Asked>(
  { engine }: MethodContext,
  call: Call,
  command: Command,
): Promise<AnswerTo<Command["verb"]>["outcome"]> {
  const answer = await admitted(call.client.admission, call, () => engine.ask({ ...command, caller: call }));
  return answer.outcome;
}

/** Throws BAD_REQUEST, or VERSION_MISMATCH if the setting does not have the expected version. */
export async function setLimit(context: MethodContext, { target, ...asked }: CheckedSetLimit, call: Call) {
  if (target.kind !== "name") {
    const set = target.kind === "pool" ? setForPool : setForPattern;
    return await set(context, target.prefix, asked, call);
  }
  const outcome = await decided(context, call, { verb: "set_limit", name: target.name, ...asked });
  if (outcome.kind === "version_mismatch") throw versionMismatch(outcome.version);
  const { lock, version, rate, queueRules } = outcome;
  const { limit } = outcome.limit;
  return {
    ...{ limit, version, draining: isDraining(lock, limit), ...(rate && { rate: rateMessage(rate) }) },
    ...(queueRules && { queueRules: queueRulesMessage(queueRules) }),
    ...{ heldPermits: BigInt(totalHeld(lock)), waiterCount: BigInt(waiterCount(lock)) },
  };
}

async function setForPattern(
  { engine }: MethodContext,
  prefix: string,
  { limit, rate, queueRules, expectedVersion, reason }: Omit<CheckedSetLimit, "target">,
  call: Call,
) {
  const set = { limit, rate, queueRules };
  const answer = await admitted(call.client.admission, call, () =>
    engine.setLimitRule(prefix, set, expectedVersion, reason, call),
  );
  if (answer.kind === "version_mismatch") throw versionMismatch(answer.version);
  const { kind: _, heldPermits, waiting, rate: rateInForce, queueRules: rulesInForce, ...said } = answer;
  const inForce = {
    ...(rateInForce && { rate: rateMessage(rateInForce) }),
    ...(rulesInForce && { queueRules: queueRulesMessage(rulesInForce) }),
  };
  return { ...said, ...inForce, heldPermits: BigInt(heldPermits), waiterCount: BigInt(waiting) };
}

async function setForPool(
  { engine }: MethodContext,
  prefix: string,
  { limit, rate, expectedVersion, reason }: Omit<CheckedSetLimit, "target">,
  call: Call,
) {
  const answer = await admitted(call.client.admission, call, () =>
    engine.setPool(prefix, { limit, rate }, expectedVersion, reason, call),
  );
  if (answer.kind === "version_mismatch") throw versionMismatch(answer.version);
  if (answer.kind === "too_many_pools") throw tooManyPools(answer.over);
  const { lock, version, serversBehind } = answer;
  return {
    ...{ limit: lock.limit ?? 0, noLimit: lock.limit === null, version, serversBehind },
    ...(lock.rate && { rate: rateMessage(lock.rate) }),
    ...{ heldPermits: BigInt(lock.heldPermits), waiterCount: BigInt(lock.waiting) },
    ...{ draining: lock.limit !== null && lock.heldPermits > lock.limit, counting: lock.counting !== null },
  };
}

const STAR = "*";

type LimitTarget =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "pattern" | "pool"; readonly prefix: string };

interface CheckedSetLimit extends NewSettings, Pick<SetLimit, "expectedVersion" | "reason"> {
  readonly target: LimitTarget;
}

export function checkSetLimit(message: service.SetLimitRequest, check: Check): CheckedSetLimit {
  const { newLimit, newRate, newQueueRules } = message;
  if ([newLimit, newRate, newQueueRules].every((set) => set.case === undefined))
    check.add(
      "limit",
      "or another field must be set: unset_limit, rate, unset_rate, queue_rules, unset_queue_rules (a limit of 0 pauses the lock)",
    );
  if (message.target.case === "pool" && newQueueRules.case !== undefined)
    check.add("queue_rules", "cannot be set for a pool: set them for the pattern, where each name has them");
  return {
    target: checkTarget(message.target, check),
    limit: checkLimit(message, check),
    rate: checkRate(message, check),
    queueRules: checkQueueRules(message, check),
    expectedVersion: message.expectedVersion,
    reason: check.reason(message.reason, false),
  };
}

function checkTarget(target: service.SetLimitRequest["target"], check: Check): LimitTarget {
  switch (target.case) {
    case "name":
      return { kind: "name", name: check.name(target.value, "name") };
    case "pattern":
      return { kind: "pattern", prefix: checkPattern(target.value, check) };
    case "pool":
      return { kind: "pool", prefix: checkPattern(target.value, check, "pool", POOL_BYTES_MAX) };
    case undefined:
      check.add(
        "target",
        "is required: set name for one lock, pattern for each lock whose name begins alike, or pool for all of them together",
      );
      return { kind: "name", name: "" };
  }
}

function checkPattern(
  pattern: string,
  check: Check,
  field: "pattern" | "pool" = "pattern",
  bytesMax = NAME_BYTES_MAX,
): string {
  check.text(pattern, bytesMax, field);
  if (!pattern.endsWith(STAR) || pattern.indexOf(STAR) < pattern.length - 1) {
    check.add(field, "must have one star, at its end, such as etl/* (for one lock, set name)");
  }
  return pattern.slice(0, -1);
}

/** undefined: the request leaves it alone. */
function checkLimit({ newLimit }: service.SetLimitRequest, check: Check): number | null | undefined {
  switch (newLimit.case) {
    case "limit":
      if (newLimit.value > PERMITS_MAX) check.add("limit", `is ${newLimit.value}; use 0 to ${PERMITS_MAX}`);
      return newLimit.value;
    case "unsetLimit":
      return null;
    case undefined:
      return undefined;
  }
}

/** undefined: the request leaves it alone. */
function checkRate({ newRate }: service.SetLimitRequest, check: Check): Rate | null | undefined {
  if (newRate.case !== "rate") return newRate.case === "unsetRate" ? null : undefined;
  const { permits, per, burst } = newRate.value;
  const ofRate = check.within("rate");
  const inBounds = (count: number) => count >= 1 && count <= PERMITS_MAX;
  if (!inBounds(permits)) ofRate.add("permits", `is ${permits}; use 1 to ${PERMITS_MAX}`);
  if (burst !== 0 && !inBounds(burst))
    ofRate.add("burst", `is ${burst}; use 0 to ${PERMITS_MAX} (0: as permits)`);
  const perUs = ofRate.duration(per, PER, "per");
  if (perUs === undefined)
    ofRate.add("per", "is required: the span of time for which the permits are, such as 60 s");
  const rate = { permits, perUs: perUs ?? PER.minUs, burst: burst || permits };
  if (permits > 0 && backInUs(rate, rate.burst) > DELAY_US_MAX)
    ofRate.add("burst", "is too large: a whole burst must come back within 10 years");
  return rate;
}

/** undefined: the request leaves them alone. */
function checkQueueRules(
  { newQueueRules }: service.SetLimitRequest,
  check: Check,
): QueueRules | null | undefined {
  if (newQueueRules.case !== "queueRules") return newQueueRules.case === undefined ? undefined : null;
  const { waitingMax, whenFull, shareBy, headStartMax } = newQueueRules.value;
  const ofQueue = check.within("queue_rules");
  const headStartMaxUs = ofQueue.duration(headStartMax, HEAD_START, "head_start_max") ?? 0;
  const hasOrder = shareBy !== "" || headStartMaxUs > 0;
  if ((waitingMax === 0 && !hasOrder) || waitingMax > WAITING_MAX_MAX)
    ofQueue.add("waiting_max", `is ${waitingMax}; use 1 to ${WAITING_MAX_MAX}`);
  const known = WHEN_FULL[whenFull];
  if (!known) ofQueue.add("when_full", `is ${whenFull}, which this server does not know`);
  if (known === "end_longest_waiting" && hasOrder)
    ofQueue.add(
      "when_full",
      `ends the longest waiting, and ${shareBy === "" ? "head_start_max" : "share_by"} says who goes first: set one of them`,
    );
  if (shareBy !== "" && headStartMaxUs > 0)
    ofQueue.add("head_start_max", "is for another order than share_by: set one of them");
  return {
    waitingMax: waitingMax === 0 ? null : waitingMax,
    whenFull: known ?? "refuse",
    shareBy: shareBy === "" ? null : checkShareBy(shareBy, ofQueue),
    headStartMaxUs,
  };
}

function checkShareBy(shareBy: string, check: Check): string {
  if (shareBy === SHARE_BY_PRINCIPAL) return shareBy;
  const keyBytes = Buffer.byteLength(shareBy) - SHARE_BY_LABEL.length;
  if (!shareBy.startsWith(SHARE_BY_LABEL) || keyBytes < 1 || keyBytes > LABEL_KEY_BYTES_MAX)
    check.add(
      "share_by",
      `is not known; use "${SHARE_BY_PRINCIPAL}", or "${SHARE_BY_LABEL}" and the key of a label, 1 to ${LABEL_KEY_BYTES_MAX} bytes of UTF-8`,
    );
  return check.text(shareBy, SHARE_BY_LABEL.length + LABEL_KEY_BYTES_MAX, "share_by");
}

const WHEN_FULL: Readonly<Record<number, QueueRules["whenFull"]>> = {
  [WhenFull.UNSPECIFIED]: "refuse",
  [WhenFull.REFUSE]: "refuse",
  [WhenFull.END_LONGEST_WAITING]: "end_longest_waiting",
};

/** Throws VERSION_MISMATCH, or OVERLOADED for one record more than the quota of its caller. */
export async function updateRecord(context: MethodContext, update: CheckedUpdateRecord, call: Call) {
  const { identity, usage } = call.client;
  const room = usage.roomForRecord(identity);
  const mayMakeRecord = room.refusal === null;
  try {
    const outcome = await decided(context, call, { verb: "update_record", ...update, mayMakeRecord });
    if (outcome.kind === "version_mismatch") throw recordVersionMismatch(outcome.version);
    if (outcome.kind === "no_record") throw room.refusal;
    return { record: recordMessage(shownRecord(call, outcome.record, update.name)) };
  } finally {
    room.done();
  }
}

/** Answers whether this call deleted the record. Throws LOCK_IN_USE or VERSION_MISMATCH. */
export async function deleteRecord(context: MethodContext, asked: CheckedDeleteRecord, call: Call) {
  const { name, expectedVersion } = asked;
  const outcome = await decided(context, call, { verb: "delete_record", ...asked });
  switch (outcome.kind) {
    case "unknown_lock":
      if (expectedVersion) throw recordVersionMismatch(0n);
      return { deleted: false };
    case "deleted":
      return { deleted: outcome.byThisCall };
    case "in_use":
      throw lockInUse(name);
    case "version_mismatch":
      throw recordVersionMismatch(outcome.version);
  }
}

/** Ends one claim, or the first holders of a lock; `remaining`: holders left for further calls. Throws UNKNOWN_LOCK. */
export async function forceRelease(context: MethodContext, asked: CheckedForceRelease, call: Call) {
  const { name, ticketNumber } = asked;
  const outcome = await decided(context, call, { verb: "force_release", ...asked });
  if (outcome.kind === "unknown_lock") throw unknownLock(name);
  const ended = outcome.ended.map((claim) => claimMessage(shownClaim(call, claim, name), name));
  const remaining = ticketNumber === null ? outcome.holdersLeft : 0;
  return { ended, remaining };
}

type CheckedForceRelease = Pick<ForceRelease, "name" | "ticketNumber" | "reason">;
type CheckedUpdateRecord = Omit<UpdateRecord, "verb" | "caller" | "mayMakeRecord">;
type CheckedDeleteRecord = Required<Pick<DeleteRecord, "name" | "expectedVersion" | "reason">>;

export function checkUpdateRecord(
  message: service.UpdateRecordRequest,
  check: Check,
  { engine }: { readonly engine: Pick<LockEngine, "nowUs"> },
): CheckedUpdateRecord {
  // The engine may not have read the database's clock yet, so the local clock stands in: this time only bounds
  // not_before, to catch mistakes in a unit.
  const nowUs = Math.max(engine.nowUs(), Date.now() * 1_000);
  const update = {
    name: check.name(message.name, "name"),
    notBefore: checkNotBefore(message, nowUs, check),
    attemptsLeft: checkNewAttempts(message, check),
    status: check.status(message.status, "status"),
    expectedVersion: message.expectedVersion,
    reason: check.reason(message.reason, false),
  };
  const { notBefore, attemptsLeft, status } = update;
  if (notBefore === undefined && attemptsLeft === undefined && status === undefined) {
    check.add(
      "status",
      "or another field must be set: not_before, not_before_in, unset_not_before, attempts_left, unset_attempts_left",
    );
  }
  return update;
}

function checkNotBefore(
  { newNotBefore }: service.UpdateRecordRequest,
  nowUs: number,
  check: Check,
): UpdateRecord["notBefore"] {
  switch (newNotBefore.case) {
    case "notBefore":
      return { atUs: checkInstant(newNotBefore.value, nowUs, check) };
    case "notBeforeIn":
      return { inUs: check.duration(newNotBefore.value, DELAY, "not_before_in") ?? 0 };
    case "unsetNotBefore":
      return null;
    case undefined:
      return undefined;
  }
}

/** In microseconds since 1970. Rounds parts of one up, so that nothing is granted before it. */
function checkInstant(instant: Timestamp, nowUs: number, check: Check): number {
  const { seconds, nanos } = instant;
  if (nanos < 0 || nanos > NANOS_MAX) {
    check.add("not_before", "is not a valid Timestamp: nanos are 0 to 999,999,999");
    return 0;
  }
  // Rounded before the sum, because a sum with parts of a microsecond would not be exact.
  const us = Number(seconds) * 1e6 + Math.ceil(nanos / 1_000);
  if (seconds < 0n || us > nowUs + DELAY_US_MAX)
    check.add("not_before", "is out of range; use an instant from 1970 to at most 10 years ahead");
  return us;
}

function checkNewAttempts(
  { newAttemptsLeft }: service.UpdateRecordRequest,
  check: Check,
): number | null | undefined {
  if (newAttemptsLeft.case === "unsetAttemptsLeft") return null;
  return check.attempts(newAttemptsLeft.value);
}

export function checkDeleteRecord(
  { name, expectedVersion, reason }: service.DeleteRecordRequest,
  check: Check,
): CheckedDeleteRecord {
  return {
    name: check.name(name, "name"),
    expectedVersion,
    reason: check.reason(reason, false),
  };
}

export function checkForceRelease(
  { target, reason }: service.ForceReleaseRequest,
  check: Check,
): CheckedForceRelease {
  return { ...checkForced(target, check), reason: check.reason(reason, true) };
}

function checkForced(
  target: service.ForceReleaseRequest["target"],
  check: Check,
): Pick<CheckedForceRelease, "name" | "ticketNumber"> {
  switch (target.case) {
    case "name":
      return { name: check.name(target.value, "name"), ticketNumber: null };
    case "claim": {
      return check.claimReference(target.value, "claim");
    }
    case undefined:
      check.add("target", "is required: set name for all holders of a lock, or claim for one");
      return { name: "", ticketNumber: null };
  }
}

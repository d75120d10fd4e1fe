// Capture: takes leases on some of many locks, at once or as soon as one is available.

import type { CaptureRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { CAPTURE_MAX, CAPTURE_NAMES_MAX, NAME_BYTES_MAX } from "../../core/bounds.ts";
import { isOwnName } from "../../core/lock.ts";
import type { Captured, CaptureInput, CaptureTarget } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { isGivenUp } from "../../engine/faults.ts";
import { labelled } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { VIOLATIONS_OF_NAMES_MAX } from "../grpc-bounds.ts";
import { durationMessage, leaseMessage } from "../messages/messages.ts";
import { asking, giveBackUnheard } from "./claims.ts";
import { type Check, WAIT } from "./fields.ts";

/** Answers without leases if there is nothing to take, within max_wait if that is set. */
export async function capture({ engine }: MethodContext, asked: CheckedCapture, call: Call) {
  const { maxWaitUs } = asked;
  const ask = labelled(call, asked.ask);
  const captured =
    maxWaitUs === null
      ? await asking(call, { claims: ask.max, waiters: 0 }, () => engine.capture(ask, call))
      : await whenFree(engine, ask, Math.ceil(maxWaitUs / 1_000), call);
  return answerOf(captured, ask, engine, call);
}

class TimeOver extends Error {}

async function whenFree(
  engine: LockEngine,
  ask: CaptureInput,
  maxWaitMs: number,
  call: Call,
): Promise<Captured> {
  const { usage, identity, waits } = call.client;
  usage.ask(identity, { claims: ask.max, waiters: 1 })?.();
  const stopped = new AbortController();
  const leave = waits.enter(call, (why) => stopped.abort(why));
  // A waiter for as long as it waits. It keeps room for leases only while an attempt is under way.
  const endsWait = usage.ask(identity, { claims: 0, waiters: 1 });
  const timer = setTimeout(() => stopped.abort(new TimeOver()), maxWaitMs);
  try {
    return await engine.captureWhenFree(ask, stopped.signal, call);
  } catch (error) {
    if (error instanceof TimeOver) return { leases: [], retryAfterUs: null };
    throw error;
  } finally {
    clearTimeout(timer);
    endsWait?.();
    leave();
  }
}

function answerOf(
  { leases, retryAfterUs, isRepeated }: Captured,
  ask: CaptureInput,
  engine: LockEngine,
  call: Call,
) {
  // A client that cancels a capture has seen no lease id and cannot release what the call has taken, so the server gives
  // that back here. It keeps what an earlier attempt has taken: that attempt may have been answered.
  const isLost = isGivenUp(call.signal) && !isRepeated;
  const canReturn = ask.requestId !== "" && !isLost;
  for (const { claim } of leases) giveBackUnheard(engine, claim, call, canReturn);
  return {
    leases: leases.map(({ claim, lockName, nowUs }) => leaseMessage(claim, lockName, nowUs)),
    isRepeated: isRepeated === true,
    ...(retryAfterUs !== null && { retryAfter: durationMessage(retryAfterUs) }),
  };
}

interface CheckedCapture {
  readonly ask: CaptureInput;
  /** null: the call does not wait. */
  readonly maxWaitUs: number | null;
}

export function checkCapture(message: CaptureRequest, check: Check): CheckedCapture {
  const ask = {
    target: checkFrom(message, check),
    max: checkMax(message, check),
    requestId: check.requestId(message.requestId),
    ...check.within("terms").leaseTerms(message.terms),
  };
  return { ask, maxWaitUs: check.duration(message.maxWait, WAIT, "max_wait") ?? null };
}

function checkMax({ maxLeases }: CaptureRequest, check: Check): number {
  if (maxLeases < 1 || maxLeases > CAPTURE_MAX)
    check.add("max_leases", `is ${maxLeases}; take 1 to ${CAPTURE_MAX}`);
  return maxLeases;
}

function checkFrom({ from }: CaptureRequest, check: Check): CaptureTarget {
  switch (from.case) {
    case "prefix":
      return { kind: "prefix", prefix: check.text(from.value, NAME_BYTES_MAX, "prefix") };
    case "names":
      return { kind: "names", names: checkNames(from.value.names, check) };
    case undefined:
      check.add("from", "is required: set prefix (empty for all locks) or names");
      return { kind: "names", names: [] };
  }
}

function checkNames(names: readonly string[], check: Check): readonly string[] {
  if (names.length < 1 || names.length > CAPTURE_NAMES_MAX) {
    check.add("names.names", `has ${names.length} entries; use 1 to ${CAPTURE_NAMES_MAX}`);
    return names;
  }
  const own: [index: number, check: () => void][] = [];
  const seen = new Map<string, number>();
  names.forEach((name, index) => {
    const field = `names.names[${index}]`;
    const first = seen.get(name);
    if (first !== undefined)
      own.push([index, () => check.add(field, `is the same as names.names[${first}]: name each lock once`)]);
    else seen.set(name, index);
    if (name === "" || isOwnName(name) || Buffer.byteLength(name) > NAME_BYTES_MAX)
      own.push([index, () => void check.name(name, field)]);
  });
  // The violations of a thousand names would not fit into the trailer.
  for (const [, report] of own.slice(0, VIOLATIONS_OF_NAMES_MAX)) report();
  return names;
}

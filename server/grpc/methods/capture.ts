// Capture: takes leases on some of many locks, at once or as soon as one is available.

import type { CaptureRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Captured, CaptureInput, LockEngine } from "../../engine/lock-engine.ts";
import type { AnyCall } from "../handler.ts";
import { leaseMessage } from "../messages/messages.ts";
import { durationMessage } from "../messages/times.ts";
import { checkCapture } from "../validate/capture.ts";
import { giveBackUnheard } from "./answers.ts";
import type { MethodContext } from "./method.ts";

/**
 * Answers without leases if there is nothing to take, within max_wait if that is set. Throws BAD_REQUEST, or a Fault of
 * the engine.
 */
export async function capture(context: MethodContext, message: CaptureRequest, call: AnyCall) {
  const { engine } = context;
  const { ask, maxWaitUs } = checkCapture(message);
  const captured =
    maxWaitUs === null
      ? await engine.capture(ask, call)
      : await whenFree(context, ask, Math.ceil(maxWaitUs / 1_000), call);
  return answerOf(captured, ask, engine, call);
}

class TimeOver extends Error {}

async function whenFree(
  { engine, openWaits }: MethodContext,
  ask: CaptureInput,
  maxWaitMs: number,
  call: AnyCall,
): Promise<Captured> {
  const stopped = new AbortController();
  const leave = openWaits.enter(call, (why) => stopped.abort(why));
  const timer = setTimeout(() => stopped.abort(new TimeOver()), maxWaitMs);
  try {
    return await engine.captureWhenFree(ask, stopped.signal, call);
  } catch (error) {
    if (error instanceof TimeOver) return { leases: [], retryAfterUs: null };
    throw error;
  } finally {
    clearTimeout(timer);
    leave();
  }
}

function answerOf(
  { leases, retryAfterUs, isRepeated }: Captured,
  ask: CaptureInput,
  engine: LockEngine,
  call: AnyCall,
) {
  // A client that cancels a capture has seen no lease id and cannot release its leases, so they are given back here.
  const canReturn = ask.requestId !== "" && !call.isGivenUp;
  for (const { claim } of leases) giveBackUnheard(engine, claim, call, canReturn);
  return {
    leases: leases.map(({ claim, lockName, nowUs }) => leaseMessage(claim, lockName, nowUs)),
    isRepeated: isRepeated === true,
    ...(retryAfterUs !== null && { retryAfter: durationMessage(retryAfterUs) }),
  };
}

// Acquire: refuses, gives a ticket, or blocks the call until the lock is granted, as the caller asks.

import type { AcquireRequest, AcquireResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Place } from "../../core/command.ts";
import type { AcquireInput, LockEngine } from "../../engine/lock-engine.ts";
import { PLACE_TRIES_MAX } from "../grpc-bounds.ts";
import type { AnyCall } from "../handler.ts";
import { requestIdReused } from "../messages/call-error.ts";
import { leaseMessage, ticketMessage } from "../messages/messages.ts";
import { checkAcquire } from "../validate/acquire.ts";
import { endOf, giveBackUnheard, refusalOf } from "./answers.ts";
import type { MethodContext } from "./method.ts";
import { Wait } from "./wait.ts";

type AcquireAnswer = Awaited<ReturnType<LockEngine["acquire"]>>;
type Outcome = AcquireResponse["outcome"];

/** Used if no place can be read: the claim was about to be granted. */
const FIRST: Place = { ahead: 0, permitsAhead: 0, queueLength: 1 };

/**
 * Answers with a lease, a ticket or a refusal. Throws BAD_REQUEST, REQUEST_ID_REUSED, or a Fault of the engine. With a
 * request id of its own, a client can safely repeat the call: it gets the same claim.
 */
export async function acquire(context: MethodContext, message: AcquireRequest, call: AnyCall) {
  const { ask, whenBusy } = checkAcquire(message);
  const outcome =
    whenBusy === "wait" ? await untilGranted(context, ask, call) : await atOnce(context, ask, call);
  return { outcome };
}

async function atOnce(context: MethodContext, ask: AcquireInput, call: AnyCall): Promise<Outcome> {
  const { engine, graceUs } = context;
  for (let tries = 1; ; tries++) {
    const answer = await engine.acquire(ask, null, call);
    if (answer.outcome.kind !== "waiting") return await answered(context, answer, ask, call);
    const { claim } = answer.outcome;
    // The place is missing only if the claim existed before, so only for a request id that is used again.
    const place =
      answer.outcome.place ?? (await engine.place(claim, call)) ?? (tries < PLACE_TRIES_MAX ? null : FIRST);
    if (!place) continue;
    giveBackUnheard(engine, claim, call, canReturn(ask));
    return { case: "ticket", value: ticketMessage(claim, answer.lockName, place, answer.nowUs, graceUs) };
  }
}

async function untilGranted(context: MethodContext, ask: AcquireInput, call: AnyCall): Promise<Outcome> {
  const { engine, openWaits } = context;
  const wait = new Wait(engine, openWaits, call);
  try {
    const answer = await engine.acquire(ask, wait, call);
    const { outcome, lockName } = answer;
    if (outcome.kind !== "waiting") return await answered(context, answer, ask, call);
    const { claim, nowUs } = await wait.untilSettled(outcome.claim, () => canReturn(ask));
    if (claim.state !== "held") return { case: "refusal", value: await endOf(engine, claim, lockName, call) };
    giveBackUnheard(engine, claim, call, canReturn(ask));
    return { case: "lease", value: leaseMessage(claim, lockName, nowUs) };
  } finally {
    wait.close();
  }
}

async function answered(
  context: MethodContext,
  answer: AcquireAnswer,
  ask: AcquireInput,
  call: AnyCall,
): Promise<Outcome> {
  const { engine } = context;
  const { outcome, lockName, nowUs } = answer;
  switch (outcome.kind) {
    case "held":
      giveBackUnheard(engine, outcome.claim, call, canReturn(ask));
      return { case: "lease", value: leaseMessage(outcome.claim, lockName, nowUs) };
    case "refused":
      return { case: "refusal", value: await refusalOf(engine, { ...answer, outcome }, ask.permits, call) };
    case "ended":
      return { case: "refusal", value: await endOf(engine, outcome.claim, lockName, call) };
    case "request_id_reused":
      throw requestIdReused();
    case "waiting":
      throw new Error("A claim that waits is answered by a ticket or by its end.");
  }
}

/** Whether a client that received no answer can ask for the same claim again. */
function canReturn(ask: AcquireInput): boolean {
  return ask.requestId !== "";
}

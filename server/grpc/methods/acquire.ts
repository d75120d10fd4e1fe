// Acquire: refuses, gives a ticket, or holds the call until the lock is granted, as the caller wants it.

import { create } from "@bufbuild/protobuf";
import type { AcquireResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { AcquireRequestSchema, AcquireResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Place } from "../../core/command.ts";
import type { AcquireInput } from "../../engine/lock-engine.ts";
import { PLACE_TRIES_MAX } from "../grpc-bounds.ts";
import type { AnyCall, UnaryVerb } from "../handler.ts";
import { requestIdReused } from "../messages/call-error.ts";
import { leaseOf, ticketOf } from "../messages/messages.ts";
import { type CheckedAcquire, checkAcquire } from "../validate/acquire.ts";
import { endOf, giveBackUnheard, refusalOf, type Verbs } from "./answers.ts";
import { Wait } from "./wait.ts";

type AcquireAnswer = Awaited<ReturnType<Verbs["engine"]["acquire"]>>;
type Outcome = AcquireResponse["outcome"];

/** Stands for a place that could not be read: the claim was about to be granted. */
const FIRST: Place = { ahead: 0, permitsAhead: 0, queueLength: 1 };

export function acquireVerb(
  verbs: Verbs,
): UnaryVerb<typeof AcquireRequestSchema, typeof AcquireResponseSchema, CheckedAcquire> {
  return {
    name: "Acquire",
    input: AcquireRequestSchema,
    output: AcquireResponseSchema,
    check: checkAcquire,
    async run({ ask, whenBusy }, call) {
      const outcome =
        whenBusy === "wait" ? await untilGranted(verbs, ask, call) : await atOnce(verbs, ask, call);
      return create(AcquireResponseSchema, { outcome });
    },
  };
}

async function atOnce(verbs: Verbs, ask: AcquireInput, call: AnyCall): Promise<Outcome> {
  const { engine, graceUs } = verbs;
  for (let tries = 1; ; tries++) {
    const answer = await engine.acquire(ask, null, call);
    if (answer.outcome.kind !== "waiting") return await answered(verbs, answer, ask, call);
    const { claim } = answer.outcome;
    // Only a claim that was there before, so one with a request id, comes without its place.
    const place =
      answer.outcome.place ?? (await engine.place(claim)) ?? (tries < PLACE_TRIES_MAX ? null : FIRST);
    if (!place) continue;
    giveBackUnheard(engine, claim, call, canReturn(ask));
    return { case: "ticket", value: ticketOf(claim, answer.lockName, place, answer.nowUs, graceUs) };
  }
}

async function untilGranted(verbs: Verbs, ask: AcquireInput, call: AnyCall): Promise<Outcome> {
  const { engine, openWaits } = verbs;
  const wait = new Wait(engine, openWaits, call);
  try {
    const answer = await engine.acquire(ask, wait, call);
    const { outcome, lockName } = answer;
    if (outcome.kind !== "waiting") return await answered(verbs, answer, ask, call);
    const { claim, nowUs } = await wait.untilSettled(outcome.claim, () => canReturn(ask));
    if (claim.state !== "held") return { case: "refusal", value: await endOf(engine, claim, lockName) };
    giveBackUnheard(engine, claim, call, canReturn(ask));
    return { case: "lease", value: leaseOf(claim, lockName, nowUs) };
  } finally {
    wait.close();
  }
}

async function answered(
  verbs: Verbs,
  answer: AcquireAnswer,
  ask: AcquireInput,
  call: AnyCall,
): Promise<Outcome> {
  const { engine } = verbs;
  const { outcome, lockName, nowUs } = answer;
  switch (outcome.kind) {
    case "held":
      giveBackUnheard(engine, outcome.claim, call, canReturn(ask));
      return { case: "lease", value: leaseOf(outcome.claim, lockName, nowUs) };
    case "refused":
      return { case: "refusal", value: await refusalOf(engine, { ...answer, outcome }, ask.permits) };
    case "ended":
      return { case: "refusal", value: await endOf(engine, outcome.claim, lockName) };
    case "request_id_reused":
      throw requestIdReused();
    case "waiting":
      throw new Error("A claim that waits is answered by a ticket or by its end.");
  }
}

/** Whether a client that heard nothing can ask for the same claim again. */
function canReturn(ask: AcquireInput): boolean {
  return ask.requestId !== "";
}

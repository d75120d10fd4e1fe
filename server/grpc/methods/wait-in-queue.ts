// WaitInQueue: takes a place, or comes back to one, and streams the place until the lock is granted or the wait is
// over.

import type { WaitInQueueRequest, WaitInQueueResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { UPDATE_INTERVAL_US_DEFAULT, UPDATE_INTERVAL_US_MAX } from "../../core/bounds.ts";
import type { Claim, ClaimRef } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { AcquireInput } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted } from "../admission.ts";
import type { Call, MethodContext, Send } from "../call.ts";
import { requestIdReused, unknownClaim } from "../messages/call-error.ts";
import { leaseMessage, ticketMessage } from "../messages/messages.ts";
import { askedFor, checkQueueRequest } from "./acquire.ts";
import { asking, endOf, giveBackUnheard, refusalOf, Wait } from "./claims.ts";
import { checkClaimId, checkDuration, NO_CLAIM, type Violations } from "./fields.ts";
import { PlaceUpdates } from "./place-updates.ts";

type Update = WaitInQueueResponse["update"];
type SendUpdate = Send<{ readonly update: Update }>;
type WaitAnswer = Awaited<ReturnType<LockEngine["acquire"] | LockEngine["attach"]>>;

// Not async, and it calls no async function without need: a wait of hours keeps the frames of async functions in
// memory.
export function waitInQueue(
  context: MethodContext,
  request: CheckedWait,
  call: Call,
  send: SendUpdate,
): Promise<void> {
  return new QueueStream(context, request, call, send).run();
}

class QueueStream {
  readonly #context: MethodContext;
  readonly #request: CheckedWait;
  readonly #call: Call;
  readonly #send: SendUpdate;
  readonly #wait: Wait;
  /** Set once the claim has a place. */
  #updates: PlaceUpdates | undefined;
  /** Whether the client has been sent its ticket. */
  #isShown = false;

  constructor(context: MethodContext, request: CheckedWait, call: Call, send: SendUpdate) {
    this.#context = context;
    this.#request = request;
    this.#call = call;
    this.#send = send;
    this.#wait = new Wait(context.engine, call, (place, nowUs) => {
      this.#updates?.offer(place, nowUs);
    });
  }

  async run(): Promise<void> {
    try {
      const last = await this.#last(await this.#ask());
      this.#updates?.stop();
      this.#send({ update: last });
    } finally {
      this.#updates?.stop();
      this.#wait.close();
    }
  }

  /** Resolves with the last message, after which the stream closes. */
  #last(answer: WaitAnswer): Promise<Update> {
    const { outcome, lockName, nowUs } = answer;
    switch (outcome.kind) {
      case "waiting":
        return this.#afterWaiting(outcome.claim, outcome.place, lockName, nowUs);
      case "held":
      case "ended":
        return this.#settled(outcome.claim, lockName, nowUs);
      case "refused":
        return this.#refused({ ...answer, outcome });
      case "request_id_reused":
        throw requestIdReused();
      case "unknown_claim":
        throw unknownClaim();
    }
  }

  #ask(): Promise<WaitAnswer> {
    const { engine } = this.#context;
    const { target } = this.#request;
    const call = this.#call;
    if (target.kind === "ask")
      return asking(call, askedFor(target.ask), () => engine.acquire(target.ask, this.#wait, call));
    return admitted(call.client.admission, call, () => engine.attach(target.ref, this.#wait, call));
  }

  async #refused(answer: Parameters<typeof refusalOf>[1]): Promise<Update> {
    const { target } = this.#request;
    const permits = target.kind === "ask" ? target.ask.permits : 0;
    return { case: "refusal", value: await refusalOf(this.#context.engine, answer, permits, this.#call) };
  }

  #afterWaiting(claim: Claim, place: Place | null, lockName: string, nowUs: number): Promise<Update> {
    const updates = new PlaceUpdates({
      intervalMs: this.#request.updateIntervalMs,
      turn: (go) => this.#context.turns.take(go),
      send: (at, atUs, written) => {
        if (this.#call.isCancelled) return;
        try {
          const value = ticketMessage(claim, lockName, at, atUs, this.#context.graceUs);
          this.#send({ update: { case: "position", value } }, written);
          this.#isShown = true;
        } catch (error) {
          // A timer or the engine calls this, and must not see errors from here.
          this.#wait.fail(error as Error);
        }
      },
    });
    this.#updates = updates;
    const begin = async () => {
      // Sends nothing if the claim has moved on meanwhile: its outcome is about to arrive.
      const first = place ?? (await this.#context.engine.place(claim, this.#call));
      if (first && !this.#isShown) updates.offer(first, nowUs);
    };
    return this.#wait
      .untilSettled(claim, () => this.#canReturn(), begin)
      .then((end) => this.#settled(end.claim, lockName, end.nowUs));
  }

  async #settled(claim: Claim, lockName: string, nowUs: number): Promise<Update> {
    const { engine } = this.#context;
    if (claim.state !== "held")
      return { case: "ended", value: await endOf(engine, claim, lockName, this.#call) };
    giveBackUnheard(engine, claim, this.#call, this.#canReturn());
    return { case: "granted", value: leaseMessage(claim, lockName, nowUs) };
  }

  /** Whether the client can come back: it has seen the id, or chose a request id. */
  #canReturn(): boolean {
    const { target } = this.#request;
    return target.kind === "ticket" || target.ask.requestId !== "" || this.#isShown;
  }
}

/** A new request, or a place taken before. */
type WaitTarget =
  | { readonly kind: "ask"; readonly ask: AcquireInput }
  | { readonly kind: "ticket"; readonly ref: ClaimRef };

interface CheckedWait {
  readonly target: WaitTarget;
  readonly updateIntervalMs: number;
}

export function checkWaitInQueue(message: WaitInQueueRequest, violations: Violations): CheckedWait {
  const target = checkTarget(message.target, violations);
  const bounds = { minUs: 0, maxUs: UPDATE_INTERVAL_US_MAX };
  const intervalUs = checkDuration(message.minUpdateInterval, bounds, "min_update_interval", violations);
  return { target, updateIntervalMs: (intervalUs ?? UPDATE_INTERVAL_US_DEFAULT) / 1_000 };
}

function checkTarget(target: WaitInQueueRequest["target"], violations: Violations): WaitTarget {
  switch (target.case) {
    case "request":
      return { kind: "ask", ask: checkQueueRequest(target.value, violations.within("request")) };
    case "ticketId":
      return { kind: "ticket", ref: checkClaimId(target.value, "ticket_id", violations) };
    case undefined:
      violations.add(
        "target",
        "is required: set request to take a place, or ticket_id to continue with one that was taken before",
      );
      return { kind: "ticket", ref: NO_CLAIM };
  }
}

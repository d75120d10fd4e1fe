// WaitInQueue: takes a place, or comes back to one, and streams the place until the lock is granted or the wait is
// over.

import type { WaitInQueueRequest, WaitInQueueResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { LockEngine } from "../../engine/lock-engine.ts";
import type { AnyCall, Send } from "../handler.ts";
import { requestIdReused, unknownClaim } from "../messages/call-error.ts";
import { leaseMessage, ticketMessage } from "../messages/messages.ts";
import { type CheckedWait, checkWaitInQueue } from "../validate/wait-in-queue.ts";
import { endOf, giveBackUnheard, refusalOf } from "./answers.ts";
import type { MethodContext } from "./method.ts";
import { PlaceUpdates } from "./place-updates.ts";
import { Wait } from "./wait.ts";

type Update = WaitInQueueResponse["update"];
type SendUpdate = Send<{ readonly update: Update }>;
type WaitAnswer = Awaited<ReturnType<LockEngine["acquire"] | LockEngine["attach"]>>;

// Not async, and it calls no async function without need: a wait of hours keeps the frames of async functions in
// memory.
export function waitInQueue(
  context: MethodContext,
  message: WaitInQueueRequest,
  call: AnyCall,
  send: SendUpdate,
): Promise<void> {
  return new QueueStream(context, checkWaitInQueue(message), call, send).run();
}

class QueueStream {
  readonly #context: MethodContext;
  readonly #request: CheckedWait;
  readonly #call: AnyCall;
  readonly #send: SendUpdate;
  readonly #wait: Wait;
  /** Set once the claim has a place. */
  #updates: PlaceUpdates | undefined;
  /** Whether the client has been sent its ticket. */
  #isShown = false;

  constructor(context: MethodContext, request: CheckedWait, call: AnyCall, send: SendUpdate) {
    this.#context = context;
    this.#request = request;
    this.#call = call;
    this.#send = send;
    this.#wait = new Wait(context.engine, context.openWaits, call, (place, nowUs) => {
      this.#updates?.offer(place, nowUs);
    });
  }

  async run(): Promise<void> {
    try {
      const last = await this.#last(await this.#ask());
      this.#updates?.stop();
      this.#sendUpdate(last);
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
    return target.kind === "ask"
      ? engine.acquire(target.ask, this.#wait, this.#call)
      : engine.attach(target.ref, this.#wait, this.#call);
  }

  async #refused(answer: Parameters<typeof refusalOf>[1]): Promise<Update> {
    return { case: "ended", value: await refusalOf(this.#context.engine, answer, this.#permits, this.#call) };
  }

  #afterWaiting(claim: Claim, place: Place | null, lockName: string, nowUs: number): Promise<Update> {
    const updates = new PlaceUpdates({
      intervalMs: this.#request.updateIntervalMs,
      turn: (go) => this.#context.turns.take(go),
      send: (at, atUs, written) => {
        if (this.#call.cancelled) return;
        try {
          const value = ticketMessage(claim, lockName, at, atUs, this.#context.graceUs);
          this.#sendUpdate({ case: "position", value }, written);
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

  get #permits(): number {
    const { target } = this.#request;
    return target.kind === "ask" ? target.ask.permits : 0;
  }

  #sendUpdate(update: Update, written?: () => void): void {
    this.#send({ update }, written);
  }
}

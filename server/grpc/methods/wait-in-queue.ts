// WaitInQueue: takes a place, or comes back to one, and streams the place until the lock is granted or the wait is
// over.

import type { WaitInQueueRequest, WaitInQueueResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { UPDATE_INTERVAL_US_DEFAULT, UPDATE_INTERVAL_US_MAX } from "../../core/bounds.ts";
import type { Claim, ClaimRef } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { AcquireInput } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted } from "../admission.ts";
import { asAllowed, shownPlace } from "../authorize.ts";
import type { Call, MethodContext, Send } from "../call.ts";
import { PLACES_AT_ONCE, PLACES_PAUSE_MS } from "../grpc-bounds.ts";
import { requestIdReused, unknownClaim } from "../messages/call-error.ts";
import { leaseMessage, ticketMessage } from "../messages/messages.ts";
import { askedFor, checkQueueRequest } from "./acquire.ts";
import { asking, endingOf, giveBackUnheard, refusalOf, Wait } from "./claims.ts";
import { type Check, NO_CLAIM } from "./fields.ts";

type Update = WaitInQueueResponse["update"];
type SendUpdate = Send<{ readonly update: Update }>;
type WaitAnswer = Awaited<ReturnType<LockEngine["acquire"] | LockEngine["attach"]>>;

// Not async, and it calls no async function without need: a wait of hours keeps the frames of async functions in
// memory.
export function waitInQueue(context: MethodContext, request: CheckedWait, call: Call, send: SendUpdate) {
  const { target } = request;
  const asked =
    target.kind === "ask" ? { ...request, target: { ...target, ask: asAllowed(call, target.ask) } } : request;
  return new QueueStream(context, asked, call, send).run();
}

class QueueStream {
  readonly #context: MethodContext;
  readonly #request: CheckedWait;
  readonly #call: Call;
  readonly #send: SendUpdate;
  readonly #wait: Wait;
  #updates: PlaceUpdates | undefined;
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
    const ask = target.kind === "ask" ? target.ask : null;
    return { case: "refusal", value: await refusalOf(this.#context.engine, answer, ask, this.#call) };
  }

  #afterWaiting(claim: Claim, place: Place | null, lockName: string, nowUs: number): Promise<Update> {
    const updates = new PlaceUpdates({
      intervalMs: this.#request.updateIntervalMs,
      turn: (go) => this.#context.turns.take(go),
      send: (at, atUs, written) => {
        if (this.#call.isCancelled) return;
        try {
          const value = ticketMessage(
            claim,
            lockName,
            shownPlace(this.#call, at),
            atUs,
            this.#context.graceUs,
          );
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
    if (claim.state !== "held") return await endingOf(engine, claim, lockName, this.#call);
    giveBackUnheard(engine, claim, this.#call, this.#canReturn());
    return { case: "granted", value: leaseMessage(claim, lockName, nowUs) };
  }

  /** Whether the client can come back: it has seen the id, or chose a request id. */
  #canReturn(): boolean {
    const { target } = this.#request;
    return target.kind === "ticket" || target.ask.requestId !== "" || this.#isShown;
  }
}

type WaitTarget =
  | { readonly kind: "ask"; readonly ask: AcquireInput }
  | { readonly kind: "ticket"; readonly ref: ClaimRef };

interface CheckedWait {
  readonly target: WaitTarget;
  readonly updateIntervalMs: number;
}

export function checkWaitInQueue(message: WaitInQueueRequest, check: Check): CheckedWait {
  const target = checkTarget(message.target, check);
  const bounds = { minUs: 0, maxUs: UPDATE_INTERVAL_US_MAX };
  const intervalUs = check.duration(message.minUpdateInterval, bounds, "min_update_interval");
  return { target, updateIntervalMs: (intervalUs ?? UPDATE_INTERVAL_US_DEFAULT) / 1_000 };
}

function checkTarget(target: WaitInQueueRequest["target"], check: Check): WaitTarget {
  switch (target.case) {
    case "request":
      return { kind: "ask", ask: checkQueueRequest(target.value, check.within("request")) };
    case "ticketId":
      return { kind: "ticket", ref: check.claimId(target.value, "ticket_id") };
    case undefined:
      check.add(
        "target",
        "is required: set request to take a place, or ticket_id to continue with one that was taken before",
      );
      return { kind: "ticket", ref: NO_CLAIM };
  }
}

interface PlaceUpdatesOptions {
  readonly intervalMs: number;
  readonly turn: (go: () => void) => void;
  /** Sends a position, and must call `written` when the connection has taken it. */
  readonly send: (place: Place, nowUs: number, written: () => void) => void;
}

interface Offered {
  readonly place: Place;
  readonly nowUs: number;
  /** By performance.now(): a place may be held back for a while. */
  readonly offeredMs: number;
}

export class PlaceUpdates {
  readonly #options: PlaceUpdatesOptions;
  #latest: Offered | undefined;
  #sent: Place | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  #isWriting = false;
  #awaitsTurn = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: PlaceUpdatesOptions) {
    this.#options = options;
  }

  /**
   * As read at `nowUs`. A worse place in the same queue, or the worst one of several queues, is ignored if it was read earlier. One
   * that was read later is told: another claim came before it, where the order is not that of arrival. A waiter goes on to the
   * queues of pools, where there may be more before it.
   */
  offer(place: Place, nowUs: number): void {
    const latest = this.#latest;
    const isWorse = latest && latest.place.pool === place.pool && place.ahead > latest.place.ahead;
    if (isWorse && nowUs <= latest.nowUs) return;
    this.#latest = { place, nowUs, offeredMs: performance.now() };
    this.#pump();
  }

  /** Sends nothing from now on. Can be called twice. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #pump(): void {
    const latest = this.#latest;
    if (!latest || this.#stopped || this.#isWriting || this.#timer || this.#awaitsTurn) return;
    if (this.#sent && samePlace(this.#sent, latest.place)) return;
    const waitMs = this.#sentMs + this.#options.intervalMs - performance.now();
    if (waitMs > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#pump();
      }, waitMs);
    } else if (this.#sent) {
      this.#awaitsTurn = true;
      this.#options.turn(() => this.#sendInTurn());
      // The first place carries the ticket with which the client can come back, so it waits for no turn.
    } else this.#send(latest);
  }

  #sendInTurn(): void {
    this.#awaitsTurn = false;
    const latest = this.#latest;
    if (latest && !this.#stopped) this.#send(latest);
  }

  #send({ place, nowUs, offeredMs }: Offered): void {
    const sentMs = performance.now();
    this.#sent = place;
    this.#sentMs = sentMs;
    this.#isWriting = true;
    this.#options.send(place, nowUs + Math.round((sentMs - offeredMs) * 1_000), () => {
      this.#isWriting = false;
      this.#pump();
    });
  }
}

function samePlace(a: Place, b: Place): boolean {
  const isSameQueue = a.pool === b.pool && a.waitsFor === b.waitsFor;
  return isSameQueue && a.ahead === b.ahead && a.permitsAhead === b.permitsAhead;
}

export class PlaceTurns {
  #queue: (() => void)[] = [];
  #left = PLACES_AT_ONCE;
  #pause: NodeJS.Timeout | undefined;

  /** Calls `go` now or later, in the order of the calls to `take`. */
  take(go: () => void): void {
    this.#pause ??= setTimeout(() => this.#renew(), PLACES_PAUSE_MS);
    if (this.#left === 0) this.#queue.push(go);
    else {
      this.#left -= 1;
      go();
    }
  }

  #renew(): void {
    const next = this.#queue.splice(0, PLACES_AT_ONCE);
    this.#left = PLACES_AT_ONCE - next.length;
    this.#pause = next.length > 0 ? setTimeout(() => this.#renew(), PLACES_PAUSE_MS) : undefined;
    for (const go of next) go();
  }
}

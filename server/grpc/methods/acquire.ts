// Acquire: refuses, gives a ticket, or blocks the call until the lock is granted, as the caller asks.

import type { Duration } from "@bufbuild/protobuf/wkt";
import { Mode as WireMode } from "#proto/rowlock/v1/lock_pb.js";
import type { AcquireRequest, AcquireResponse, QueueRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { FURTHER_LOCKS_MAX, PERMITS_MAX } from "../../core/bounds.ts";
import { type Claim, type Mode, SPENDS, type WantedLock } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { AcquireInput, AnswerTo } from "../../engine/answers.ts";
import { asAllowed, shownPlace } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { PLACE_TRIES_MAX } from "../grpc-bounds.ts";
import { requestIdReused } from "../messages/call-error.ts";
import { leaseMessage, ticketMessage } from "../messages/messages.ts";
import { asking, endingOf, giveBackUnheard, keepRoom, OneDecision, refusalOf, Wait } from "./claims.ts";
import { type Check, HEAD_START, WAIT } from "./fields.ts";

type AcquireAnswer = AnswerTo<"acquire">;
type Outcome = AcquireResponse["outcome"];
type AcquireMessage = { readonly outcome: Outcome };
type AcquireCall = Call<AcquireMessage>;

/** Used if no place can be read: the claim was about to be granted. */
const FIRST: Place = { ahead: 0, permitsAhead: 0, queueLength: 1 };

/**
 * Answers with a lease, a ticket, a refusal or an end. Fails with BAD_REQUEST, REQUEST_ID_REUSED, or a Fault of the engine.
 * With a request id of its own, a client can safely repeat the call: it gets the same claim.
 */
export function acquire(context: MethodContext, { ask, whenBusy }: CheckedAcquire, call: AcquireCall): void {
  const wait = whenBusy === "wait" ? new Wait(context.engine, call) : null;
  try {
    new OneAcquire(context, asAllowed(call, ask), call, wait).enter();
  } catch (error) {
    wait?.close();
    throw error;
  }
}

class OneAcquire extends OneDecision<AcquireAnswer, AcquireMessage> {
  readonly #context: MethodContext;
  readonly #ask: AcquireInput;
  /** null: the call does not wait for the lock. */
  readonly #wait: Wait | null;
  /** Gives back the room that is kept for it in its caller's quota; null: none is kept. */
  readonly #decided: (() => void) | null;

  constructor(context: MethodContext, ask: AcquireInput, call: AcquireCall, wait: Wait | null) {
    super(call, call);
    this.#context = context;
    this.#ask = ask;
    this.#wait = wait;
    this.#decided = keepRoom(call, askedFor(ask));
  }

  protected ask(): void {
    this.#context.engine.beginAcquire(this.#ask, this.#wait, this.call, this);
  }

  protected messageOf(answer: AcquireAnswer): AcquireMessage | Promise<AcquireMessage> {
    const { outcome, lockName } = answer;
    if (this.#wait && outcome.kind === "waiting")
      return this.#untilGranted(this.#wait, outcome.claim, lockName);
    const known = this.#answeredNow(answer);
    return known ? { outcome: known } : this.#answeredAfterReading(answer);
  }

  async #untilGranted(wait: Wait, waiting: Claim, lockName: string): Promise<AcquireMessage> {
    const { engine } = this.#context;
    try {
      const { claim, nowUs } = await wait.untilSettled(waiting, () => this.#canReturn);
      if (claim.state !== "held") return { outcome: await endingOf(engine, claim, lockName, this.call) };
      giveBackUnheard(engine, claim, this.call, this.#canReturn);
      return { outcome: { case: "lease", value: leaseMessage(claim, lockName, nowUs) } };
    } finally {
      wait.close();
    }
  }

  protected ended(answer: AcquireAnswer | null): void {
    this.#decided?.();
    if (answer?.outcome.kind !== "waiting") this.#wait?.close();
  }

  /** Whether a client that received no answer can ask for the same claim again. */
  get #canReturn(): boolean {
    return this.#ask.requestId !== "";
  }

  /** null: the answer needs a further read. */
  #answeredNow({ outcome, lockName, nowUs }: AcquireAnswer): Outcome | null {
    const { engine, graceUs } = this.#context;
    switch (outcome.kind) {
      case "held":
        giveBackUnheard(engine, outcome.claim, this.call, this.#canReturn);
        return { case: "lease", value: leaseMessage(outcome.claim, lockName, nowUs) };
      case "waiting": {
        const { claim, place } = outcome;
        if (!place) return null;
        giveBackUnheard(engine, claim, this.call, this.#canReturn);
        return {
          case: "ticket",
          value: ticketMessage(claim, lockName, shownPlace(this.call, place), nowUs, graceUs),
        };
      }
      case "request_id_reused":
        throw requestIdReused();
      case "refused":
      case "ended":
        return null;
    }
  }

  async #answeredAfterReading(first: AcquireAnswer): Promise<AcquireMessage> {
    const { engine } = this.#context;
    const { call } = this;
    const ask = this.#ask;
    let answer = first;
    for (let tries = 1; ; tries++) {
      const { outcome, lockName } = answer;
      const known = this.#answeredNow(answer);
      if (known) return { outcome: known };
      switch (outcome.kind) {
        case "refused": {
          const value = await refusalOf(engine, { ...answer, outcome }, ask, call);
          return { outcome: { case: "refusal", value } };
        }
        case "ended":
          return { outcome: await endingOf(engine, outcome.claim, lockName, call) };
        case "waiting": {
          // The place is missing only if the claim existed before: the request id is used again, or the answer of a COMMIT
          // was lost. In the second case, asking again without a request id would make another claim.
          const mayAskAgain = tries < PLACE_TRIES_MAX && this.#canReturn;
          const place = (await engine.place(outcome.claim, call)) ?? (mayAskAgain ? null : FIRST);
          if (place) answer = { ...answer, outcome: { ...outcome, place } };
          else answer = await asking(call, askedFor(ask), () => engine.acquire(ask, null, call));
        }
      }
    }
  }
}

/** Each lock of a claim counts: the database counts rows, and a claim for several locks has one at each. */
export function askedFor({ mayWait, also = [] }: Pick<AcquireInput, "mayWait" | "also">) {
  const claims = 1 + also.length;
  return { claims, waiters: mayWait ? claims : 0 };
}

type WhenBusy = "refuse" | "enqueue" | "wait";

interface CheckedAcquire {
  readonly ask: AcquireInput;
  readonly whenBusy: WhenBusy;
}

const MODES: Record<WireMode, Mode> = {
  [WireMode.UNSPECIFIED]: "permit",
  [WireMode.PERMIT]: "permit",
  [WireMode.SHARED]: "shared",
  [WireMode.EXCLUSIVE]: "exclusive",
};

export function checkAcquire(message: AcquireRequest, check: Check): CheckedAcquire {
  const { whenBusy } = message;
  if (whenBusy.case === undefined) return { ask: checkAsk(message, null, check), whenBusy: "refuse" };
  const maxWaitUs = checkMaxWait(whenBusy.value.maxWait, check.within(whenBusy.case));
  return { ask: checkAsk(message, { maxWaitUs }, check), whenBusy: whenBusy.case };
}

export function checkQueueRequest(message: QueueRequest, check: Check): AcquireInput {
  return checkAsk(message, { maxWaitUs: checkMaxWait(message.maxWait, check) }, check);
}

function checkMaxWait(maxWait: Duration | undefined, check: Check): number | null {
  return check.duration(maxWait, WAIT, "max_wait") ?? null;
}

/** `wait`: how long the request waits; null: not at all. */
function checkAsk(
  message: AcquireRequest | QueueRequest,
  wait: { readonly maxWaitUs: number | null } | null,
  check: Check,
): AcquireInput {
  const mode = checkMode(message.mode, check);
  const terms = check.within("terms");
  if (message.spendOnly) {
    terms.spendTerms(message.terms);
    if (mode !== "permit")
      check.add("mode", "is for a lease, and spend_only takes none: leave one of them unset");
    if (message.also.length > 0)
      check.add("also", "is for a lease, and spend_only takes one lock: leave one of them unset");
  }
  return {
    name: check.name(message.name, "name"),
    mode,
    permits: checkPermits(message.permits, mode, check),
    requestId: check.requestId(message.requestId),
    ...terms.leaseTerms(message.terms),
    ...(message.spendOnly && { ttlUs: SPENDS }),
    mayWait: wait !== null,
    maxWaitUs: wait?.maxWaitUs ?? null,
    ...(message.also.length > 0 && { also: checkAlso(message, check) }),
    ...(message.headStart && { headStartUs: checkHeadStart(message, check) }),
  };
}

function checkHeadStart({ headStart, also }: AcquireRequest | QueueRequest, check: Check): number {
  if (also.length > 0)
    check.add("head_start", "is for one lock, and also asks for several: leave one of them unset");
  return check.duration(headStart, HEAD_START, "head_start") ?? 0;
}

function checkAlso({ name, also }: AcquireRequest | QueueRequest, check: Check): readonly WantedLock[] {
  if (also.length > FURTHER_LOCKS_MAX) {
    check.add("also", `has ${also.length} locks; at most ${FURTHER_LOCKS_MAX} beside the first one`);
    return [];
  }
  const seen = new Set([name]);
  return also.map((wanted, at) => {
    const within = check.within(`also[${at}]`);
    if (seen.has(wanted.name)) within.add("name", `is "${wanted.name}" again: name each lock once`);
    seen.add(wanted.name);
    const mode = checkMode(wanted.mode, within);
    return {
      name: within.name(wanted.name, "name"),
      mode,
      permits: checkPermits(wanted.permits, mode, within),
    };
  });
}

function checkMode(mode: WireMode, check: Check): Mode {
  return check.enum(mode, MODES, "mode", "MODE_PERMIT, MODE_SHARED or MODE_EXCLUSIVE") ?? "permit";
}

function checkPermits(permits: number, mode: Mode, check: Check): number {
  if (mode !== "permit" && permits > 1) {
    check.add("permits", `is ${permits}; readers and writers are not counted, so leave it unset`);
  } else if (permits > PERMITS_MAX) {
    check.add("permits", `is ${permits}; take at most ${PERMITS_MAX}`);
  }
  return permits === 0 ? 1 : permits;
}

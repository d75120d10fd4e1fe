// What the methods that ask for locks or keep them have in common: one decision of the engine, a wait for one claim, why
// there is no lease, with the holders that the engine's answer leaves out, and the end of claims whose answer nobody receives.

import type { Refusal } from "#proto/rowlock/v1/lock_pb.js";
import { NOBODY } from "../../access/access.ts";
import type { AskedFor } from "../../access/usage.ts";
import type { Claim } from "../../core/claim.ts";
import type { OutcomeNamed, Place } from "../../core/command.ts";
import type { EffectiveLimit } from "../../core/limit.ts";
import type { Answer, Asker, Follower } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted, type Turn } from "../admission.ts";
import { maySeeHolders, shownEnd, shownLimit } from "../authorize.ts";
import type { Call, Reply } from "../call.ts";
import { spentMessage } from "../messages/messages.ts";
import { endedMessage, type Holders, refusedMessage, showsHolders } from "../messages/refusal.ts";

/** A claim as it was when it was granted or ended, and the time of that by the database's clock. */
export interface Settled {
  readonly claim: Claim;
  readonly nowUs: number;
}

/** A blocked Acquire or a WaitInQueue. It detaches from the engine if the call ends before the claim does. */
export class Wait implements Follower {
  readonly placed?: (place: Place, nowUs: number) => void;
  readonly #engine: Pick<LockEngine, "detach">;
  readonly #call: Call;
  readonly #over: () => void;
  #settled: Settled | undefined;
  #stopped: Error | undefined;
  /** Called when #settled or #stopped is set. Not a promise each: there may be tens of thousands of waits. */
  #wake: (() => void) | undefined;

  /** Must be closed. Throws OVERLOADED. Without `placed`, the engine works out no places for it. */
  constructor(
    engine: Pick<LockEngine, "detach">,
    call: Call,
    placed?: (place: Place, nowUs: number) => void,
  ) {
    this.#engine = engine;
    this.#call = call;
    if (placed) this.placed = placed;
    this.#over = call.client.waits.enter(call, (why) => this.fail(why));
  }

  settled(claim: Claim, nowUs: number): void {
    if (claim.state === "held") this.#call.holds?.(claim);
    this.#call.span?.decided(claim.state, claim.endReason);
    this.#settled = { claim, nowUs };
    this.#wake?.();
  }

  /** Ends the wait with an error. The first error counts; a grant or an end that has arrived counts more. */
  fail(error: Error): void {
    this.#stopped ??= error;
    this.#wake?.();
  }

  /**
   * Call this once the engine has answered `waiting`. Throws what ended the call early, after detaching from the
   * engine. `canReturn`, asked then: whether the client can come back. `begin` runs first; if it fails, so does the wait.
   */
  async untilSettled(waiting: Claim, canReturn: () => boolean, begin?: () => Promise<void>) {
    try {
      await begin?.();
      if (!this.#settled && !this.#stopped) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // A grant that has arrived counts more than the end of the call.
      if (this.#settled) return this.#settled;
      throw this.#stopped;
    } catch (error) {
      this.#engine.detach(waiting, this, canReturn());
      throw error;
    }
  }

  close(): void {
    this.#over();
  }
}

/** Keeps room in the caller's quota until the result is called; null: none is kept. Throws OVERLOADED beyond the quota. */
export function keepRoom({ client: { identity, usage } }: Call, asked: AskedFor): (() => void) | null {
  return identity === NOBODY ? null : usage.ask(identity, asked);
}

/** Runs a command that asks for leases or places, with room for it in its caller's quota. Throws OVERLOADED beyond that. */
export function asking<Answer>(call: Call, asked: AskedFor, command: () => Promise<Answer>): Promise<Answer> {
  const { admission } = call.client;
  const done = keepRoom(call, asked);
  if (!done) return admitted(admission, call, command);
  return (async () => admitted(admission, call, command))().finally(done);
}

export async function refusalOf(
  engine: LockEngine,
  answer: Answer<OutcomeNamed<"refused">>,
  permits: number,
  call: Call,
): Promise<Refusal> {
  const { outcome, lockName, nowUs } = answer;
  const at = outcome.at ?? answer;
  const known = outcome.holders && { nowUs, claims: outcome.holders };
  const holders = await holdersFor(engine, at, outcome.reason, call, known);
  const { limit, rate } = outcome;
  const shown = { ...outcome, limit: shownLimit(call, limit), ...(rate && { rate: shownLimit(call, rate) }) };
  return refusedMessage(lockName, shown, permits, holders);
}

/** A claim that has ended, as the last message about it: a spend has what it asked for. */
export async function endingOf(engine: LockEngine, claim: Claim, lockName: string, call: Call) {
  if (claim.endReason === "spent") return { case: "spent", value: spentMessage(claim, lockName) } as const;
  return { case: "ended", value: await endOf(engine, claim, lockName, call) } as const;
}

async function endOf(engine: LockEngine, claim: Claim, lockName: string, call: Call) {
  const { endReason, lockId } = claim;
  const holders = endReason && (await holdersFor(engine, { lockId, lockName }, endReason, call));
  const ended = shownEnd(call, claim, lockName);
  return endedMessage(lockName, ended, holders || null, await limitFor(engine, lockName, endReason, call));
}

/** The limit now in force, if a claim that has ended so may have ended by it; a wait does so only by a pause. */
async function limitFor(
  engine: LockEngine,
  lockName: string,
  reason: Claim["endReason"],
  call: Call,
): Promise<EffectiveLimit | null> {
  if (reason !== "never_fits" && reason !== "timed_out") return null;
  const limit = await engine.limit(lockName, call);
  return reason === "never_fits" || limit.limit === 0 ? shownLimit(call, limit) : null;
}

/** null: the reason has nothing to do with holders, or the caller may not see them. Reads them unless they are `known`. */
async function holdersFor(
  engine: LockEngine,
  { lockId, lockName }: Pick<Answer, "lockId" | "lockName">,
  reason: Parameters<typeof showsHolders>[0],
  call: Call,
  known?: Holders,
): Promise<Holders | null> {
  if (!showsHolders(reason) || !maySeeHolders(call, lockName)) return null;
  return known ?? (await engine.holders(lockId, call));
}

/**
 * Ends the claim of a client that hung up before its answer and cannot come back: others would wait for it in vain.
 * `canReturn`: the client has seen the id, or chose a request id of its own.
 */
export function giveBackUnheard(engine: LockEngine, claim: Claim, call: Call, canReturn: boolean): void {
  if (!canReturn && call.isCancelled) engine.detach(claim, null, false);
}

export type To<Message> = Pick<Reply<Message>, "answer" | "fail">;

export abstract class OneDecision<Given, Message> implements Turn, Asker<Given> {
  readonly call: Call;
  readonly #reply: To<Message>;
  #over = () => {};

  /** `reply`: the call itself, or the part of it that this decision is for. */
  constructor(call: Call, reply: To<Message>) {
    this.call = call;
    this.#reply = reply;
  }

  /** Throws OVERLOADED. */
  enter(): void {
    try {
      this.call.client.admission.enter(this);
    } catch (error) {
      this.ended(null);
      throw error;
    }
  }

  begin(over: () => void): void {
    this.#over = over;
    this.ask();
  }

  drop(why: unknown): void {
    this.fail(why);
  }

  settle(given: Given): void {
    try {
      const message = this.messageOf(given);
      if (message instanceof Promise) this.#answerLater(message);
      else this.#reply.answer(message);
    } catch (error) {
      this.#reply.fail(error);
    }
    this.ended(given);
    this.#over();
  }

  fail(error: unknown): void {
    this.#reply.fail(error);
    this.ended(null);
    this.#over();
  }

  #answerLater(message: Promise<Message>): void {
    message.then(
      (found) => this.#reply.answer(found),
      (error: unknown) => this.#reply.fail(error),
    );
  }

  /** Asks the engine. Throws nothing. */
  protected abstract ask(): void;
  /** The answer; a promise if it needs a further read. Throws what the call fails with. */
  protected abstract messageOf(given: Given): Message | Promise<Message>;
  /** The decision is over; null: it was not made. */
  protected abstract ended(given: Given | null): void;
}
